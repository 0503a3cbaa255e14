import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { parseYaml } from '@device-core/plugin-api/inside/yaml';

const ROOT = join(import.meta.dirname, '../..');

describe('YAML that people write', () => {
  it('has one reader, and one more that keeps the comments of settings', () => {
    const readers = globSync('{kernel,plugin-api,plugins}/**/*.ts', {
      cwd: ROOT,
      exclude: (name) => name === 'node_modules',
    })
      .filter((file) =>
        /\b(?:parse|parseDocument|parseAllDocuments)\b.*(?:from 'yaml'|yaml\(\))|yaml\(\)\.parse/.test(
          readFileSync(join(ROOT, file), 'utf8'),
        ),
      )
      .sort();
    assert.deepEqual(readers, ['plugin-api/inside/yaml.ts', 'plugins/state/config/document.ts']);
  });

  it('is a value that knows its lines', () => {
    const { value, errors, line } = parseYaml('a: 1\nb:\n  - x\n  - { c: 2 }\n');
    assert.deepEqual(errors, []);
    assert.deepEqual(value, { a: 1, b: ['x', { c: 2 }] });
    assert.deepEqual([line(['b', 1, 'c']), line(['a']), line(['b', 'missing'])], [4, 1, 2]);
  });

  const FAULTS: readonly (readonly [what: string, text: string, line: number, message: RegExp])[] = [
    ['a tab that indents', 'a:\n\tb: 1\n', 2, /tabs cannot indent/],
    ['a name that stands twice', 'a: 1\na: 2\n', 2, /twice/],
    ['a quote that does not end', 'a: "x\nb: 1\n', 3, /missing/],
    ['an indentation that does not fit', 'a:\n  b: 1\n c: 2\n', 3, /indentation/],
    ['an alias of nothing', 'a: *b\n', 1, /anchor/],
    ['twenty thousand brackets', `a: ${'['.repeat(20_000)}`, 1, /more than 64 deep/],
    ['twenty thousand braces', `x: 1\na: ${'{b: '.repeat(20_000)}`, 2, /more than 64 deep/],
    ['twenty thousand dashes', `a:\n${'- '.repeat(20_000)}x`, 2, /more than 64 deep/],
    ['a tower of indentation', Array.from({ length: 1_100 }, (_, n) => `${' '.repeat(n)}a:`).join('\n'), 1_001, /deep/],
    ['aliases that unfold without end', bomb(), 1, /cannot be unfolded/],
    ['a chain of aliases', chain(), 1, /more than 64 deep/],
    ['an alias of itself', 'x: 1\na: &a\n  - *a\n', 3, /inside of what it names/],
    ...[
      '!!set { x, y }',
      '!!omap [ x: 1 ]',
      '!!binary aGk=',
      '!!str 12',
      '!!float 1',
      '!!map { x: 1 }',
      '!!seq [ 1 ]',
      '!own x',
    ].map((value) => [`the tag of ${value}`, `x: 1\na: ${value}\n`, 2, /^the tag !!?\w+ is not known here/] as const),
    ['a tag of a name', 'x: 1\n!!str a: 2\n', 2, /^the tag !!str/],
    ['a tag in a list of a map', 'a:\n  - b: !!timestamp 2026-01-01\n', 2, /^the tag !!timestamp/],
    ['a tag by its address', 'a: !<tag:yaml.org,2002:set> { x }\n', 1, /^the tag !!set/],
    ['a tag of a directive', '%TAG ! tag:own.example,2026:\n---\na: !x y\n', 3, /^the tag tag:own/],
    ['YAML 1.1, in which yes is true', '%YAML 1.1\n---\na: yes\n', 1, /YAML 1\.2/],
    ['a directive that is none', '%OWN x\n---\na: 1\n', 1, /OWN|directive/],
    ['a merge', 'a: &a { x: 1 }\nb:\n  <<: *a\n', 3, /not merged/],
    ['a prototype', 'a: 1\n__proto__: { x: 1 }\n', 2, /__proto__/],
    ['a prototype in quotes', 'a:\n  "__proto__": 1\n', 2, /__proto__/],
    ['a list as a name', 'a: 1\n? [x, y]\n: 2\n', 2, /no list and no map/],
    ['a map as a name', 'a: 1\n? { x: 1 }\n: 2\n', 2, /no list and no map/],
    ['null as a name', 'a: 1\nnull: 2\n', 2, /is null/],
    ['no name', 'a: 1\n: 2\n', 2, /missing/],
    ['a number as a name that would change', 'a: 1\n0x10: 2\n', 2, /0x10 would become 16/],
    ['a fraction as a name that would change', 'a: 1\n1.0: 2\n', 2, /1\.0 would become 1/],
    ['a number that no double holds', 'a: 1\nb: 9007199254740993\n', 2, /9007199254740993 cannot be kept/],
    ['a number of 400 digits', 'a: 1e400\n', 1, /1e400 cannot be kept/],
    ['a number that would end otherwise', 'a: -00012345678901234567890\n', 1, /cannot be kept/],
    ['infinity', 'a: 1\nb: .inf\n', 2, /cannot be kept/],
    ['no number', 'a: 1\nb: [.nan]\n', 2, /cannot be kept/],
    ['half of a character', 'a: 1\nb: "\\ud800"\n', 2, /half of a character/],
    ['an escape that is none', 'a: "\\q"\n', 1, /none; use single quotes/],
    ['a text of more than a mebibyte', `a: ${'x'.repeat(1 << 20)}`, 1, /more than/],
  ];
  for (const [what, text, line, message] of FAULTS)
    it(`is refused for ${what}, with the line`, () => {
      const { value, errors } = parseYaml(text);
      assert.equal(value, undefined);
      assert.equal(errors[0]?.line, line);
      assert.match(errors[0].message, message);
    });

  const PLAIN: readonly (readonly [what: string, text: string, value: unknown])[] = [
    ['numbers as names', '4: x\n17: y\n', { '4': 'x', '17': 'y' }],
    ['true as a name', 'true: x\n', { true: 'x' }],
    [
      'an exclamation mark in texts',
      'a: hello!\nb: "!!set"\nc: \'!x\'\nd: |\n  !!omap\n',
      { a: 'hello!', b: '!!set', c: '!x', d: '!!omap\n' },
    ],
    ['<< in quotes, as a name', 'a: { "<<": { b: 1 } }\n', { a: { '<<': { b: 1 } } }],
    ['names that objects inherit', 'constructor: 1\ntoString: 2\n', { constructor: 1, toString: 2 }],
    ['aliases', 'a: &a [1]\nb: [*a, *a]\n', { a: [1], b: [[1], [1]] }],
    ['the version of YAML that is read', '%YAML 1.2\n---\na: yes\n', { a: 'yes' }],
    [
      'long numbers in quotes',
      "a: '9007199254740993'\nb: 9007199254740991\nz: 123456789012345680000\nc: 0x1F\nd: 1e3\n",
      { a: '9007199254740993', b: 9007199254740991, z: 123456789012345680000, c: 31, d: 1000 },
    ],
  ];
  for (const [what, text, value] of PLAIN)
    it(`may have ${what}`, () => {
      const read = parseYaml(text);
      assert.deepEqual(read.errors, []);
      assert.deepEqual(read.value, value);
    });

  it('prints no warning, with any contents', (context) => {
    const warned = context.mock.method(process, 'emitWarning', () => undefined);
    for (const [, text] of [...FAULTS, ...PLAIN]) parseYaml(text);
    assert.equal(warned.mock.callCount(), 0);
  });

  it('may have brackets in texts and comments, and forty levels', () => {
    const text = `# ${'['.repeat(100)}\na: "${'['.repeat(100)}"\nb: ${'['.repeat(40)}${']'.repeat(40)}\n`;
    assert.deepEqual(parseYaml(text).errors, []);
  });
});

/** A billion of nothing in nine lines. */
function bomb(): string {
  const rows = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
  for (let n = 1; n < 9; n++) rows.push(`a${n}: &a${n} [${Array.from({ length: 9 }, () => `*a${n - 1}`).join(', ')}]`);
  return rows.join('\n');
}

/** Forty levels, and the same forty within forty others. */
function chain(): string {
  const [open, close] = ['['.repeat(40), ']'.repeat(40)];
  return `a: &a ${open}${close}\nb: ${open}*a${close}\n`;
}
