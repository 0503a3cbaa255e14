import type { Strings } from './strings.ts';

export const en: Strings = {
  questions: {
    consent: { asks: 'asks for your permission', yes: 'Allow', no: 'Refuse', refused: 'Refused' },
    confirm: { asks: 'asks you to confirm', yes: 'Confirm', no: 'Cancel', refused: 'Cancelled' },
    update: { asks: 'can be updated', yes: 'Update', no: 'Not now', refused: 'Not now' },
  },
  until: 'until',
  signed: 'signed by',
  appSays: 'The app says:',
  noFont: 'no font of this device has its name',
  page: 'More',
  on: 'on',
  off: 'off',
  ear: {
    heard: 'The microphone is heard by',
    muted: 'The microphone is muted',
    name: 'The microphone: listening for its name',
  },
  troubles: {
    failed: {
      voice: 'Voice does not work',
      audio: 'Sound does not work',
      speech: 'Speech does not work',
      apps: 'Apps do not run',
      home: 'Home does not work',
    },
    fails: (plugin) => `${plugin} does not work`,
    many: (count, plugins) => `${count} parts do not work: ${plugins}`,
    low: 'Battery low',
    charging: 'Charging',
    sound: (reason) => `No sound: ${reason}`,
    offline: 'Offline',
    update: {
      brings: (version) => `Update ${version}`,
      restarts: (version) => `Restarting for update ${version}`,
      tries: (version) => `Update ${version} is being tried`,
      back: (version) => `Update ${version} was taken back`,
      fails: (version) => `Update ${version} failed`,
    },
  },
  safeMode: {
    title: 'Safe mode',
    outcomes: {
      unfinished: 'The last start did not come to its end.',
      refused: 'The configuration of the device was refused.',
      crashed: 'The last start ended with an error.',
      killed: 'The device stopped without a word.',
      stopped: 'The device was stopped.',
    },
    unknown: 'The device did not start.',
    blame: (plugin) => `Most likely to blame: ${plugin}.`,
    again: 'To try again, turn the device off and on.',
    code: 'A code that says what happened',
    switchOff: 'Switch off',
    done: (plugin) => `${plugin} is switched off. Now turn the device off and on.`,
  },
  goodbye: 'Shutting down',
  answers: {
    none: 'There is no question on the screen.',
    early: 'The question has only just come. Please say it again.',
    failed: 'That could not be refused. Please answer on the screen.',
    choice: 'if you like',
    more: 'And more.',
    onScreen: 'Please answer on the screen.',
  },
  said: {
    refuse: {
      title: 'Refuse the question',
      sentences: ['[no] [I] refuse [(it|that|the question)]', 'not now'],
    },
    show: {
      title: 'What is asked',
      sentences: ['(show|read) [me] the question', 'what does it ask [for]', 'what is the question'],
    },
  },
};
