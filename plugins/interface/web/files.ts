/**
 * The files of the page: TypeScript as it is in the tree with its types taken off, libraries from their packages,
 * nothing from elsewhere.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { PageAnswer, PageRequest } from '@device-core/plugin-api/inside/services/http-server';
import { withoutTypes } from './strip.ts';
import { themeSheet } from './theme-sheet.ts';

const UI = fileURLToPath(new URL('./ui/', import.meta.url));
/** Specifier -> package, and the file in it that a browser takes. */
const LIBRARIES: Readonly<Record<string, readonly [name: string, file: string]>> = {
  preact: ['preact', 'dist/preact.mjs'],
  'preact/hooks': ['preact', 'hooks/dist/hooks.mjs'],
  htm: ['htm', 'dist/htm.mjs'],
  'htm/preact': ['htm', 'preact/index.mjs'],
  '@preact/signals-core': ['@preact/signals-core', 'dist/signals-core.mjs'],
  '@preact/signals': ['@preact/signals', 'dist/signals.mjs'],
};
/** Modules of plugin-api that browsers run, too: they import nothing. */
const API = '@device-core/plugin-api/';
const SHARED: ReadonlySet<string> = new Set([
  'kits/characters',
  'inside/command-words',
  'inside/consent-choice',
  'inside/consent-words',
  'inside/schema-reader',
]);
const TYPES: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  ts: 'text/javascript; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  json: 'application/json',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  webmanifest: 'application/manifest+json',
  woff2: 'font/woff2',
};
const NAME = /^(?:(?:[a-z0-9-]+\/)*[a-z0-9-]+\.(?:ts|css|svg|webmanifest)|locales\/(?:pages\/)?[a-z]{2}\.json)$/;
const packages = createRequire(import.meta.url);

interface File {
  readonly type: string;
  readonly body: Uint8Array;
  readonly etag: string;
}

export class PageFiles {
  readonly #prefix: string;
  /** Files by their path, once requested; a development machine reads a changed file anew. */
  readonly #kept = new Map<string, File & { readonly source: string }>();
  #index: Promise<{ readonly file: File; readonly headers: Readonly<Record<string, string>> }> | undefined;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  async answer({ path, ifNoneMatch }: PageRequest): Promise<PageAnswer> {
    this.#index ??= this.#makeIndex().catch((thrown: unknown) => {
      this.#index = undefined; // a disk that is well again is asked again
      throw thrown;
    });
    const { file: index, headers } = await this.#index;
    const file = path === '' || path === 'index.html' ? index : await this.#file(path);
    if (file === undefined)
      return { status: 404, type: 'text/plain', body: Buffer.from('there is no such file'), headers };
    const own = { ...headers, etag: file.etag, 'cache-control': 'no-cache' };
    if (ifNoneMatch === file.etag) return { status: 304, type: file.type, body: new Uint8Array(), headers: own };
    return { status: 200, type: file.type, body: file.body, headers: own };
  }

  async #file(path: string): Promise<File | undefined> {
    const name = path.startsWith('lib/') ? path.slice(4).replace(/\.js$/, '') : '';
    const library = Object.hasOwn(LIBRARIES, name) ? LIBRARIES[name] : undefined;
    if (library !== undefined) return this.#read(path, folderOf(library[0], library[1]), 'js');
    if (SHARED.has(name)) {
      const module = fileURLToPath(import.meta.resolve(`${API}${name}`));
      return this.#read(path, module, module.split('.').at(-1)!);
    }
    if (path === 'theme.css') return this.#kept.get(path) ?? this.#keep(path, 'css', Buffer.from(themeSheet()), '');
    if (path === 'font/400.woff2' || path === 'font/700.woff2')
      return this.#read(
        path,
        folderOf('@fontsource/inter', `files/inter-latin-${path.slice(5, 8)}-normal.woff2`),
        'woff2',
      );
    if (!NAME.test(path)) return undefined;
    return this.#read(path, join(UI, path), path.split('.').at(-1)!);
  }

  async #read(path: string, from: string, kind: string): Promise<File | undefined> {
    const body = await readFile(from).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT' || error.code === 'EISDIR') return undefined;
      throw error;
    });
    if (body === undefined) return undefined;
    const source = hashOf(body);
    const known = this.#kept.get(path);
    if (known?.source === source) return known;
    const made = kind === 'ts' ? Buffer.from(withoutTypes(body.toString('utf8'))) : body;
    return this.#keep(path, kind, made, source);
  }

  #keep(path: string, kind: string, body: Uint8Array, source: string): File {
    const type = TYPES[kind] ?? 'application/octet-stream';
    const file = { type, body, etag: `"${hashOf(body).slice(0, 27)}"`, source };
    this.#kept.set(path, file);
    return file;
  }

  async #makeIndex() {
    const place = (name: string) => `${this.#prefix}lib/${name}.js`;
    const imports = Object.fromEntries([
      ...Object.keys(LIBRARIES).map((name) => [name, place(name)]),
      ...[...SHARED].map((name) => [`${API}${name}`, place(name)]),
    ]);
    const map = JSON.stringify({ imports });
    const text = (await readFile(join(UI, 'index.html'), 'utf8'))
      .replaceAll('{{prefix}}', this.#prefix)
      .replace(/\s*"{{pages}}"\s*/, JSON.stringify(await pages()))
      .replace(/\s*"{{imports}}"\s*/, map);
    const body = Buffer.from(text);
    const script = createHash('sha256').update(map).digest('base64');
    const headers = {
      'content-security-policy': [
        `default-src 'none'; script-src 'self' 'sha256-${script}'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; connect-src 'self'`,
        `media-src 'self' blob:; manifest-src 'self'; worker-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
        `require-trusted-types-for 'script'; trusted-types 'none'`,
      ].join('; '),
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'permissions-policy': 'microphone=(self), camera=(), geolocation=()',
    };
    return { file: { type: TYPES.html!, body, etag: `"${hashOf(body).slice(0, 27)}"` }, headers };
  }
}

/** A page registers itself by the file page.json in its folder; the menu has them by `place`. */
async function pages(): Promise<readonly object[]> {
  const folder = join(UI, 'pages');
  const read = async (id: string) => ({ id, ...JSON.parse(await readFile(join(folder, id, 'page.json'), 'utf8')) });
  const rows: readonly { readonly place: number }[] = await Promise.all((await readdir(folder)).map(read));
  return rows.toSorted((a, b) => a.place - b.place);
}

/** Packages hide their package.json behind `exports`; the folder is where their main file is, upwards. */
function folderOf(name: string, file: string): string {
  const marker = join('node_modules', name);
  const found = packages.resolve.paths(name)?.map((folder) => join(dirname(folder), marker));
  for (const folder of found ?? []) {
    try {
      return packages.resolve(join(folder, file));
    } catch {
      // It lies in a folder above.
    }
  }
  throw new Error(`package ${name} is not installed`);
}

const hashOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('base64url');
