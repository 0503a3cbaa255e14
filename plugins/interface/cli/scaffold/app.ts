/** A new app: the files that it begins with, by language. */
import { readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { usage } from '@device-core/plugin-api/program';
import { LIBRARY } from './app-library.ts';

const TEMPLATES = fileURLToPath(new URL('../app-templates/', import.meta.url));
const CLIENTS = join(dirname(fileURLToPath(import.meta.resolve('@device-core/plugin-api'))), 'app');
/** As manifests/schema/app.json has it. */
const ID = /^[A-Za-z][A-Za-z0-9-]*(\.[A-Za-z0-9][A-Za-z0-9_-]*){1,7}$/;
const NAME = /^[a-z][a-z0-9-]{0,39}$/;

interface Language {
  readonly exec: (name: string) => string;
  readonly test: string;
  /** Purpose of each file, for the README. */
  readonly files: readonly (readonly [name: string, purpose: string])[];
}

export const LANGUAGES = {
  node: {
    exec: () => '{ command: node, args: [main.js] }',
    test: 'node --test',
    files: [
      ['main.js', 'connects to the Core and offers the functions'],
      ['greeting.js', 'is what the app knows; `greeting.test.js` tests it'],
      ['device-core-app-*.tgz', 'is the client library; package.json names it, and `npm install` unpacks it'],
    ],
  },
  python: {
    exec: () => '{ command: python3, args: [main.py] }',
    test: 'python3 -m unittest',
    files: [
      ['main.py', 'connects to the Core and offers the functions'],
      ['greeting.py', 'is what the app knows; `test_greeting.py` tests it'],
      ['device_app.py', 'is the client library, one file'],
    ],
  },
  static: {
    exec: (name: string) => `{ command: bin/${name} }`,
    test: 'make test',
    files: [
      ['main.c', 'speaks to the Core; `make` builds it'],
      ['json.c', 'reads and writes JSON'],
      ['greeting.c', 'is what the app knows; `test_greeting.c` tests it'],
    ],
  },
} as const satisfies Record<string, Language>;

const MANIFEST = ['app.yaml', 'says what it is, what it needs and which functions it offers'] as const;

export type AppLanguage = keyof typeof LANGUAGES;
export const LANGUAGE_NAMES = Object.keys(LANGUAGES) as readonly AppLanguage[];

/** The forms in which an app's id stands in its files. */
export class AppNames {
  readonly id: string;
  /** `my-agenda`: its last word. */
  readonly name: string;
  /** `myAgenda`: the first part of the names of its functions. */
  readonly camel: string;
  readonly title: string;

  private constructor(id: string, name: string) {
    const words = name.split('-').filter((word) => word !== '');
    const upper = words.map((word) => word[0]!.toUpperCase() + word.slice(1));
    this.id = id;
    this.name = name;
    this.camel = [words[0], ...upper.slice(1)].join('');
    this.title = upper.join(' ');
  }

  /** Throws a Failure for an id that the Core would refuse. */
  static of(id: string): AppNames {
    if (!ID.test(id) || id.length > 100)
      throw usage(`"${id}" is not an app id: words in reverse domain order, as com.example.agenda`);
    const name = id.split('.').at(-1)!.toLowerCase().replaceAll('_', '-');
    if (!NAME.test(name))
      throw usage(`"${name}" cannot be the name of an app: 1 to 40 small letters, digits and "-", the first a letter`);
    return new AppNames(id, name);
  }

  fill(text: string): string {
    return text
      .replaceAll('com.example.app-id', this.id)
      .replaceAll('app-id', this.name)
      .replaceAll('appId', this.camel)
      .replaceAll('App Title', this.title);
  }
}

/** Paths -> texts. The library for Node is no text: it comes extra, and package.json with it. */
export async function appFiles(
  names: AppNames,
  language: AppLanguage,
  voice: boolean,
): Promise<Readonly<Record<string, string>>> {
  const { exec, test, files } = LANGUAGES[language];
  const purposes = [MANIFEST, ...files].map(([name, purpose]) => `- \`${name}\` ${purpose}.`).join('\n');
  const made: Record<string, string> = {};
  for (const folder of ['common', language]) {
    for (const name of (await readdir(join(TEMPLATES, folder))).sort()) {
      const text = (await readFile(join(TEMPLATES, folder, name), 'utf8'))
        .replace('RUNTIME', language)
        .replace('EXEC', exec(names.name))
        .replace('FILES', purposes)
        .replace('TEST\n', `${test}\n`);
      made[name === 'gitignore' ? '.gitignore' : name] = names.fill(chosen(text, voice));
    }
  }
  if (language === 'node') made['.gitignore'] += 'node_modules/\n';
  if (language === 'static') made['.gitignore'] += 'bin/\n';
  if (language === 'python') made['device_app.py'] = await readFile(join(CLIENTS, 'device_app.py'), 'utf8');
  return made;
}

/** Lines that are marked are there with voice, or without it; what is spoken is there with voice only. */
function chosen(written: string, voice: boolean): string {
  const text = voice ? written : written.replace(/, "?say"?: text/g, '');
  const [kept, gone] = voice ? ['voice', 'silent'] : ['silent', 'voice'];
  const mark = (word: string) => `(?:#|//|/\\*)${word}(?:\\*/)?`;
  return text.replace(new RegExp(`^.*${mark(gone)}\n`, 'gm'), '').replace(new RegExp(` ${mark(kept)}$`, 'gm'), '');
}

/** `library` is the file of the client library in the folder of the app: without a dependency on it npm would remove what is unpacked. */
export function packageJson({ name, title }: AppNames, library: string): string {
  const members = {
    name,
    version: '0.1.0',
    private: true,
    description: title,
    type: 'module',
    engines: { node: '>=24' },
    scripts: { test: 'node --test', check: 'devicectl app check .' },
    dependencies: { [LIBRARY]: `file:./${library}` },
  };
  return `${JSON.stringify(members, null, 2)}\n`;
}
