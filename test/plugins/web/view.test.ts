/** Templates of pages that are data: the members they name, the formats, and values of a stranger. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { ANY_CHARACTER } from '../../fixtures/any-text.ts';
import { runs } from '../../fixtures/runs.ts';
import { pageGlobals } from './page-globals.ts';

pageGlobals();
const { pagesText } = await import('../../../plugins/interface/web/ui/core/text.ts');
const { fill, memberOf, piecesOf, soleMember } = await import('../../../plugins/interface/web/ui/view/template.ts');
await pagesText();

const ROW = {
  name: 'tea',
  zero: 0,
  empty: '',
  none: null,
  deep: { part: { n: 1_234.5 } },
  list: ['a', 'b'],
  bytes: 64_000,
  pairs: { engine: 'sherpa', n: 3 },
  state: 'failed',
  owner: 'plugin.mail',
  cruel: '\u001b[31mred\u001b[0m \u202e',
};

describe('a template', () => {
  for (const [template, said, room] of [
    ['as it stands', 'as it stands'],
    ['{name} of {deep.part.n}', 'tea of 1,234.5'],
    ['{zero}', '0'],
    ['{missing|name}', 'tea'],
    ['{empty|none|name}', 'tea'],
    ['{list.1}', 'b'],
    ['{list:count}', '2'],
    ['{deep.part.n:ms}', '1,234.5 ms'],
    ['{bytes:bytes}', '64 kB'],
    ['{pairs:list}', 'engine: sherpa, n: 3'],
    ['{pairs:json}', '{"engine":"sherpa","n":3}'],
    ['{name:if}there', 'there'],
    ['{state:word}', 'failed'],
    ['{owner:word}', 'from plugin mail', 'pages/flags'],
    ['{owner:word}', 'plugin.mail', 'pages/traces'],
    ['{cruel}', 'red \\u202e'],
    ['{missing}', undefined],
    ['{name} {none}', undefined],
    ['{empty}', undefined],
    ['{constructor}', undefined],
    ['{deep.__proto__}', undefined],
    ['{name.length}', undefined],
  ] as const)
    test(`${template} ${room ?? ''} is ${said ?? 'nothing'}`, () => assert.equal(fill(template, ROW, room), said));

  test('of one member says which, for the order of a list', () => {
    assert.deepEqual(soleMember('{deep.part.n:ms}'), { path: 'deep.part.n', format: 'ms' });
    assert.deepEqual(soleMember('{name}'), { path: 'name', format: undefined });
    assert.deepEqual(['{a|b}', '{a} ', 'a'].map(soleMember), [undefined, undefined, undefined]);
  });

  test('of any form, over any value, is text or nothing', () => {
    const format = fc.constantFrom(
      '',
      ':ago',
      ':when',
      ':time',
      ':ms',
      ':bytes',
      ':json',
      ':count',
      ':list',
      ':word',
      ':x',
    );
    const field = fc
      .tuple(fc.constantFrom('a', 'b', 'a.b', 'b|a', '__proto__'), format)
      .map(([path, of]) => `{${path}${of}}`);
    const template = fc.array(fc.oneof(field, fc.string({ unit: ANY_CHARACTER })), { maxLength: 4 });
    const scope = fc.record({ a: fc.anything(), b: fc.oneof(fc.double(), fc.string(), fc.bigInt(), fc.anything()) });
    fc.assert(
      fc.property(template, scope, (parts, value) => {
        const json = jsonOf(value);
        const pieces = piecesOf(parts.join(''), json, 'pages/traces');
        assert.ok(pieces === undefined || pieces.every(({ text }) => typeof text === 'string'));
      }),
      { numRuns: runs(500) },
    );
  });

  test('finds own members alone', () => {
    assert.equal(memberOf({ a: { b: 0 } }, 'a.b'), 0);
    assert.equal(memberOf([], 'length'), 0);
    assert.equal(memberOf({}, 'toString'), undefined);
  });
});

/** A value as an answer of the Core can hold it. */
const jsonOf = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, one) => (typeof one === 'bigint' ? String(one) : one)) ?? 'null');
