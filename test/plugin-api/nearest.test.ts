import assert from 'node:assert/strict';
import { test } from 'node:test';
import { didYouMean, nearest } from '@device-core/plugin-api';
import fc from 'fast-check';

const CASES: readonly (readonly [wanted: string, words: readonly string[], near: string | undefined])[] = [
  ['brk.gret', ['brk.greet', 'brk.great'], 'brk.greet'],
  ['audio.tone', ['audio.tones', 'audio.mute'], 'audio.tones'],
  ['ab', ['abcd', 'xy'], 'abcd'],
  ['abc', ['xyz'], undefined],
  ['same', ['some', 'same'], 'same'],
  ['', ['ab', 'abc'], 'ab'],
  ['x', [], undefined],
  ['x'.repeat(129), ['x'.repeat(129)], undefined],
  ['日本語', ['日本話'], '日本話'],
];
for (const [wanted, words, near] of CASES)
  test(`"${wanted.slice(0, 20)}" among ${words.length} words`, () => {
    assert.equal(nearest(wanted, words), near);
    assert.equal(didYouMean(wanted, words), near === undefined ? '' : `; did you mean ${near}?`);
  });

/** The plain recursion of the definition. */
function distance(a: string, b: string): number {
  if (a === '' || b === '') return Math.max(a.length, b.length);
  const same = a[0] === b[0] ? 0 : 1;
  return Math.min(distance(a.slice(1), b) + 1, distance(a, b.slice(1)) + 1, distance(a.slice(1), b.slice(1)) + same);
}

test('the cut-off never changes the answer', () => {
  const word = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 5 });
  fc.assert(
    fc.property(word, fc.array(word, { maxLength: 6 }), (wanted, words) => {
      const limit = Math.max(2, Math.floor(wanted.length / 3));
      const best = Math.min(...words.map((one) => distance(wanted, one)));
      assert.equal(
        nearest(wanted, words),
        best > limit ? undefined : words.find((one) => distance(wanted, one) === best),
      );
    }),
    { numRuns: 200 },
  );
});
