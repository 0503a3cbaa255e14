/** What can be said to the screen: that it be read aloud, "go home", "open <app>". A language is one more table of this form. */
import { type Apps, type Intents, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';

/** What the spoken part asks of the screen. */
export interface Spoken {
  describe(): readonly string[];
  home(): void;
  open(app: string): Promise<void>;
}

interface Texts {
  readonly language: string;
  readonly read: { readonly title: string; readonly sentences: readonly string[] };
  readonly home: { readonly title: string; readonly sentences: readonly string[] };
  readonly open: { readonly title: string; readonly sentences: readonly string[] };
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
  open: { title: 'Open an app', sentences: ['(open|show [me]|start) [the] [app] {apps:app}'] },
  nothing: 'There is nothing on the screen.',
  more: 'And more.',
};
const LANGUAGES: readonly Texts[] = [ENGLISH];

/** Characters that are read at once: longer is no answer, but a speech. */
const MOST_READ = 600;
/** What lines of text need and nobody says: isolates of direction, brackets round what can be tapped. */
const SIGNS = /[\u2066-\u2069[\]]/gu;
/** Apps that can be named. */
const MOST_APPS = 200;
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
    const readIt = async () => ({ say: spokenOf(screen.describe(), texts) });
    const goHome = async () => {
      screen.home();
      return {};
    };
    const reading = { id: idOf('read', language), language, ...read };
    part.use('intent to read the screen', intents.add(reading, readIt, OWNER));
    part.use('intent to go home', intents.add({ id: idOf('home', language), language, ...home }, goHome, OWNER));
  }
}

/** By the titles of the apps that are there; anew when there are others. */
export async function speakApps(intents: Intents, all: Apps, part: Scope, screen: Spoken, log: Logger): Promise<void> {
  let known = '';
  let added: AsyncDisposable[] = [];
  const drop = async () => void (await Promise.all(added.splice(0).map((one) => one[Symbol.asyncDispose]())));
  const run = async ({ slots }: { readonly slots: Readonly<Record<string, unknown>> }) => {
    await screen.open(String(slots.app));
    return {};
  };
  const look = async (): Promise<void> => {
    const titled = (await all.list()).slice(0, MOST_APPS).map(({ id, title }) => ({ in: plain(title), out: id }));
    // Of two apps that are called the same neither can be meant.
    const values = titled.filter(({ in: title }) => title && titled.filter((one) => one.in === title).length === 1);
    const now = JSON.stringify(values);
    if (now === known || part.signal.aborted) return;
    known = now;
    await drop();
    if (values.length === 0) return;
    const slots = { apps: { kind: 'list' as const, values } };
    added = LANGUAGES.map(({ language, open }) =>
      intents.add({ id: idOf('open', language), language, ...open, slots }, run, OWNER),
    );
  };
  let looking: Promise<void> = Promise.resolve();
  const anew = (): Promise<void> => {
    looking = looking.then(look).catch((error: unknown) => {
      log.warn({ reason: reasonOf(error) }, 'apps cannot be opened by voice');
    });
    return looking;
  };
  part.defer('intents to open apps', async () => {
    await looking;
    await drop();
  });
  part.use(
    'apps',
    all.onChange(() => void anew()),
  );
  await anew();
}

/** A title as it can be said: words alone. What is left of braces and bars would be syntax of sentences. */
function plain(title: string): string {
  return title
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}' ]+/gu, ' ')
    .replaceAll(/ +/g, ' ')
    .trim();
}
