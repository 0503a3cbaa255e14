/** Strings of the page: each language has the same, with the same values in them, and the page uses each. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';

const UI = join(import.meta.dirname, '../../../plugins/interface/web/ui');
const read = (file: string): string => readFileSync(join(UI, file), 'utf8');
type Rooms = Readonly<Record<string, Readonly<Record<string, string>>>>;
const roomsOf = (language: string): Rooms => ({
  ...JSON.parse(read(`locales/${language}.json`)),
  ...JSON.parse(read(`locales/pages/${language}.json`)),
});
const en = roomsOf('en');
const files = globSync('**/*.ts', { cwd: UI });
const sources = files.map(read).join('\n');
const words = new Set(sources.match(/\w[\w-]*/g));
/** `text(\`${act}Says\`)` uses every key that ends so, `text(\`is${state}\`)` every key that begins so. */
const ends = [...sources.matchAll(/\}(\w{2,})`/g)].map(([, end = '']) => end);
const begins = [...sources.matchAll(/`(\w[\w-]+)\$\{/g)].map(([, begin = '']) => begin);
const values = (text: string) => [...new Set(text.match(/\{\w+\}/g))].sort();
const flat = (rooms: Rooms) =>
  Object.entries(rooms).flatMap(([room, texts]) => Object.entries(texts).map(([key, text]) => ({ room, key, text })));

describe('each language has the strings of English, with the same values in them', () => {
  for (const language of ['de', 'fr'])
    test(language, () => {
      const other = roomsOf(language);
      const said = (rooms: Rooms) => flat(rooms).map(({ room, key, text }) => `${room} ${key} ${values(text)}`);
      assert.deepEqual(said(other).sort(), said(en).sort());
      assert.deepEqual(
        flat(other).filter(({ text }) => text === ''),
        [],
      );
    });
});

test('each room of strings is a catalogue of one file, and each catalogue has a room', () => {
  const named = [...sources.matchAll(/\bcatalogue\('([^']+)'\)/g)].map(([, room]) => room);
  assert.deepEqual(named.sort(), Object.keys(en).sort());
});

test('the page uses each string', () => {
  const used = (key: string) =>
    words.has(key) || ends.some((end) => key.endsWith(end)) || begins.some((begin) => key.startsWith(begin));
  assert.deepEqual(
    flat(en)
      .filter(({ key }) => !used(key))
      .map(({ room, key }) => `${room} ${key}`),
    [],
  );
});
