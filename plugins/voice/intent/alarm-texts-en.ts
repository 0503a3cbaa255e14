/** English sentences and answers about alarms. */
import type { Weekday } from '@device-core/plugin-api/services/alarms';
import { type AlarmTexts, daysName, type Moment, type SaidAlarm, values } from './alarm-texts.ts';
import { capital, list, partsOf } from './answer-words.ts';
import { ENGLISH_NUMBERS } from './numbers-en.ts';

const DAYS: Readonly<Record<Weekday, string>> = {
  mon: 'Monday',
  tue: 'Tuesday',
  wed: 'Wednesday',
  thu: 'Thursday',
  fri: 'Friday',
  sat: 'Saturday',
  sun: 'Sunday',
};
const names = (Object.entries(DAYS) as [Weekday, string][]).map(([day, name]) => [name.toLowerCase(), day] as const);

/** A time on the clock, said in one of these ways. */
const CLOCK = [
  "{hour:0..23} [o'clock]",
  '{hour:0..23} {minute:10..59}',
  '{hour:0..23} oh {minute:1..9}',
  '{pasts:past} {hour:1..12}',
  '{to:1..29} [minutes] to {hour:1..12}',
  '{minute:1..29} [minutes] past {hour:1..12}',
  '{named_times:named}',
].join('|');

export const ENGLISH_ALARMS: AlarmTexts = {
  rules: {
    clock: `(${CLOCK})`,
    first:
      '([on] {day_names:day} {day_parts:part} (at|for|by) <clock>|([on] {day_names:day}|{every:days}) (at|for|by) <clock> [{parts:part}])',
    late: '(<clock> [{parts:part}] [([on] {day_names:day}|{every:days})]|<clock> [on] {day_names:day} {day_parts:part})',
    when: '((at|for|by) <late>|[for] <first>)',
    kind: '({kinds:kind}|{reminders:kind})',
    drop: '(cancel|stop|delete|end|clear|remove|turn off)',
  },
  slots: {
    what: { kind: 'open' },
    pasts: values(
      ['half past', 30],
      ['quarter past', 15],
      ['a quarter past', 15],
      ['quarter to', -15],
      ['a quarter to', -15],
    ),
    named_times: values(['noon', 720], ['midday', 720], ['midnight', 0]),
    parts: values(
      ['am', 'am'],
      ['a m', 'am'],
      ['pm', 'pm'],
      ['p m', 'pm'],
      ['in the morning', 'am'],
      ['in the afternoon', 'pm'],
      ['in the evening', 'pm'],
      ['at night', 'night'],
    ),
    day_names: values(['today', 'today'], ['tonight', 'tonight'], ['tomorrow', 'tomorrow'], ...names),
    day_parts: values(['morning', 'am'], ['afternoon', 'pm'], ['evening', 'pm'], ['night', 'night']),
    every: values(
      ['every day', 'daily'],
      ['daily', 'daily'],
      ['every morning', 'daily'],
      ['on weekdays', 'weekdays'],
      ['every weekday', 'weekdays'],
      ['on weekends', 'weekends'],
      ['every weekend', 'weekends'],
      ...names.flatMap(([name, day]) => [[`every ${name}`, day] as const, [`on ${name}s`, day] as const]),
    ),
    kinds: values(['alarm', 'alarm'], ['alarms', 'alarm']),
    reminders: values(['reminder', 'reminder'], ['reminders', 'reminder']),
    all_words: values(['all', true], ['all of', true], ['every', true]),
  },
  intents: {
    wake: { title: 'Wake me', sentences: ['wake me [up] (<when>|in <length>)', 'get me up <when>'] },
    'alarm-set': {
      title: 'Set an alarm',
      sentences: [
        '<make> [(a|an|the|my|another)] [new] alarm <when>',
        '[an] alarm (<when>|<clock> [{parts:part}])',
        '<make> (a|an|the|my) <clock> [{parts:part}] alarm [([(on|for)] {day_names:day}|{every:days})]',
      ],
    },
    'reminder-set': {
      title: 'Remind me',
      sentences: [
        'remind me (<when>|in <length>) [(to|about|that) {what}]',
        'remind me (to|about|that) {what} (<when>|in <length>)',
        '<make> (a|another) reminder (<when>|in <length>) [(to|about) {what}]',
      ],
    },
    'alarm-list': {
      title: 'Which alarms do I have',
      sentences: [
        '(what|which) (alarms|reminders) (do i have|are set)',
        'what are my (alarms|reminders)',
        'when is my [next] (alarm|reminder)',
        'do i have (an alarm|any alarms|any reminders)',
        'is (an|my) alarm set',
        'list [(my|the|all)] (alarms|reminders)',
      ],
    },
    'alarm-cancel': {
      title: 'Cancel an alarm',
      sentences: ['<drop> [{all_words:all}] [(the|my)] {kinds:kind}'],
    },
    'alarm-drop': {
      title: 'Cancel an alarm or a reminder',
      sentences: [
        '<drop> [{all_words:all}] [(the|my)] {reminders:kind}',
        '<drop> (the|my) <kind> (at|for) <clock> [{parts:part}]',
        '<drop> (the|my) <clock> [{parts:part}] <kind>',
      ],
    },
    snooze: {
      title: 'Snooze',
      sentences: [
        'snooze [(it|that|the alarm|my alarm)] [for <length>]',
        'let me sleep [a little] longer',
        '{minutes:1..60} more minutes',
      ],
    },
  },
  say: {
    set: (alarm) => capital(`${said(alarm)}.`),
    setIn: (kind, seconds) => `${kind === 'alarm' ? 'Alarm' : 'Reminder'} in ${length(seconds)}.`,
    passed: () => 'That time has passed.',
    full: (count) => `There are ${number(count)} alarms already.`,
    list: (alarms, more) =>
      alarms.length === 0
        ? 'No alarm is set.'
        : capital(`${list(alarms.map(said), 'and')}${more > 0 ? `, and ${number(more)} more` : ''}.`),
    cancelled: (count) =>
      count === 0
        ? 'There is no such alarm.'
        : count === 1
          ? 'The alarm is cancelled.'
          : capital(`${number(count)} alarms are cancelled.`),
    which: (alarms) => `Which one: ${list(alarms.map(said), 'or')}?`,
    snoozed: (seconds) => `Again in ${length(seconds)}.`,
    silent: () => 'No alarm rings.',
  },
};

