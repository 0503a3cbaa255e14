import type { Strings } from './strings.ts';

export const fr: Strings = {
  questions: {
    consent: { asks: 'demande votre permission', yes: 'Autoriser', no: 'Refuser', refused: 'Refusé' },
    confirm: { asks: 'demande une confirmation', yes: 'Confirmer', no: 'Annuler', refused: 'Annulé' },
    update: { asks: 'peut être mis à jour', yes: 'Mettre à jour', no: 'Pas maintenant', refused: 'Pas maintenant' },
  },
  until: 'jusqu’à',
  appSays: 'L’application dit :',
  noFont: 'aucune police de cet appareil n’a son nom',
  page: 'Plus',
  on: 'activé',
  off: 'désactivé',
  ear: {
    heard: 'Le microphone est entendu par',
    muted: 'Le microphone est coupé',
    name: 'Le microphone : attend son nom',
  },
  answers: {
    none: 'Il n’y a pas de question à l’écran.',
    early: 'La question vient d’arriver. Dites-le encore une fois.',
    failed: 'Le refus n’a pas abouti. Répondez à l’écran.',
    choice: 'si vous voulez',
    more: 'Et plus.',
    onScreen: 'Répondez à l’écran.',
  },
  said: {
    refuse: {
      title: 'Refuser la question',
      sentences: ['[non] [je] refuse', '[non] refuse (la|la demande|la question)', 'pas maintenant'],
    },
    show: {
      title: 'Ce qui est demandé',
      sentences: ['(montre|lis) [moi] la question', '(quelle est|c est quoi) la question', 'qu est ce qui est demandé'],
    },
  },
};
