import type { Strings } from './strings.ts';

export const en: Strings = {
  questions: {
    consent: { asks: 'asks for your permission', yes: 'Allow', no: 'Refuse', refused: 'Refused' },
    confirm: { asks: 'asks you to confirm', yes: 'Confirm', no: 'Cancel', refused: 'Cancelled' },
    update: { asks: 'can be updated', yes: 'Update', no: 'Not now', refused: 'Not now' },
  },
  until: 'until',
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
