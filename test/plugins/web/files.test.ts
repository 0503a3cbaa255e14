/** The files of the page: what a browser gets, and what it is told not to do. */
import assert from 'node:assert/strict';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { PageFiles } from '../../../plugins/interface/web/files.ts';

after(leakCheck());

const UI = join(import.meta.dirname, '../../../plugins/interface/web/ui');
const files = new PageFiles('/ui/');
const text = async (path: string) => Buffer.from((await files.answer({ path })).body).toString('utf8');

interface Row {
  readonly id: string;
  readonly section: string;
  readonly icon: string;
  readonly place: number;
  readonly needs?: string;
  readonly hidden?: boolean;
  readonly entries?: boolean;
  readonly view?: string;
}
const pagesOf = (index: string): readonly Row[] => JSON.parse(/id="pages">([^<]*)</.exec(index)![1]!);

test('every module of the page comes without types, with lines and columns where they were', async () => {
  for (const path of globSync('**/*.ts', { cwd: UI })) {
    const answer = await files.answer({ path });
    assert.equal(answer.status, 200, path);
    assert.equal(answer.type, 'text/javascript; charset=utf-8');
    assert.doesNotMatch(Buffer.from(answer.body).toString(), /^(?:export )?interface /m, path);
  }
});

test('all files that the start page and its modules name are there', async () => {
  const seen = new Set<string>();
  const look = async (path: string): Promise<void> => {
    if (seen.has(path)) return;
    seen.add(path);
    const answer = await files.answer({ path });
    assert.equal(answer.status, 200, path);
    if (!path.endsWith('.ts')) return;
    const source = Buffer.from(answer.body).toString();
    for (const [, name = ''] of source.matchAll(/(?:\bfrom|^import|\bimport\()\s*'([^'\\]+)'/gm))
      await look(name.startsWith('.') ? join(path, '..', name) : (imports[name] ?? name).slice('/ui/'.length));
  };
  const index = await text('');
  const { imports } = JSON.parse(/type="importmap">([^<]*)</.exec(index)![1]!);
  for (const [, path = ''] of index.matchAll(/(?:src|href)="\/ui\/([^"]*)"/g)) await look(path);
  for (const { id, entries, view } of pagesOf(index)) {
    await look(view === undefined ? `pages/${id}/page.ts` : 'view/page.ts');
    if (entries) await look(`pages/${id}/entries.ts`);
  }
  assert.ok(seen.has('main.ts') && seen.has('lib/preact.js'), [...seen].join(' '));
  assert.doesNotMatch(await text('lib/inside/schema-reader.js'), /^export (?:type|interface) /m);
  assert.doesNotMatch(index, /https?:/);
});

describe('a page registers itself by its page.json', async () => {
  const rows = pagesOf(await text(''));
  const titles = ['en', 'de', 'fr'].map(
    (one) => JSON.parse(readFileSync(join(UI, `locales/${one}.json`), 'utf8')).shell,
  );
  const icons = readFileSync(join(UI, 'parts/icon.ts'), 'utf8');

  test('each folder of a page has one, and each has a place in the menu that no other has', () => {
    assert.deepEqual(rows.map(({ id }) => id).sort(), readdirSync(join(UI, 'pages')).sort());
    assert.equal(new Set(rows.map(({ place }) => place)).size, rows.length);
    assert.deepEqual(
      rows.map(({ place }) => place),
      rows.map(({ place }) => place).sort((a, b) => a - b),
    );
  });
  for (const row of rows)
    test(row.id, () => {
      const { id, section, icon, entries, hidden, needs, place, view, ...others } = row;
      assert.ok(['device', 'build', 'admin'].includes(section));
      assert.match(icons, new RegExp(`^  ${icon}:`, 'm'));
      assert.ok(
        titles.every((title) => title[id] !== undefined),
        'a title in each language',
      );
      assert.equal(entries === true, existsSync(join(UI, `pages/${id}/entries.ts`)));
      assert.notEqual(existsSync(join(UI, `pages/${id}/page.ts`)), view !== undefined, 'a page.ts, or a view');
      assert.ok(Number.isInteger(place));
      assert.ok(hidden === undefined || hidden === true);
      assert.match(needs ?? '/', /^\//);
      assert.deepEqual(others, {});
    });
});

test('a browser may run what comes from here alone, and show the page in no frame', async () => {
  const { headers = {} } = await files.answer({ path: '' });
  const policy = headers['content-security-policy'] ?? '';
  for (const rule of ["default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'", "base-uri 'none'"])
    assert.ok(policy.includes(rule), rule);
  assert.doesNotMatch(policy, /unsafe|https?:|\*/);
  assert.equal(headers['x-content-type-options'], 'nosniff');
  assert.deepEqual((await files.answer({ path: 'main.ts' })).headers?.['content-security-policy'], policy);
});

test('a file that is known already is not sent again', async () => {
  const first = await files.answer({ path: 'main.ts' });
  const again = await files.answer({ path: 'main.ts', ifNoneMatch: first.headers?.etag ?? '' });
  assert.deepEqual([again.status, again.body.length], [304, 0]);
});

describe('there is no file', () => {
  for (const path of [
    '../index.ts',
    'tsconfig.json',
    'main.ts/',
    'lib/ws.js',
    'lib/constructor.js',
    'lib/__proto__.js',
    'lib/../main.ts',
    '.hidden',
    'core',
    'font/900.woff2',
  ])
    test(`at ${path}`, async () => assert.equal((await files.answer({ path })).status, 404));
});
