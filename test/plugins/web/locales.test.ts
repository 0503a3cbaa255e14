/** Strings of the page: each language has the same, with the same values in them, and the page uses each. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { WEEKDAYS } from '@device-core/plugin-api/services/alarms';
import type { PageAction, PageView } from '@device-core/plugin-api/services/operations';

const ROOT = join(import.meta.dirname, '../../..');
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
/** Pages that operations of the tree declare, each with the room of its strings. */
const views: readonly PageView[] = (
  await Promise.all(
    globSync(['plugins/*/*/{page,*-page}.ts', 'plugin-api/inside/*/page.ts'], { cwd: ROOT })
      .filter((file) => readFileSync(join(ROOT, file), 'utf8').includes(': PageView'))
      .map((file) => import(join(ROOT, file)) as Promise<Readonly<Record<string, PageView>>>),
  )
).flatMap((module) => Object.values(module));
/** Texts of a view. A bare column, a name of a field and a choice are keys, too; templates have their members in braces. */
function textsOf(view: PageView): readonly string[] {
  const texts: string[] = [];
  const members = new Set(['label', 'text', 'title', 'submit', 'hint', 'lead', 'heading', 'aside', 'empty', 'done']);
  const look = (value: unknown, member: string): void => {
    if (typeof value === 'string' && (members.has(member) || ['columns', 'notes'].includes(member))) texts.push(value);
    else if (member === 'choice') texts.push(...(value as readonly string[]));
    else if (member === 'groups') texts.push(...(value as readonly [string, object][]).map(([title]) => title));
    else if (member === 'fields')
      for (const { name, label, hint, options = [] } of value as NonNullable<PageAction['fields']>)
        texts.push(String(label ?? name), ...(hint ? [String(hint)] : []), ...options);
    else if (Array.isArray(value)) for (const one of value) look(one, member);
    else if (
      typeof value === 'object' &&
      value !== null &&
      !['only', 'unless', 'params', 'edit', 'levels'].includes(member)
    )
      for (const [name, one] of Object.entries(value)) look(one, name);
  };
  for (const [member, value] of Object.entries(view)) look(value, member);
  return texts;
}
const keys = views.flatMap((view) => textsOf(view).map((key) => ({ room: String(view.words), key })));
const words = new Set(sources.match(/\w[\w-]*/g));
/** `text(\`${act}Says\`)` uses every key that ends so, `text(\`is${state}\`)` every key that begins so. */
const ends = [...sources.matchAll(/\}(\w{2,})`/g)].map(([, end = '']) => end);
const begins = [...sources.matchAll(/`(\w[\w-]+)\$\{/g)].map(([, begin = '']) => begin);
const values = (text: string) => [...new Set(text.match(/\{[\w.:|]+\}/g))].sort();
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
  const ofViews = views.map(({ words: room }) => room).filter((room) => !named.includes(room));
  assert.deepEqual([...new Set([...named, ...ofViews])].sort(), Object.keys(en).sort());
});

test('each text of a page that an operation declares is a string of its room, or a template', () => {
  assert.ok(views.length >= 10);
  assert.deepEqual(
    keys.filter(({ room, key }) => en[room]?.[key] === undefined && !/^\{.*\}$|^–$/.test(key)),
    [],
  );
});

test('the page uses each string', () => {
  const declared = new Set(keys.map(({ key }) => key));
  /** Values that a template shows as words, `{days.0:word}`. */
  const values = JSON.stringify(views).includes(':word}') ? WEEKDAYS : [];
  const used = (key: string) =>
    words.has(key) ||
    values.some((value) => value === key) ||
    declared.has(key) ||
    ends.some((end) => key.endsWith(end)) ||
    begins.some((begin) => key.startsWith(begin));
  assert.deepEqual(
    flat(en)
      .filter(({ key }) => !used(key))
      .map(({ room, key }) => `${room} ${key}`),
    [],
  );
});
