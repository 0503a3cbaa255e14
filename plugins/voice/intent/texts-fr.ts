/** French sentences and answers of the device itself. */

import { typedMinutes } from './alarm-texts.ts';
import { FRENCH_ALARMS } from './alarm-texts-fr.ts';
import { capital, list, partsOf } from './answer-words.ts';
import type { DeviceTexts } from './device-texts.ts';
import { FRENCH_NUMBERS } from './numbers-fr.ts';

const LENGTHS = [
  { in: 'une demi minute', out: 30 },
  { in: 'une minute et demie', out: 90 },
  { in: "un quart d'heure", out: 900 },
  { in: 'une demi heure', out: 1_800 },
  { in: "trois quarts d'heure", out: 2_700 },
  { in: 'une heure et demie', out: 5_400 },
  { in: 'deux heures et demie', out: 9_000 },
];

export const FRENCH: DeviceTexts = {
  language: 'fr',
  forgiven: {
    before: ['est ce que tu peux', 'peux tu', 'pourrais tu', 'tu peux', 'merci de', "s'il te plaît", 'okay', 'ok'],
    after: ["s'il te plaît", "s'il vous plaît", 'pour moi', 'maintenant', 'merci', 'un peu'],
    rewrites: { ...typedMinutes('zéro', 'pile'), min: 'minutes', sec: 'secondes', micro: 'microphone', h: 'heures' },
  },
  rules: {
    ...FRENCH_ALARMS.rules,
    timer: '(minuteur|minuterie|alarme|compte à rebours)',
    hours: '{hours:1..24} heure[s]',
    minutes: '{minutes:1..180} minute[s]',
    seconds: '{seconds:1..120} seconde[s]',
    length: '({lengths:length}|<hours> [[et] <minutes>] [[et] <seconds>]|<minutes> [[et] <seconds>]|<seconds>)',
    set: '(mets|mettre|règle|régler|lance|lancer|démarre|démarrer)',
    by: '[de {by:1..100} [pour cent]]',
  },
  slots: { ...FRENCH_ALARMS.slots, lengths: { kind: 'list', values: LENGTHS } },
  intents: {
    ...FRENCH_ALARMS.intents,
    'volume-set': {
      title: 'Régler le volume',
      sentences: [
        '(mets|mettre|règle|régler) [le] volume (à|sur) {percent:0..100} [pour cent]',
        'volume [à] {percent:0..100} [pour cent]',
      ],
    },
    'volume-up': {
      title: 'Plus fort',
      sentences: [
        '(monte|monter|augmente|augmenter) le (son|volume) <by>',
        '(mets|mettre) plus fort',
        'parle plus fort',
      ],
    },
    'volume-down': {
      title: 'Moins fort',
      sentences: [
        '(baisse|baisser|diminue|diminuer) le (son|volume) <by>',
        '(mets|mettre) moins fort',
        'parle moins fort',
      ],
    },
    'volume-tell': { title: 'Quel est le volume', sentences: ['quel est le volume', 'à combien est le volume'] },
    mute: {
      title: 'Couper le microphone',
      sentences: ['(coupe|couper|désactive|désactiver) le microphone', "arrête d'écouter"],
    },
    stop: {
      title: 'Arrêter',
      sentences: ['(stop|arrête|arrêter)', '(arrête|annule) (ça|cela)', 'annule', 'laisse tomber', 'tais toi'],
    },
    'timer-set': {
      title: 'Régler un minuteur',
      sentences: [
        '<set> [(un|une|le|la)] [(autre|nouveau|nouvelle)] <timer> (de|pour|à|sur) <length>',
        '[(un|une)] <timer> [(de|pour)] <length>',
      ],
    },
    'timer-cancel': {
      title: 'Annuler les minuteurs',
      sentences: [
        '(annule|annuler|arrête|arrêter|supprime|supprimer) [tous] [(le|la|les|mon|ma|mes)] (minuteur[s]|minuterie[s])',
      ],
    },
    'timer-left': {
      title: 'Temps restant',
      sentences: [
        'combien de temps [(il reste|reste t il)] [(sur|pour) (le|la|mon|ma) <timer>]',
        'il reste combien de temps',
      ],
    },
    time: {
      title: 'Quelle heure est-il',
      sentences: ['quelle heure est il', 'quelle heure il est', "(donne|dis) moi l'heure", 'il est quelle heure'],
    },
    help: {
      title: 'Que puis-je dire',
      sentences: ["qu'est ce que je peux (dire|demander)", 'que puis je (dire|demander)', 'que sais tu faire'],
    },
  },
  say: {
    alarms: FRENCH_ALARMS.say,
    volume: (percent) => `Le volume est à ${number(percent)} pour cent.`,
    muted: () => "Je n'écoute plus.",
    timerSet: (seconds) => `Minuteur de ${duration(seconds)}, à partir de maintenant.`,
    timersFull: (most) => `Il y a déjà ${number(most)} minuteurs.`,
    timerTooLong: (seconds) => `Un minuteur dure au plus ${duration(seconds)}.`,
    timersCancelled: (count) =>
      count === 0
        ? "Il n'y a pas de minuteur."
        : count === 1
          ? 'Le minuteur est annulé.'
          : capital(`${number(count)} minuteurs sont annulés.`),
    timersLeft: (seconds) =>
      seconds.length === 0 ? "Il n'y a pas de minuteur." : `Il reste ${list(seconds.map(duration), 'et')}.`,
    time: (hour, minute) =>
      `Il est ${feminine(hour)} heure${hour < 2 ? '' : 's'}${minute === 0 ? '' : ` ${feminine(minute)}`}.`,
    help: (examples) =>
      examples.length === 0 ? "Il n'y a rien à dire maintenant." : `Par exemple : ${list(examples, 'ou')}.`,
  },
};

function number(value: number): string {
  return FRENCH_NUMBERS.spell(value);
}

/** Before a feminine noun: "une heure", "vingt et une minutes". */
function feminine(value: number): string {
  return number(value).replace(/\bun$/, 'une');
}

function duration(seconds: number): string {
  const said = partsOf(seconds, ['heure', 'minute', 'seconde']).map(
    ([count, name]) => `${feminine(count)} ${name}${count === 1 ? '' : 's'}`,
  );
  return said.length === 0 ? "moins d'une seconde" : list(said, 'et');
}
