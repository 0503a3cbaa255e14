/** German sentences and answers of the device itself. */

import { typedMinutes } from './alarm-texts.ts';
import { GERMAN_ALARMS } from './alarm-texts-de.ts';
import { capital, list, partsOf } from './answer-words.ts';
import type { DeviceTexts } from './device-texts.ts';
import { GERMAN_NUMBERS } from './numbers-de.ts';

const LENGTHS = [
  { in: 'eine halbe minute', out: 30 },
  { in: 'eineinhalb minuten', out: 90 },
  { in: 'anderthalb minuten', out: 90 },
  { in: 'zweieinhalb minuten', out: 150 },
  { in: 'eine viertelstunde', out: 900 },
  { in: 'eine halbe stunde', out: 1_800 },
  { in: 'eine dreiviertelstunde', out: 2_700 },
  { in: 'eineinhalb stunden', out: 5_400 },
  { in: 'anderthalb stunden', out: 5_400 },
  { in: 'zweieinhalb stunden', out: 9_000 },
];

export const GERMAN: DeviceTexts = {
  language: 'de',
  forgiven: {
    before: ['kannst du bitte', 'könntest du bitte', 'kannst du', 'könntest du', 'würdest du', 'bitte', 'okay', 'ok'],
    after: ['für mich bitte', 'für mich', 'bitte', 'jetzt', 'gerade', 'danke', 'ein bisschen', 'etwas'],
    rewrites: {
      ...typedMinutes('null', 'glatt'),
      min: 'minuten',
      std: 'stunden',
      sek: 'sekunden',
      mikro: 'mikrofon',
      mikrophon: 'mikrofon',
    },
  },
  rules: {
    ...GERMAN_ALARMS.rules,
    timer: '(timer|wecker|countdown)',
    hours: '{hours:1..24} stunde[n]',
    minutes: '{minutes:1..180} minute[n]',
    seconds: '{seconds:1..120} sekunde[n]',
    length: '({lengths:length}|<hours> [[und] <minutes>] [[und] <seconds>]|<minutes> [[und] <seconds>]|<seconds>)',
    volume: '[die] lautstärke',
    by: '[um {by:1..100} [prozent]]',
  },
  slots: { ...GERMAN_ALARMS.slots, lengths: { kind: 'list', values: LENGTHS } },
  intents: {
    ...GERMAN_ALARMS.intents,
    'volume-set': {
      title: 'Lautstärke einstellen',
      sentences: [
        '(stell|stelle|setz|setze|dreh|drehe) <volume> auf {percent:0..100} [prozent]',
        '<volume> auf {percent:0..100} [prozent] [(stellen|setzen)]',
        'lautstärke {percent:0..100} [prozent]',
      ],
    },
    'volume-up': {
      title: 'Lauter',
      sentences: [
        '(mach|mache|stell|dreh) [es] lauter',
        '<volume> <by> (erhöhen|lauter)',
        '(erhöh|erhöhe) <volume> <by>',
      ],
    },
    'volume-down': {
      title: 'Leiser',
      sentences: [
        '(mach|mache|stell|dreh) [es] leiser',
        '<volume> <by> (verringern|senken|leiser)',
        '(verringer|verringere|senk|senke) <volume> <by>',
      ],
    },
    'volume-tell': { title: 'Wie laut ist es', sentences: ['wie laut ist es', 'wie [hoch] ist die lautstärke'] },
    mute: {
      title: 'Mikrofon ausschalten',
      sentences: ['(schalt|schalte|mach) [das] mikrofon (aus|stumm)', 'mikrofon (aus|stumm)', 'hör nicht mehr zu'],
    },
    stop: {
      title: 'Stopp',
      sentences: [
        '(stopp|stop|halt)',
        '[das] (abbrechen|beenden)',
        'vergiss es',
        'sei (still|leise|ruhig)',
        'schon gut',
      ],
    },
    'timer-set': {
      title: 'Timer stellen',
      sentences: [
        '(stell|stelle|setz|setze|starte) [(einen|den|noch einen)] [neuen] <timer> (auf|für|von|über) <length>',
        '(stell|stelle|setz|setze|starte) [(einen|noch einen)] <length> <timer>',
        '[(einen|neuer)] <timer> [(auf|für|von|über)] <length> [(stellen|starten)]',
        '<length> <timer>',
      ],
    },
    'timer-cancel': {
      title: 'Timer löschen',
      sentences: [
        '(lösch|lösche|stopp|stoppe|beende) [alle] [(den|die|meine|meinen)] (timer|countdown)',
        '[alle] [(den|die)] (timer|countdown) (löschen|stoppen|beenden|abbrechen|aus)',
      ],
    },
    'timer-left': {
      title: 'Wie lange noch',
      sentences: [
        'wie (lange|viel zeit) [(ist|bleibt)] [es] noch [übrig] [(beim|auf dem) <timer>]',
        'wie lange läuft (der|mein) <timer> noch',
      ],
    },
    time: {
      title: 'Wie spät ist es',
      sentences: ['wie (spät|viel uhr) ist es [jetzt]', 'sag mir (die uhrzeit|wie spät es ist)', 'wie ist die uhrzeit'],
    },
    help: { title: 'Was kann ich sagen', sentences: ['was kann ich [dich] (sagen|fragen)', 'was kannst du [alles]'] },
  },
  say: {
    alarms: GERMAN_ALARMS.say,
    volume: (percent) => `Die Lautstärke ist ${number(percent)} Prozent.`,
    muted: () => 'Ich höre nicht mehr zu.',
    timerSet: (seconds) => `Timer für ${duration(seconds)}, ab jetzt.`,
    timersFull: (most) => `Es laufen schon ${number(most)} Timer.`,
    timerTooLong: (seconds) => `Ein Timer darf höchstens ${duration(seconds)} dauern.`,
    timersCancelled: (count) =>
      count === 0
        ? 'Es läuft kein Timer.'
        : count === 1
          ? 'Der Timer ist gelöscht.'
          : capital(`${number(count)} Timer sind gelöscht.`),
    timersLeft: (seconds) =>
      seconds.length === 0 ? 'Es läuft kein Timer.' : `Noch ${list(seconds.map(duration), 'und')}.`,
    time: (hour, minute) => `Es ist ${before(hour)} Uhr${minute === 0 ? '' : ` ${number(minute)}`}.`,
    help: (examples) =>
      examples.length === 0 ? 'Jetzt gibt es nichts zu sagen.' : `Zum Beispiel: ${list(examples, 'oder')}.`,
  },
};

function number(value: number): string {
  return GERMAN_NUMBERS.spell(value);
}

/** One before a noun that is no feminine: "ein Uhr". */
function before(value: number): string {
  return value === 1 ? 'ein' : number(value);
}

function duration(seconds: number): string {
  const said = partsOf(seconds, ['Stunde', 'Minute', 'Sekunde']).map(([count, name]) =>
    count === 1 ? `eine ${name}` : `${number(count)} ${name}n`,
  );
  return said.length === 0 ? 'weniger als eine Sekunde' : list(said, 'und');
}
