/** The guide for operators says every reason that the boot loader can give for a start. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { choose } from '../../../kernel/init/choose.ts';
import { type BootRecord, newRecord, type Slot } from '../../../plugin-api/inside/boot-record.ts';

const GUIDE = readFileSync(join(import.meta.dirname, '../../../docs/guides/updates.md'), 'utf8');
/** What a row says in its first cell, without the marks of code. */
const told = GUIDE.split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) => line.split('|')[1]!.trim().replace(/^`|`$/g, ''));

const GOOD: Slot = { state: 'good', version: '1.0.0', tries: 0 };
const TRIED: Slot = { state: 'trial', version: '1.0.0', tries: 3 };
const good = newRecord({ a: GOOD, b: GOOD });
const WORLDS: readonly (readonly [record: BootRecord, problem?: string])[] = [
  [good],
  [newRecord({ a: { ...GOOD, state: 'trial' } })],
  [newRecord({ a: { ...GOOD, state: 'bad' } })],
  [{ ...good, crashes: [1, 2, 3, 4, 5] }],
  [{ ...good, silent: 3 }],
  [{ ...good, crashes: [1], window: true }],
  [{ ...good, rung: 'safe', failures: 3 }],
  [{ ...newRecord({ a: TRIED, b: GOOD }, 'b'), rung: 'other' }],
  [good, 'its list cannot be read'],
];

describe('the guide to updates', () => {
  for (const [record, problem] of WORLDS) {
    const { why } = choose(record, { boot: 'x', uptime: 10, problem: () => problem });
    const general = why.replace(/: .*/, ': …');
    test(`says ${general}`, () => assert.ok(told.includes(general), general));
  }

  test('names the ways to ask for safe mode', () => {
    const loader = readFileSync(join(import.meta.dirname, '../../../kernel/init/loader.ts'), 'utf8');
    const asked = [...loader.matchAll(/why: '([^']*safe mode)'/g)].map(([, why]) => why!);
    assert.equal(asked.length, 3);
    for (const why of asked) assert.ok(told.includes(why), why);
  });
});
