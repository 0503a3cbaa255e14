/** English sentences and answers of the device itself. A language is one more table of this form. */

import { typedMinutes } from './alarm-texts.ts';
import { ENGLISH_ALARMS } from './alarm-texts-en.ts';
import { capital, list, partsOf } from './answer-words.ts';
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
  forgiven: {
    before: [
      'hey can you',
      'could you please',
      'can you please',
      'would you please',
      'could you',
      'can you',
      'would you',
      'will you',
      'please',
      'i want you to',
      'i would like you to',
      'i need you to',
      'go ahead and',
      'just',
      'okay',
      'ok',
      'hey',
      'now',
    ],
    after: [
      'for me please',
      'if you can',
      'for me',
      'please',
      'right now',
      'now',
      'thank you',
      'thanks',
      'a bit',
      'a little bit',
      'a little',
    ],
    rewrites: {
      ...typedMinutes('oh', "o'clock"),
      nevermind: 'never mind',
      "what's": 'what is',
      whats: 'what is',
      "it's": 'it is',
      "i'd": 'i would',
      mic: 'microphone',
      mins: 'minutes',
      min: 'minutes',
      secs: 'seconds',
      sec: 'seconds',
      hrs: 'hours',
      hr: 'hour',
    },
    half: 'and a half',
  },
  rules: {
    ...ENGLISH_ALARMS.rules,
    timer: '(timer|alarm|countdown)',
    hours: '{hours:1..24} hour[s]',
    minutes: '{minutes:1..180} minute[s]',
    seconds: '{seconds:1..120} second[s]',
    half: '({hours:1..24} (hour[s] {half_hour:half}|{half_hour:half} hour[s])|{minutes:1..180} {half_minute:half} minute[s])',
    length:
      '({lengths:length}|<half>|<hours> [[and] <minutes>] [[and] <seconds>]|<minutes> [[and] <seconds>]|<seconds>)',
    make: '(set|start|make|create)',
    by: '[by {by:1..100} [percent]]',
  },
  slots: {
    ...ENGLISH_ALARMS.slots,
    lengths: { kind: 'list', values: LENGTHS },
    half_hour: { kind: 'list', values: [{ in: 'and a half', out: 1_800 }] },
    half_minute: { kind: 'list', values: [{ in: 'and a half', out: 30 }] },
  },
  intents: {
    ...ENGLISH_ALARMS.intents,
    'volume-set': {
      title: 'Set the volume',
      sentences: [
        '(set|turn|change|put) [the] volume [(up|down)] (to|at) {percent:0..100} [percent]',
        'volume [(to|at)] {percent:0..100} [percent]',
      ],
    },
    'volume-up': {
      title: 'Louder',
      sentences: [
        'turn (it|[the] volume) up <by>',
        '(turn up|increase|raise) [the] volume <by>',
        'volume up <by>',
        'make it louder',
      ],
    },
    'volume-down': {
      title: 'Quieter',
      sentences: [
        'turn (it|[the] volume) down <by>',
        '(turn down|decrease|reduce|lower) [the] volume <by>',
        'volume down <by>',
        'make it (quieter|softer)',
      ],
    },
    'volume-tell': { title: 'How loud is it', sentences: ['what is the volume', "what's the volume"] },
    mute: { title: 'Mute the microphone', sentences: ['mute [(the|your)] microphone', 'stop listening'] },
    stop: {
      title: 'Stop',
      sentences: ['stop [(it|that)]', 'cancel [(it|that)]', 'never mind', 'forget it', 'be quiet'],
    },
    'timer-set': {
      title: 'Set a timer',
      sentences: [
        '<make> [(a|an|the|another)] [new] <timer> [(for|of)] <length>',
        '<make> [(a|another)] [new] <length> <timer>',
        '[(an|new)] <timer> [for] <length>',
        '[a] <length> <timer>',
      ],
    },
    'timer-cancel': {
      title: 'Cancel the timers',
      sentences: ['(cancel|stop|delete|end|clear|turn off) [all] [of] [(the|my)] (timer[s]|countdown[s])'],
    },
    'timer-left': {
      title: 'How long is left',
      sentences: [
        'how (long|much time) (is left|remains|is remaining|do i have left) [on (the|my) (timer[s]|alarm[s])]',
        'how long [is] [left] on (the|my) <timer>',
      ],
    },
    time: {
      title: 'What time is it',
      sentences: [
        'what time is it [now]',
        "(what is|what's) the [current] time",
        'tell me (the [current] time|what time it is)',
        'do you know (the time|what time it is)',
      ],
    },
    help: { title: 'What can I say', sentences: ['what can i (say|ask you)', 'what can you do'] },
  },
  say: {
    alarms: ENGLISH_ALARMS.say,
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
  const said = partsOf(seconds, ['hour', 'minute', 'second']).map(
    ([count, name]) => `${number(count)} ${name}${count === 1 ? '' : 's'}`,
  );
  return said.length === 0 ? 'less than a second' : list(said, 'and');
}

function clock(hour: number, minute: number): string {
  const name = number(hour % 12 === 0 ? 12 : hour % 12);
  if (minute === 0) return `${name} o'clock`;
  return `${name} ${minute < 10 ? 'oh ' : ''}${number(minute)}`;
}
