/** English sentences and answers of the device itself. A language is one more table of this form. */

import type { DeviceTexts } from './device-texts.ts';
import { ENGLISH_NUMBERS } from './numbers-en.ts';

const LENGTHS = [
  { in: 'half a minute', out: 30 },
  { in: 'a minute', out: 60 },
  { in: 'a minute and a half', out: 90 },
  { in: 'a quarter of an hour', out: 900 },
  { in: 'half an hour', out: 1_800 },
  { in: 'an hour', out: 3_600 },
  { in: 'an hour and a half', out: 5_400 },
];

export const ENGLISH: DeviceTexts = {
  language: 'en',
  rules: {
    timer: '(timer|alarm|countdown)',
    hours: '{hours:1..24} hour[s]',
    minutes: '{minutes:1..180} minute[s]',
    seconds: '{seconds:1..120} second[s]',
    length: '({lengths:length}|<hours> [[and] <minutes>]|<minutes> [[and] <seconds>]|<seconds>)',
  },
  slots: { lengths: { kind: 'list', values: LENGTHS } },
  intents: {
    'volume-set': {
      title: 'Set the volume',
      sentences: ['(set|turn|change) [the] volume to {percent:0..100} [percent]', 'volume {percent:0..100} [percent]'],
    },
    'volume-up': {
      title: 'Louder',
      sentences: ['turn (it|[the] volume) up', 'turn up [the] volume', 'volume up', 'make it louder'],
    },
    'volume-down': {
      title: 'Quieter',
      sentences: ['turn (it|[the] volume) down', 'turn down [the] volume', 'volume down', 'make it (quieter|softer)'],
    },
    'volume-tell': { title: 'How loud is it', sentences: ['what is the volume', "what's the volume"] },
    mute: { title: 'Mute the microphone', sentences: ['mute [(the|your)] microphone', 'stop listening'] },
    stop: { title: 'Stop', sentences: ['stop [it]', 'cancel [(it|that)]', 'never mind', 'be quiet'] },
    'timer-set': {
      title: 'Set a timer',
      sentences: [
        '(set|start) [(a|the|another)] <timer> (for|of) <length>',
        '(set|start) (a|another) <length> <timer>',
        '<timer> for <length>',
      ],
    },
    'timer-cancel': {
      title: 'Cancel the timers',
      sentences: ['(cancel|stop|delete) [all] [(the|my)] (timer[s]|alarm[s]|countdown[s])'],
    },
    'timer-left': {
      title: 'How long is left',
      sentences: [
        'how (long|much time) (is left|remains) [on (the|my) (timer[s]|alarm[s])]',
        'how long [is] [left] on (the|my) <timer>',
      ],
    },
    time: {
      title: 'What time is it',
      sentences: ['what time is it [now]', "(what is|what's) the time", 'tell me the time'],
    },
    help: { title: 'What can I say', sentences: ['what can i (say|ask you)', 'what can you do'] },
  },
  say: {
    volume: (percent) => `The volume is ${number(percent)} percent.`,
    muted: () => 'I do not listen any more.',
    timerSet: (seconds) => `Timer for ${duration(seconds)}, starting now.`,
    timersFull: (most) => `There are ${number(most)} timers already.`,
    timerTooLong: (seconds) => `A timer can be ${duration(seconds)} at most.`,
    timersCancelled: (count) =>
      count === 0
        ? 'There is no timer.'
        : count === 1
          ? 'The timer is cancelled.'
          : capital(`${number(count)} timers are cancelled.`),
    timersLeft: (seconds) =>
      seconds.length === 0 ? 'There is no timer.' : capital(`${list(seconds.map(duration), 'and')} left.`),
    time: (hour, minute) => `It is ${clock(hour, minute)}.`,
    help: (examples) =>
      examples.length === 0 ? 'There is nothing to say now.' : `You can say: ${list(examples, 'or')}.`,
  },
};

function number(value: number): string {
  return ENGLISH_NUMBERS.spell(value);
}

function duration(seconds: number): string {
  const parts = [
    [Math.floor(seconds / 3_600), 'hour'],
    [Math.floor(seconds / 60) % 60, 'minute'],
    [seconds % 60, 'second'],
  ] as const;
  const said = parts
    .filter(([count]) => count > 0)
    .map(([count, name]) => `${number(count)} ${name}${count === 1 ? '' : 's'}`);
  return said.length === 0 ? 'less than a second' : list(said, 'and');
}

function clock(hour: number, minute: number): string {
  const name = number(hour % 12 === 0 ? 12 : hour % 12);
  if (minute === 0) return `${name} o'clock`;
  return `${name} ${minute < 10 ? 'oh ' : ''}${number(minute)}`;
}

function list(parts: readonly string[], last: string): string {
  return parts.length < 2 ? parts.join('') : `${parts.slice(0, -1).join(', ')} ${last} ${parts.at(-1)}`;
}

function capital(text: string): string {
  return `${text.slice(0, 1).toUpperCase()}${text.slice(1)}`;
}
