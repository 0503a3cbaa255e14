import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { parseYaml } from '@device-core/plugin-api/yaml';

describe('YAML that people write', () => {
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
    ['a text of more than a mebibyte', `a: ${'x'.repeat(1 << 20)}`, 1, /more than/],
  ];
  for (const [what, text, line, message] of FAULTS)
    it(`is refused for ${what}, with the line`, () => {
      const { value, errors } = parseYaml(text);
      assert.equal(value, undefined);
      assert.equal(errors[0]?.line, line);
      assert.match(errors[0].message, message);
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
