import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeBase64, isNestedDeeperThan } from '@device-core/plugin-api';
import fc from 'fast-check';
import { runs } from '../fixtures/runs.ts';

fc.configureGlobal({ numRuns: runs(100) });

test('base64 is read as RFC 4648 writes it, and in no other spelling', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      const text = Buffer.from(bytes).toString('base64');
      assert.deepEqual([...(decodeBase64(text) ?? [])], [...bytes]);
    }),
  );
  for (const wrong of ['A', 'AA', 'AAA', '=AAA', 'AA=A', 'AAAA=', 'A A=', 'AA\n=', 'AB==', 'AAB=', '-_==', 'AA==AAAA'])
    assert.equal(decodeBase64(wrong), undefined, wrong);
});

test('the depth of a value counts objects and arrays from its root on, however deep it is', () => {
  const cases: readonly (readonly [value: unknown, depth: number])[] = [
    [1, 0],
    [null, 0],
    [{}, 1],
    [[], 1],
    [{ a: 1, b: [2], c: 'text' }, 2],
    [[[{ a: [] }]], 4],
    [JSON.parse('['.repeat(100_000) + ']'.repeat(100_000)), 100_000],
  ];
  for (const [value, depth] of cases) {
    assert.equal(isNestedDeeperThan(value, depth), false);
    if (depth > 0) assert.equal(isNestedDeeperThan(value, depth - 1), true);
  }
});