function number(value: number): string {
  return ENGLISH_NUMBERS.spell(value);
}

function said({ kind, moment, text }: SaidAlarm): string {
  return `${kind} for ${momentText(moment)}${text === undefined ? '' : `: ${text}`}`;
}

function momentText({ hour, minute, day, days }: Moment): string {
  const name = number(hour % 12 === 0 ? 12 : hour % 12);
  const clock = minute === 0 ? `${name} o'clock` : `${name} ${minute < 10 ? 'oh ' : ''}${number(minute)}`;
  const part =
    hour < 4 || hour >= 22
      ? 'at night'
      : hour < 12
        ? 'in the morning'
        : hour < 18
          ? 'in the afternoon'
          : 'in the evening';
  const time = hour === 12 && minute === 0 ? 'noon' : `${clock} ${part}`;
  if (days) {
    const together = daysName(days, { all: 'every day', work: 'on weekdays', end: 'at weekends' });
    return `${time}, ${
      together ??
      `every ${list(
        days.map((one) => DAYS[one]),
        'and',
      )}`
    }`;
  }
  if (day === undefined) return time;
  return `${time}, ${day === 'today' || day === 'tomorrow' ? day : `on ${DAYS[day]}`}`;
}

function length(seconds: number): string {
  const parts = partsOf(seconds, ['hour', 'minute', 'second']);
  return list(
    parts.map(([count, name]) => `${number(count)} ${name}${count === 1 ? '' : 's'}`),
    'and',
  );
}
