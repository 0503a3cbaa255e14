import type { Strings } from './strings.ts';

export const de: Strings = {
  questions: {
    consent: { asks: 'bittet um Ihre Erlaubnis', yes: 'Erlauben', no: 'Ablehnen', refused: 'Abgelehnt' },
    confirm: { asks: 'bittet um Bestätigung', yes: 'Bestätigen', no: 'Abbrechen', refused: 'Abgebrochen' },
    update: { asks: 'kann aktualisiert werden', yes: 'Aktualisieren', no: 'Nicht jetzt', refused: 'Nicht jetzt' },
  },
  until: 'bis',
  signed: 'signiert von',
  appSays: 'Die App sagt:',
  noFont: 'keine Schrift dieses Geräts hat ihren Namen',
  page: 'Mehr',
  on: 'an',
  off: 'aus',
  ear: {
    heard: 'Das Mikrofon wird gehört von',
    muted: 'Das Mikrofon ist stumm',
    name: 'Das Mikrofon: wartet auf seinen Namen',
  },
  troubles: {
    failed: {
      voice: 'Die Stimme geht nicht',
      audio: 'Der Ton geht nicht',
      speech: 'Die Sprache geht nicht',
      apps: 'Apps laufen nicht',
      home: 'Die Startseite geht nicht',
    },
    fails: (plugin) => `${plugin} geht nicht`,
    many: (count, plugins) => `${count} Teile gehen nicht: ${plugins}`,
    low: 'Batterie schwach',
    charging: 'Lädt',
    sound: (reason) => `Kein Ton: ${reason}`,
    offline: 'Nicht verbunden',
    update: {
      brings: (version) => `Update ${version}`,
      restarts: (version) => `Neustart für Update ${version}`,
      tries: (version) => `Update ${version} wird geprüft`,
      back: (version) => `Update ${version} wurde zurückgenommen`,
      fails: (version) => `Update ${version} ist gescheitert`,
    },
  },
  safeMode: {
    title: 'Abgesicherter Modus',
    outcomes: {
      unfinished: 'Der letzte Start kam nicht an sein Ende.',
      refused: 'Die Konfiguration des Geräts wurde abgelehnt.',
      crashed: 'Der letzte Start endete mit einem Fehler.',
      killed: 'Das Gerät blieb ohne ein Wort stehen.',
      stopped: 'Das Gerät wurde angehalten.',
    },
    unknown: 'Das Gerät ist nicht gestartet.',
    blame: (plugin) => `Wahrscheinlich liegt es an: ${plugin}.`,
    again: 'Für einen neuen Versuch das Gerät aus- und einschalten.',
    code: 'Ein Code, der sagt, was geschehen ist',
    switchOff: 'Abschalten:',
    done: (plugin) => `${plugin} ist abgeschaltet. Nun das Gerät aus- und einschalten.`,
  },
  goodbye: 'Wird ausgeschaltet',
  answers: {
    none: 'Auf dem Bildschirm steht keine Frage.',
    early: 'Die Frage ist gerade erst gekommen. Bitte sagen Sie es noch einmal.',
    failed: 'Das ließ sich nicht ablehnen. Bitte antworten Sie auf dem Bildschirm.',
    choice: 'wenn Sie möchten',
    more: 'Und mehr.',
    onScreen: 'Bitte antworten Sie auf dem Bildschirm.',
  },
  said: {
    refuse: {
      title: 'Die Frage ablehnen',
      sentences: ['[nein] ablehnen', '[nein] [ich] lehne (es|das|die Frage) ab', '(nicht jetzt|jetzt nicht)'],
    },
    show: {
      title: 'Was gefragt wird',
      sentences: ['(zeig|zeige) [mir] die Frage', 'lies [mir] die Frage vor', '(was ist|wie lautet) die Frage'],
    },
  },
};
