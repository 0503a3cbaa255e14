/** French sentences and answers about alarms. */
import type { Weekday } from '@device-core/plugin-api/services/alarms';
import { type AlarmTexts, daysName, type Moment, type SaidAlarm, values } from './alarm-texts.ts';
import { capital, list, partsOf } from './answer-words.ts';
import { FRENCH_NUMBERS } from './numbers-fr.ts';

const DAYS: Readonly<Record<Weekday, string>> = {
  mon: 'lundi',
  tue: 'mardi',
  wed: 'mercredi',
  thu: 'jeudi',
  fri: 'vendredi',
  sat: 'samedi',
  sun: 'dimanche',
};
const names = (Object.entries(DAYS) as [Weekday, string][]).map(([day, name]) => [name, day] as const);

/** A time on the clock, said in one of these ways. */
const CLOCK = [
  '{hour:0..23} heure[s] [(pile|[zéro] {minute:1..59})]',
  '{hour:0..23} pile',
  '{hour:0..23} zéro {minute:1..9}',
  '{hour:0..23} {minute:10..59}',
  '{hour:0..23} heure[s] {pasts:past}',
  '{hour:1..23} heure[s] moins {to:1..29}',
  '{named_times:named}',
].join('|');

export const FRENCH_ALARMS: AlarmTexts = {
  rules: {
    clock: `(${CLOCK})`,
    first:
      '({day_names:day} [{day_parts:part}] (à|pour) <clock>|{day_names:day} (à|pour) <clock> {parts:part}|{every:days} (à|pour) <clock> [{parts:part}])',
    late: '(<clock> [{parts:part}] [({day_names:day}|{every:days})]|<clock> {day_names:day} {day_parts:part})',
    when: '((à|pour) <late>|[pour] <first>)',
    alarm: '[(une|un|la|mon|mes)] [nouvelle] (alarme|réveil)',
    kind: '({kinds:kind}|{reminders:kind})',
    drop: '(annule|annuler|arrête|arrêter|supprime|supprimer|désactive)',
    owned: '[(le|la|les|mon|ma|mes)]',
  },
  slots: {
    what: { kind: 'open' },
    pasts: values(['et demie', 30], ['et demi', 30], ['et quart', 15], ['moins le quart', -15]),
    named_times: values(['midi', 720], ['midi et demi', 750], ['minuit', 0]),
    parts: values(['du matin', 'am'], ["de l'après midi", 'pm'], ['du soir', 'pm']),
    day_names: values(["aujourd'hui", 'today'], ['ce soir', 'tonight'], ['demain', 'tomorrow'], ...names),
    day_parts: values(['matin', 'am'], ['après midi', 'pm'], ['soir', 'pm']),
    every: values(
      ['tous les jours', 'daily'],
      ['chaque jour', 'daily'],
      ['tous les matins', 'daily'],
      ['en semaine', 'weekdays'],
      ['le week end', 'weekends'],
      ...names.flatMap(([name, day]) => [
        [`tous les ${name}s`, day] as const,
        [`chaque ${name}`, day] as const,
        [`le ${name}`, day] as const,
      ]),
    ),
    kinds: values(
      ['alarme', 'alarm'],
      ['alarmes', 'alarm'],
      ["l'alarme", 'alarm'],
      ['réveil', 'alarm'],
      ['réveils', 'alarm'],
    ),
    reminders: values(['rappel', 'reminder'], ['rappels', 'reminder']),
    all_words: values(['tous', true], ['toutes', true]),
  },
  intents: {
    wake: { title: 'Réveille-moi', sentences: ['réveille moi (<when>|dans <length>)'] },
    'alarm-set': {
      title: 'Régler une alarme',
      sentences: ['<set> <alarm> <when>', '[(une|un)] (alarme|réveil) <when>'],
    },
    'reminder-set': {
      title: 'Rappelle-moi',
      sentences: [
        'rappelle moi (<when>|dans <length>) [[(de|que)] {what}]',
        'rappelle moi (de|que) {what} (<when>|dans <length>)',
        '<set> un rappel (<when>|dans <length>) [(de|pour) {what}]',
      ],
    },
    'alarm-list': {
      title: 'Mes alarmes',
      sentences: [
        'quelles (alarmes|sont mes alarmes) [sont réglées]',
        'quels sont mes rappels',
        'quelles alarmes ai je',
        'quand sonne (ma prochaine alarme|mon réveil)',
        'est ce que (mon réveil|une alarme) est (réglé|réglée)',
      ],
    },
    'alarm-cancel': {
      title: 'Annuler une alarme',
      sentences: ['<drop> [{all_words:all}] <owned> {kinds:kind}'],
    },
    'alarm-drop': {
      title: 'Annuler une alarme ou un rappel',
      sentences: [
        '<drop> [{all_words:all}] <owned> {reminders:kind}',
        '<drop> <owned> <kind> (de|à) <clock> [{parts:part}]',
      ],
    },
    snooze: {
      title: 'Reporter',
      sentences: [
        "(reporte|répète) (l'alarme|le réveil) [de <length>]",
        'encore {minutes:1..60} minute[s]',
        'laisse moi dormir encore [un peu]',
      ],
    },
  },
  say: {
    set: (alarm) => capital(`${said(alarm)}.`),
    setIn: (kind, seconds) => `${capital(noun(kind))} dans ${length(seconds)}.`,
    passed: () => 'Cette heure est passée.',
    full: (count) => `Il y a déjà ${number(count)} alarmes.`,
    list: (alarms, more) =>
      alarms.length === 0
        ? "Aucune alarme n'est réglée."
        : capital(`${list(alarms.map(said), 'et')}${more > 0 ? `, et ${number(more)} de plus` : ''}.`),
    cancelled: (count) =>
      count === 0
        ? "Il n'y a pas d'alarme comme ça."
        : count === 1
          ? "L'alarme est annulée."
          : capital(`${number(count)} alarmes sont annulées.`),
    which: (alarms) => `Laquelle : ${list(alarms.map(said), 'ou')} ?`,
    snoozed: (seconds) => `Encore une fois dans ${length(seconds)}.`,
    silent: () => 'Aucune alarme ne sonne.',
  },
};

const noun = (kind: string): string => (kind === 'alarm' ? 'alarme' : 'rappel');

function number(value: number): string {
  return FRENCH_NUMBERS.spell(value);
}

const feminine = (value: number): string => number(value).replace(/\bun$/, 'une');

function said({ kind, moment, text }: SaidAlarm): string {
  return `${noun(kind)} ${momentText(moment)}${text === undefined ? '' : ` : ${text}`}`;
}

function momentText({ hour, minute, day, days }: Moment): string {
  const full = hour === 12 ? 'midi' : `${feminine(hour)} heure${hour < 2 ? '' : 's'}`;
  const time = `à ${full}${minute === 0 ? '' : ` ${feminine(minute)}`}`;
  if (days) {
    const together = daysName(days, { all: 'tous les jours', work: 'en semaine', end: 'le week-end' });
    return `${
      together ??
      `chaque ${list(
        days.map((one) => DAYS[one]),
        'et',
      )}`
    } ${time}`;
  }
  if (day === undefined) return time;
  return `${day === 'today' ? "aujourd'hui" : day === 'tomorrow' ? 'demain' : DAYS[day]} ${time}`;
}

function length(seconds: number): string {
  const parts = partsOf(seconds, ['heure', 'minute', 'seconde']);
  return list(
    parts.map(([count, name]) => `${feminine(count)} ${name}${count === 1 ? '' : 's'}`),
    'et',
  );
}
