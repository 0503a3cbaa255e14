import type { Strings } from './strings.ts';

export const de: Strings = {
  questions: {
    consent: { asks: 'bittet um Ihre Erlaubnis', yes: 'Erlauben', no: 'Ablehnen', refused: 'Abgelehnt' },
    confirm: { asks: 'bittet um Bestätigung', yes: 'Bestätigen', no: 'Abbrechen', refused: 'Abgebrochen' },
    update: { asks: 'kann aktualisiert werden', yes: 'Aktualisieren', no: 'Nicht jetzt', refused: 'Nicht jetzt' },
  },
  until: 'bis',
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
