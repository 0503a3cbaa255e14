/** Intents for every screen: read aloud, and "go home". Plugin `home` opens apps. A language is one more table of this form. */

import type { Scope } from '@device-core/plugin-api';
import type { Intents } from '@device-core/plugin-api/services/intents';

/** Requests of the spoken part to the screen. */
export interface Spoken {
  readonly reader: {
    /** Lines, without what is shown of the dialogue itself. */
    read(): readonly string[];
  };
  home(): void;
}

interface Texts {
  readonly language: string;
  readonly read: { readonly title: string; readonly sentences: readonly string[] };
  readonly home: { readonly title: string; readonly sentences: readonly string[] };
  readonly nothing: string;
  readonly more: string;
}

const ENGLISH: Texts = {
  language: 'en',
  read: {
    title: 'What is on the screen',
    sentences: [
      "(what is|what's) on [(the|your)] screen",
      'read [me] (the|your) screen [(aloud|to me)]',
      'what does (the|your) screen (say|show)',
    ],
  },
  home: { title: 'Go home', sentences: ['go [back] home', '(show|go to) the home screen'] },
  nothing: 'There is nothing on the screen.',
  more: 'And more.',
};
const LANGUAGES: readonly Texts[] = [ENGLISH];

/** Characters that are read at once: longer is no answer, but a speech. */
const MOST_READ = 600;
/** Characters of text that are not spoken: isolates of direction, brackets around what can be tapped. */
const SIGNS = /[\u2066-\u2069[\]]/gu;
const OWNER = 'plugin.display';
const idOf = (name: string, language: string) => `screen.${name}${language === 'en' ? '' : `.${language}`}`;

/** Lines as they are said, as many as fit. */
export function spokenOf(lines: readonly string[], { nothing, more }: Pick<Texts, 'nothing' | 'more'>): string {
  const sentences = lines.map((line) => line.replaceAll(SIGNS, '').trim()).filter((line) => line.length > 0);
  if (sentences.length === 0) return nothing;
  let said = '';
  for (const sentence of sentences) {
    const next = `${said}${said && ' '}${/[.!?:]$/u.test(sentence) ? sentence : `${sentence}.`}`;
    if (next.length > MOST_READ) return said === '' ? `${sentence.slice(0, MOST_READ)}. ${more}` : `${said} ${more}`;
    said = next;
  }
  return said;
}

export function speakScreen(intents: Intents, part: Scope, screen: Spoken): void {
  for (const texts of LANGUAGES) {
    const { language, read, home } = texts;
    const readIt = async () => ({ say: spokenOf(screen.reader.read(), texts) });
    const goHome = async () => {
      screen.home();
      return {};
    };
    const reading = { id: idOf('read', language), language, ...read };
    part.use('intent to read the screen', intents.add(reading, readIt, OWNER));
    part.use('intent to go home', intents.add({ id: idOf('home', language), language, ...home }, goHome, OWNER));
  }
}
