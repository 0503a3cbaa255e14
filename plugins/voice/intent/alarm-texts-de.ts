/** German sentences and answers about alarms. */
import type { Weekday } from '@device-core/plugin-api/services/alarms';
import { type AlarmTexts, daysName, type Moment, type SaidAlarm, values } from './alarm-texts.ts';
import { capital, list, partsOf } from './answer-words.ts';
import { GERMAN_NUMBERS } from './numbers-de.ts';

const DAYS: Readonly<Record<Weekday, string>> = {
  mon: 'Montag',
  tue: 'Dienstag',
  wed: 'Mittwoch',
  thu: 'Donnerstag',
  fri: 'Freitag',
  sat: 'Samstag',
  sun: 'Sonntag',
};
const names = (Object.entries(DAYS) as [Weekday, string][]).map(([day, name]) => [name.toLowerCase(), day] as const);

/** A time on the clock, said in one of these ways. */
const CLOCK = [
  '{hour:0..23} [uhr]',
  '{hour:0..23} uhr [null] {minute:1..59}',
  '{hour:0..23} {minute:10..59} [uhr]',
  '{hour:0..23} null {minute:1..9} [uhr]',
  '{hour:0..23} glatt [uhr]',
  '{pasts:past} {hour:1..12}',
  '{to:1..29} [minuten] vor {hour:1..12}',
  '{minute:1..29} [minuten] nach {hour:1..12}',
  '{named_times:named}',
].join('|');

