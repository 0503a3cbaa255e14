import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { patternOf } from '../../../plugins/state/logs/pattern.ts';

describe('patterns of grep', () => {
  const CASES: readonly (readonly [grep: string, text: string, found: boolean])[] = [
    ['kettle', 'the kettle is dry', true],
    ['Kettle', 'the kettle is dry', false],
    ['/dev/fb0', 'cannot open /dev/fb0', true],
    ['a.c', 'abc', false],
    ['/a.c/', 'xabcx', true],
    ['/KETTLE/i', 'the kettle', true],
    ['/[A-C]x/i', 'bX', true],
    ['/^the/', 'the end', true],
    ['/^end/', 'the end', false],
    ['/end$/', 'the end', true],
    ['/^$/', '', true],
    ['/(?:dry|wet)s{2,3}$/', 'wetss', true],
    ['/(?:dry|wet)s{2,3}$/', 'wets', false],
    ['/\\d+ ms/', 'took 250 ms', true],
    ['/\\d+ ms/', 'took some ms', false],
    ['/[^a-z ]/', 'only small letters', false],
    ['/a\\/b/', 'a/b', true],
    ['/(a*)*b/', 'aaaaab', true],
    ['/x{0}y/', 'y', true],
  ];
  for (const [grep, text, found] of CASES)
    test(`${grep} ${found ? 'finds' : 'does not find'} "${text}"`, () => assert.equal(patternOf(grep)(text), found));

  const WRONG = [
    '/(?=a)/',
    '/(?<n>a)/',
    '/a)/',
    '/(a/',
    '/*a/',
    '/a**/',
    '/a{3,1}/',
    '/a{999}/',
    '/[a/',
    '/[z-a]/',
    '/\\1/',
    '/a\\/',
    `/${'a'.repeat(300)}/`,
    '/(((a{50}){50}){50}){50}/',
  ];
  for (const grep of WRONG)
    test(`${grep.slice(0, 30)} is refused`, () =>
      assert.throws(
        () => patternOf(grep),
        (error: Error & { code?: string }) => error.code === 'PARAMS_INVALID' && /grep/.test(error.message),
      ));

  test('an expression that would go back for ever in another engine takes a moment', () => {
    const text = 'a'.repeat(100_000);
    for (const grep of ['/(a+)+b/', '/(a|a)*b/', '/(a*)*b/', `/${'a?'.repeat(60)}${'a'.repeat(60)}b/`]) {
      const began = process.cpuUsage();
      assert.equal(patternOf(grep)(text), false);
      const { user, system } = process.cpuUsage(began);
      assert.ok(user + system < 2_000_000, `${grep.slice(0, 20)} took ${user + system} us`);
    }
  });

  test('it finds what RegExp finds', () => {
    const atom = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '(?:a|bc)', '(b|)', '\\w', '\\d', '^', '$');
    const sign = fc.constantFrom('', '', '*', '+', '?', '{2}', '{1,2}', '{0,}', '*?');
    const source = fc
      .array(fc.tuple(atom, sign), { minLength: 1, maxLength: 6 })
      .map((parts) => parts.map(([one, many]) => (one === '^' || one === '$' ? one : one + many)).join(''));
    fc.assert(
      fc.property(source, fc.array(fc.constantFrom('a', 'b', 'c', '1', ' '), { maxLength: 8 }), (expression, chars) => {
        const text = chars.join('');
        assert.equal(
          patternOf(`/${expression}/`)(text),
          new RegExp(expression).test(text),
          `${expression} on "${text}"`,
        );
      }),
      { numRuns: 2_000 },
    );
  });
});
