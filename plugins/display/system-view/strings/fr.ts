import type { Strings } from './strings.ts';

export const fr: Strings = {
  questions: {
    consent: { asks: 'demande votre permission', yes: 'Autoriser', no: 'Refuser', refused: 'Refusé' },
    confirm: { asks: 'demande une confirmation', yes: 'Confirmer', no: 'Annuler', refused: 'Annulé' },
    update: { asks: 'peut être mis à jour', yes: 'Mettre à jour', no: 'Pas maintenant', refused: 'Pas maintenant' },
  },
  until: 'jusqu’à',
  signed: 'signé par',
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
  troubles: {
    failed: {
      voice: 'La voix ne marche pas',
      audio: 'Le son ne marche pas',
      speech: 'La parole ne marche pas',
      apps: 'Les applications ne tournent pas',
      home: 'L’accueil ne marche pas',
    },
    fails: (plugin) => `${plugin} ne marche pas`,
    many: (count, plugins) => `${count} éléments ne marchent pas : ${plugins}`,
    low: 'Batterie faible',
    charging: 'En charge',
    sound: (reason) => `Pas de son : ${reason}`,
    offline: 'Non connecté',
    update: {
      brings: (version) => `Mise à jour ${version}`,
      restarts: (version) => `Redémarrage pour la mise à jour ${version}`,
      tries: (version) => `Essai de la mise à jour ${version}`,
      back: (version) => `Mise à jour ${version} annulée`,
      fails: (version) => `Échec de la mise à jour ${version}`,
    },
  },
  safeMode: {
    title: 'Mode sans échec',
    outcomes: {
      unfinished: 'Le dernier démarrage n’a pas abouti.',
      refused: 'La configuration de l’appareil a été refusée.',
      crashed: 'Le dernier démarrage s’est terminé par une erreur.',
      killed: 'L’appareil s’est arrêté sans un mot.',
      stopped: 'L’appareil a été arrêté.',
    },
    unknown: 'L’appareil n’a pas démarré.',
    blame: (plugin) => `Cause la plus probable : ${plugin}.`,
    again: 'Pour réessayer, éteignez et rallumez l’appareil.',
    code: 'Un code qui dit ce qui s’est passé',
    switchOff: 'Désactiver',
    done: (plugin) => `${plugin} est désactivé. Éteignez et rallumez l’appareil.`,
  },
  goodbye: 'Arrêt en cours',
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
