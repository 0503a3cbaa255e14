/** What the pages of the tree promise: each wing tells about its plugins, and each link leads somewhere. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { ERROR_CODES, type PluginManifest } from '@device-core/plugin-api';
import { treeManifests } from '@device-core/plugin-api/inside/tree';
import { parse } from 'yaml';
import { HEALTH_CODES } from '../../plugin-api/inside/health-codes.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');

describe('the README of a wing names each plugin and each service of it', () => {
  const wings = Map.groupBy(treeManifests(ROOT).values(), (file) => file.split('/').at(-2)!);
  for (const [wing, files] of wings)
    test(wing, () => {
      const readme = read(`plugins/${wing}/README.md`);
      const manifests = files.map((file) => parse(readFileSync(file, 'utf8')) as PluginManifest);
      const names = manifests.flatMap(({ id, provides }) => [id, ...Object.keys(provides ?? {})]);
      assert.deepEqual(
        names.filter((name) => !readme.includes(`\`${name}\``)),
        [],
      );
      assert.ok(readme.split('\n').length <= 20, 'ten lines are meant');
    });
});

describe('links lead somewhere', () => {
  for (const file of ['README.md', ...globSync('{docs,plugins,plugin-api,kernel}/**/*.md', { cwd: ROOT })])
    if (!file.includes('node_modules'))
      test(file, () => {
        assert.deepEqual(
          linksOf(read(file)).filter((link) => !leads(file, link)),
          [],
        );
      });
});

function linksOf(markdown: string): readonly string[] {
  const prose = markdown.replace(/^```[\s\S]*?^```/gm, '');
  return [...prose.matchAll(/\]\((?!https?:)([^)\s]+)\)/g)].map((match) => match[1]!);
}

function leads(from: string, link: string): boolean {
  const [path, anchor] = link.split('#') as [string, string | undefined];
  const target = path === '' ? from : join(dirname(from), path);
  if (!existsSync(join(ROOT, target))) return false;
  return anchor === undefined || anchorsOf(target).has(anchor);
}

const known = new Map<string, ReadonlySet<string>>();

function anchorsOf(file: string): ReadonlySet<string> {
  let anchors = known.get(file);
  if (!anchors) {
    const markdown = read(file);
    const headings = [...markdown.matchAll(/^#+ (.+)$/gm)].map((match) =>
      match[1]!
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replaceAll(' ', '-'),
    );
    const named = [...markdown.matchAll(/<a id="([^"]+)">/g)].map((match) => match[1]!);
    anchors = new Set([...headings, ...named]);
    known.set(file, anchors);
  }
  return anchors;
}

test('every operation of the REST reference has a request and its answer', () => {
  const pages = globSync('docs/reference/rest/*.md', { cwd: ROOT }).map(read);
  assert.ok(pages.length > 0);
  assert.deepEqual(
    pages.flatMap((page) => page.match(/^No example is recorded .*$/gm) ?? []),
    [],
  );
});

test('docs/architecture.md names rooms and files that are there', () => {
  const named = [...read('docs/architecture.md').matchAll(/`([a-z-]+\/[\w./-]*)`/g)].map(([, path = '']) => path);
  assert.ok(named.length > 20);
  assert.deepEqual(
    named.filter((path) => !existsSync(join(ROOT, path))),
    [],
  );
});

describe('docs/guides/troubleshooting.md', () => {
  const rows = read('docs/guides/troubleshooting.md')
    .split('\n')
    .filter((line) => /^\| (?!you see|-)/.test(line))
    .map((line) => line.split('|')[1]!);
  const sources = globSync('{kernel,plugins,plugin-api}/**/*.ts', { cwd: ROOT })
    .filter((file) => !/node_modules|\/dist\//.test(file))
    .map(read)
    .join('\n');

  test('codes are those of the table, of the bridge or of the system', () => {
    const codes = rows.flatMap((row) => [...row.matchAll(/`([A-Z][A-Z0-9_]+)`/g)].map(([, code = '']) => code));
    assert.ok(codes.length > 40);
    // What the bridge says stands in the protocol, what the system says in Node.
    const others = new Set(read('docs/cbp.md').match(/\b[A-Z][A-Z0-9_]+\b/g));
    const known = (code: string) =>
      code in ERROR_CODES || code in HEALTH_CODES || others.has(code) || code in constants.errno;
    assert.deepEqual(
      codes.filter((code) => !known(code)),
      [],
    );
  });

  test('every code that a person may see has a row', () => {
    const told = rows.join('\n');
    assert.deepEqual(
      [...Object.keys(ERROR_CODES), ...Object.keys(HEALTH_CODES)].filter((code) => !told.includes(`\`${code}\``)),
      [],
    );
  });

  test('messages are those of the code', () => {
    const quoted = rows.flatMap((row) => [...row.matchAll(/"([^"]+)"/g)].map(([, text = '']) => text));
    assert.ok(quoted.length > 8);
    const stands = (text: string) =>
      text.split('...').every((part) => sources.includes(part.trim().replace(/\)$/, '')));
    assert.deepEqual(
      quoted.filter((text) => !stands(text)),
      [],
    );
  });
});

describe('codes of health', () => {
  // A literal in a warning, in the state of a component, or in a state that a component repeats.
  const MADE = [
    /\bwarn\(\s*'([A-Z][A-Z0-9_]*)'/g,
    /\bcode: '([A-Z][A-Z0-9_]+)'/g,
    /#warn\(\s*\w+,\s*'([A-Z][A-Z0-9_]*)'/g,
    /\bcode: \{ enum: \['([A-Z]+)'/g,
  ];
  /** In files that tell of health, any literal in the form of a code; `S16_LE` is a format of sound. */
  const TELLS = /HealthReport|health\.collect|ComponentHealth|VaultState/;
  const FORM = /'((?!S16_LE)[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)'/g;
  const made = new Set(
    globSync('{kernel,plugins,plugin-api}/**/*.ts', { cwd: ROOT })
      .filter((file) => !/node_modules|\/dist\/|\.test\.ts$|\/templates\/|^plugins\/interface\/web\/ui\//.test(file))
      .map(read)
      .flatMap((text) => [...MADE, ...(TELLS.test(text) ? [FORM] : [])].flatMap((form) => [...text.matchAll(form)]))
      .map(([, code = '']) => code),
  );

  test('each code in the sources has a meaning, and each meaning a code in the sources', () => {
    assert.ok(made.size > 60);
    const known = (code: string) => code in ERROR_CODES || code in HEALTH_CODES;
    assert.deepEqual(
      [...made].filter((code) => !known(code)),
      [],
    );
    assert.deepEqual(
      Object.keys(HEALTH_CODES).filter((code) => !made.has(code) || code in ERROR_CODES),
      [],
    );
  });

  test('docs/reference/errors.md has each of them once, and each error', () => {
    const anchors = [...read('docs/reference/errors.md').matchAll(/<a id="([A-Z0-9_]+)">/g)].map(([, code]) => code);
    assert.deepEqual(anchors.sort(), [...Object.keys(ERROR_CODES), ...Object.keys(HEALTH_CODES)].sort());
  });
});
