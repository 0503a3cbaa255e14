/** Results as a person reads them, made from schema and view alone. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { CliView, JsonSchema } from '@device-core/plugin-api/services/operations';
import { FakeCore } from './fake-core.ts';
import { devicectl } from './run-devicectl.ts';
import { smallTable, TEXT } from './small-table.ts';

interface Case {
  readonly what: string;
  readonly answer: object;
  readonly result?: Readonly<Record<string, JsonSchema>>;
  readonly cli?: CliView;
  readonly prints: string;
}

const ITEMS = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({
  type: 'array',
  items: { type: 'object', properties },
});
const AT: JsonSchema = { type: 'integer', description: 'milliseconds since the Unix epoch' };
const BYTES: JsonSchema = { ...TEXT, contentEncoding: 'base64' };

const CASES: readonly Case[] = [
  { what: 'nothing', answer: {}, prints: 'done' },
  { what: 'a value', answer: { value: 7 }, prints: '7' },
  { what: 'text of several lines', answer: { text: 'a\nb\u001b[31m\n' }, prints: 'a\nb\\x1b[31m' },
  { what: 'an empty list', answer: { things: [] }, prints: 'none' },
  {
    what: 'an empty list with a word for it',
    answer: { things: [] },
    cli: { empty: 'no things' },
    prints: 'no things',
  },
  {
    what: 'a list: simple members first, numbers at the right, what is empty left out',
    answer: {
      things: [
        { of: { a: 1, b: [1, 2] }, id: 'x', n: 5 },
        { id: 'longer', n: 1234, gone: [] },
      ],
    },
    result: { things: ITEMS({ id: TEXT, of: { type: 'object' }, n: { type: 'integer' }, gone: { type: 'array' } }) },
    prints: 'ID         N  OF\nx          5  a 1, b [1, 2]\nlonger  1234',
  },
  {
    what: 'chosen columns with templates',
    answer: {
      things: [
        { id: 'x', a: { b: 1 }, on: true },
        { id: 'y', c: 'z' },
      ],
    },
    cli: { columns: [['WHAT', '{id}'], ['WHERE', '{a.b|c}'], ['BOTH', '{id} at {a.b}'], 'on'] },
    prints: 'WHAT  WHERE  BOTH    ON\nx     1      x at 1  yes\ny     z      y at',
  },
  {
    what: 'a list with more beside it',
    answer: { things: [{ id: 'x' }], total: 1, others: [{ name: 'n' }], none: [] },
    prints: 'ID\nx\n\ntotal  1\n\nOTHERS\nNAME\nn',
  },
  {
    what: 'an empty list beside something else',
    answer: { total: 0, things: [], of: 'x' },
    prints: 'total  0\nof     x',
  },
  {
    what: 'an empty list beside something else, with a word for it',
    answer: { things: [], total: 0 },
    cli: { empty: 'no things' },
    prints: 'no things\n\ntotal  0',
  },
  { what: 'a thing', answer: { id: 'x', tags: ['a', 'b'], on: false }, prints: 'id    x\ntags  a, b\non    no' },
  { what: 'a thing in a thing', answer: { thing: { id: 'x', n: 1 } }, prints: 'id  x\nn   1' },
  {
    what: 'a thing with a list',
    answer: { thing: { id: 'x', denied: [{ what: 'a', hint: 'b' }] } },
    prints: 'id  x\n\nDENIED\nWHAT  HINT\na     b',
  },
  { what: 'a time that never was', answer: { id: 'x', at: 0 }, result: { at: AT }, prints: 'id  x\nat  -' },
  { what: 'members that are hidden', answer: { id: 'x', n: 1 }, cli: { hide: ['n'] }, prints: 'x' },
  { what: 'one member of a thing', answer: { id: 'x', n: 1 }, cli: { columns: ['n'] }, prints: '1' },
  {
    what: 'a sentence',
    answer: { n: 1 },
    cli: { done: ['{gone} is not there', '{n:count} {n} {n:ms}', 'never'] },
    prints: '0 1 1 ms',
  },
  { what: 'bytes', answer: { image: 'AEE=' }, result: { image: BYTES }, prints: `0000  00 41${' '.repeat(44)}.A` },
  { what: 'no bytes', answer: { image: '', lost: 0 }, result: { image: BYTES }, prints: 'done, nothing read' },
  {
    what: 'bytes with something to say beside them',
    answer: { image: 'AEE=', lost: 2 },
    result: { image: BYTES },
    prints: `0000  00 41${' '.repeat(44)}.A\nlost  2`,
  },
  {
    what: 'many bytes',
    answer: { image: Buffer.alloc(5000).toString('base64') },
    result: { image: BYTES },
    prints: '5000 bytes; --out <file> keeps them',
  },
];

describe('a result is shown', () => {
  let core: FakeCore;
  before(async () => {
    const rows = CASES.map(({ result = {}, cli }, at) => [
      `thing.case${at}`,
      { rest: `GET /case/${at}`, result, ...(cli && { cli }) } as const,
    ]);
    const answers = CASES.map(({ answer }, at) => [`GET /case/${at}`, { ok: true, ...answer }]);
    const wide = { rest: 'GET /wide', result: { rows: ITEMS({ id: TEXT, text: TEXT }) } } as const;
    core = await FakeCore.start({
      'GET /openrpc.json': smallTable({ ...Object.fromEntries(rows), 'thing.wide': wide }),
      ...Object.fromEntries(answers),
      'GET /wide': { ok: true, rows: [{ id: 'an-identifier', text: 'words '.repeat(40), state: 'active', n: 12 }] },
    });
  });
  after(() => core[Symbol.asyncDispose]());

  for (const [at, { what, prints }] of CASES.entries())
    test(what, async () => {
      const { stdout, stderr } = await devicectl(['thing', `case${at}`, '--run', core.root]);
      assert.deepEqual([stdout, stderr], [`${prints}\n`, '']);
    });

  for (const columns of [20, 40, 80])
    test(`a table fits ${columns} columns, and a cut cell ends with an ellipsis`, async () => {
      const { stdout } = await devicectl(['thing', 'wide', '--run', core.root], columns);
      const lines = stdout.trimEnd().split('\n');
      for (const line of lines) assert.ok(line.length <= columns, `${line.length}: ${line}`);
      // Columns that cannot become any narrower give way, and are named.
      assert.equal(/^no room for /.test(lines.at(-1)!), columns === 20);
      assert.match(lines[1]!, /…/);
    });

  test('without a terminal nothing is cut', async () => {
    const { stdout } = await devicectl(['thing', 'wide', '--run', core.root]);
    assert.ok(stdout.includes('words '.repeat(40).trimEnd()));
  });

  test('the bytes of an answer go into a file', async () => {
    const at = CASES.findIndex(({ what }) => what === 'bytes with something to say beside them');
    const file = join(core.root, 'image');
    const { stdout } = await devicectl(['thing', `case${at}`, '--out', file, '--run', core.root]);
    assert.equal(stdout, `${file}: 2 bytes\n`);
    assert.deepEqual([...(await readFile(file))], [0, 0x41]);
    const lost = await devicectl(['thing', `case${at}`, '--out', '/no/folder/x', '--run', core.root]);
    assert.deepEqual([lost.code, lost.stderr], [2, 'devicectl: USAGE: cannot write /no/folder/x: ENOENT\n']);
  });
});
