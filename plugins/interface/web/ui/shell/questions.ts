/** Questions in plain words and where each is answered. They are found in every language, and shown in the reader's. */
import { link } from '../core/route.ts';
import type { Entry } from '../core/search.ts';
import { LANGUAGES, type Language, language } from '../core/text.ts';

interface Question {
  /** Page that must be there. */
  readonly page: string;
  readonly href: string;
  readonly asked: Readonly<Record<Language, string>>;
  /** Other words for it, in any language. */
  readonly words: string;
}

const QUESTIONS: readonly Question[] = [
  {
    page: 'denials',
    href: link('denials'),
    asked: { en: 'Why was this refused?', de: 'Warum wurde das abgelehnt?', fr: 'Pourquoi est-ce refusé ?' },
    words:
      'why denied refusal permission capability forbidden not allowed missing grant verweigert verboten Recht fehlt Ablehnung erlaubt refus interdit droit manque permission',
  },
  {
    page: 'plugins',
    href: link('plugins', [], { view: 'cost' }),
    asked: { en: 'What costs the CPU?', de: 'Was kostet die CPU?', fr: 'Qu’est-ce qui coûte le processeur ?' },
    words:
      'slow hot load busy performance processor memory usage power fan langsam heiß Last Leistung Prozessor Rechenzeit Speicher Verbrauch lent chaud charge mémoire CPU consomme',
  },
  {
    page: 'settings',
    href: link('settings', [], { changed: '1' }),
    asked: {
      en: 'How do I undo this setting?',
      de: 'Wie mache ich diese Einstellung rückgängig?',
      fr: 'Comment annuler ce réglage ?',
    },
    words:
      'undo reset default restore revert override changed configuration zurücksetzen zurück Standard wiederherstellen geändert Wert rétablir réinitialiser défaut modifié annuler',
  },
  {
    page: 'overview',
    href: link('overview'),
    asked: { en: 'Is the device well?', de: 'Geht es dem Gerät gut?', fr: 'L’appareil va-t-il bien ?' },
    words:
      'health status ok broken fault wrong error problem Zustand kaputt Fehler Störung Problem santé panne état erreur problème',
  },
  {
    page: 'plugins',
    href: link('plugins', [], { view: 'installed' }),
    asked: {
      en: 'What was rolled back, and why?',
      de: 'Was wurde zurückgenommen und warum?',
      fr: 'Qu’est-ce qui a été annulé, et pourquoi ?',
    },
    words: 'rollback version former probation upgrade zurückgerollt Version Vorgänger Probe retour version précédente',
  },
  {
    page: 'plugins',
    href: link('plugins', [], { view: 'graph' }),
    asked: { en: 'Who needs which plugin?', de: 'Wer braucht welches Plugin?', fr: 'Qui a besoin de quel plugin ?' },
    words:
      'graph dependency dependencies provides requires service Abhängigkeit Graph Dienst dépendance graphe service',
  },
  {
    page: 'apps',
    href: link('apps'),
    asked: { en: 'What may this app do?', de: 'Was darf diese App?', fr: 'Que peut faire cette application ?' },
    words:
      'grant consent permission rights microphone allow take back Recht Zustimmung Mikrofon erlauben entziehen droit accord consentement micro autoriser retirer',
  },
  {
    page: 'changes',
    href: link('changes'),
    asked: {
      en: 'What is being changed right now?',
      de: 'Was wird gerade geändert?',
      fr: 'Qu’est-ce qui change en ce moment ?',
    },
    words: 'install update progress under way Installation Aktualisierung Fortschritt mise à jour progression',
  },
  {
    page: 'voice',
    href: link('voice'),
    asked: { en: 'Is the microphone on?', de: 'Ist das Mikrofon an?', fr: 'Le micro est-il ouvert ?' },
    words: 'mute listen hear capture what left the device ledger stumm hört zu was verließ das Gerät muet écoute coupé',
  },
  {
    page: 'panel',
    href: link('panel'),
    asked: { en: 'What is on the screen?', de: 'Was ist auf dem Bildschirm?', fr: 'Qu’y a-t-il à l’écran ?' },
    words: 'display foreground screenshot touch Anzeige Vordergrund Bildschirmfoto premier plan capture',
  },
  {
    page: 'sessions',
    href: link('sessions'),
    asked: { en: 'Who is signed in?', de: 'Wer ist angemeldet?', fr: 'Qui est connecté ?' },
    words: 'session browser revoke sign out Sitzung abmelden session navigateur déconnecter',
  },
  {
    page: 'logs',
    href: link('logs'),
    asked: { en: 'What happened before?', de: 'Was ist vorher passiert?', fr: 'Que s’est-il passé avant ?' },
    words: 'log lines last start crash error Protokoll Absturz Fehler journal plantage erreur',
  },
  {
    page: 'simulator',
    href: link('simulator'),
    asked: {
      en: 'How do I simulate a fault?',
      de: 'Wie simuliere ich einen Fehler?',
      fr: 'Comment simuler une panne ?',
    },
    words: 'simulator fault silence crash stuck sensor NFC tag Störung Simulator capteur panne',
  },
];

/** Those whose page is there. */
export function questions(there: (page: string) => boolean): readonly Entry[] {
  const languages = Object.keys(LANGUAGES) as Language[];
  return QUESTIONS.filter(({ page }) => there(page)).map(({ href, asked, words }) => ({
    kind: 'question',
    title: asked[language.value],
    href,
    icon: 'info',
    words: [...languages.map((one) => asked[one]), words],
  }));
}