export const GERMAN_ALARMS: AlarmTexts = {
  rules: {
    clock: `(${CLOCK})`,
    first:
      '([am] {day_names:day} [{parts:part}] (um|auf|für) <clock>|{every:days} (um|auf|für) <clock> [{parts:part}])',
    late: '<clock> [{parts:part}] [([am] {day_names:day}|{every:days})]',
    when: '((um|auf|für) <late>|[für] <first>)',
    alarm: '[(einen|den|meinen|noch einen)] [neuen] wecker',
    kind: '({kinds:kind}|{reminders:kind})',
    drop: '(lösch|lösche|stopp|stoppe|beende|entferne)',
    owned: '[(den|die|das|meinen|meine)]',
  },
  slots: {
    what: { kind: 'open' },
    pasts: values(['halb', -30], ['viertel nach', 15], ['viertel vor', -15], ['dreiviertel', -15]),
    named_times: values(['mittag', 720], ['mitternacht', 0], ['zwölf uhr mittags', 720]),
    parts: values(
      ['früh', 'am'],
      ['morgens', 'am'],
      ['vormittags', 'am'],
      ['am morgen', 'am'],
      ['am vormittag', 'am'],
      ['vormittag', 'am'],
      ['nachmittag', 'pm'],
      ['nachmittags', 'pm'],
      ['am nachmittag', 'pm'],
      ['abend', 'pm'],
      ['abends', 'pm'],
      ['am abend', 'pm'],
      ['nachts', 'night'],
      ['nacht', 'night'],
    ),
    day_names: values(['heute', 'today'], ['morgen', 'tomorrow'], ...names),
    every: values(
      ['jeden tag', 'daily'],
      ['täglich', 'daily'],
      ['jeden morgen', 'daily'],
      ['werktags', 'weekdays'],
      ['an werktagen', 'weekdays'],
      ['unter der woche', 'weekdays'],
      ['am wochenende', 'weekends'],
      ['jedes wochenende', 'weekends'],
      ...names.flatMap(([name, day]) => [[`jeden ${name}`, day] as const, [`${name}s`, day] as const]),
    ),
    kinds: values(['wecker', 'alarm'], ['alarm', 'alarm'], ['alarme', 'alarm']),
    reminders: values(['erinnerung', 'reminder'], ['erinnerungen', 'reminder']),
    all_words: values(['alle', true], ['alle meine', true]),
  },
  intents: {
    wake: { title: 'Weck mich', sentences: ['(weck|wecke) mich [auf] (<when>|in <length>)'] },
    'alarm-set': {
      title: 'Wecker stellen',
      sentences: [
        '(stell|stelle|setz|setze|mach) <alarm> <when> [ein]',
        '[(einen|den)] wecker (<when>|<clock> [{parts:part}]) [stellen]',
      ],
    },
    'reminder-set': {
      title: 'Erinnere mich',
      sentences: [
        'erinner mich (<when>|in <length>) [[(daran|an|ans)] {what}]',
        'erinnere mich (<when>|in <length>) [[(daran|an|ans)] {what}]',
        '(stell|stelle|setz|setze) [mir] eine erinnerung (<when>|in <length>) [an {what}]',
      ],
    },
    'alarm-list': {
      title: 'Welche Wecker habe ich',
      sentences: [
        'welche (wecker|erinnerungen|alarme) (habe ich|sind gestellt)',
        'wann (klingelt|ist) mein [nächster] wecker',
        'wann ist meine [nächste] erinnerung',
        'ist (ein|mein|der) wecker gestellt',
        'habe ich (einen wecker|erinnerungen)',
      ],
    },
    'alarm-cancel': {
      title: 'Wecker löschen',
      sentences: [
        '<drop> [{all_words:all}] <owned> {kinds:kind}',
        '[{all_words:all}] <owned> {kinds:kind} (löschen|stoppen|beenden|ausschalten|aus)',
        '(schalt|schalte|mach) [{all_words:all}] <owned> {kinds:kind} aus',
      ],
    },
    'alarm-drop': {
      title: 'Wecker oder Erinnerung löschen',
      sentences: [
        '<drop> [{all_words:all}] <owned> {reminders:kind}',
        '[{all_words:all}] <owned> {reminders:kind} löschen',
        '<drop> <owned> <kind> um <clock> [{parts:part}]',
      ],
    },
    snooze: {
      title: 'Schlummern',
      sentences: [
        '(schlummern|schlummer|snooze) [für <length>]',
        'noch {minutes:1..60} minute[n]',
        'lass mich noch [etwas] schlafen',
      ],
    },
  },
  say: {
    set: (alarm) => capital(`${said(alarm)}.`),
    setIn: (kind, seconds) => `${noun(kind)} in ${length(seconds)}.`,
    passed: () => 'Diese Zeit ist vorbei.',
    full: (count) => `Es gibt schon ${number(count)} Wecker.`,
    list: (alarms, more) =>
      alarms.length === 0
        ? 'Kein Wecker ist gestellt.'
        : capital(`${list(alarms.map(said), 'und')}${more > 0 ? `, und ${number(more)} mehr` : ''}.`),
    cancelled: (count) =>
      count === 0
        ? 'So einen Wecker gibt es nicht.'
        : count === 1
          ? 'Der Wecker ist gelöscht.'
          : capital(`${number(count)} Wecker sind gelöscht.`),
    which: (alarms) => `Welcher: ${list(alarms.map(said), 'oder')}?`,
    snoozed: (seconds) => `Noch einmal in ${length(seconds)}.`,
    silent: () => 'Kein Wecker klingelt.',
  },
};

const noun = (kind: string): string => (kind === 'alarm' ? 'Wecker' : 'Erinnerung');

function number(value: number): string {
  return GERMAN_NUMBERS.spell(value);
}

function said({ kind, moment, text }: SaidAlarm): string {
  return `${noun(kind)} ${momentText(moment)}${text === undefined ? '' : `: ${text}`}`;
}

function momentText({ hour, minute, day, days }: Moment): string {
  const time = `um ${hour === 1 ? 'ein' : number(hour)} Uhr${minute === 0 ? '' : ` ${number(minute)}`}`;
  if (days) {
    const together = daysName(days, { all: 'jeden Tag', work: 'werktags', end: 'am Wochenende' });
    return `${
      together ??
      `jeden ${list(
        days.map((one) => DAYS[one]),
        'und',
      )}`
    } ${time}`;
  }
  if (day === undefined) return time;
  return `${day === 'today' ? 'heute' : day === 'tomorrow' ? 'morgen' : `am ${DAYS[day]}`} ${time}`;
}

/** After "in": one hour is "einer Stunde". */
function length(seconds: number): string {
  const parts = partsOf(seconds, ['Stunde', 'Minute', 'Sekunde']);
  return list(
    parts.map(([count, name]) => (count === 1 ? `einer ${name}` : `${number(count)} ${name}n`)),
    'und',
  );
}
