/** What the pages of the tree promise: each wing tells about its plugins, and each link leads somewhere. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import type { PluginManifest } from '@device-core/plugin-api';
import { treeManifests } from '@device-core/plugin-api/tree';
import { parse } from 'yaml';

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
