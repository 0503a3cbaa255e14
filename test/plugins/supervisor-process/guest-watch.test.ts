/** Guests that take more than they may are found by looking, and output beyond its rate is dropped. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { GuestUsage } from '@device-core/plugin-api/inside/services/app-supervisor';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { ByteRate } from '../../../plugins/apps/supervisor-process/byte-rate.ts';
import { type Excess, GuestWatch } from '../../../plugins/apps/supervisor-process/guest-watch.ts';
import { part } from '../../fixtures/scope.ts';

after(leakCheck());

const MIB = 1024 * 1024;
const LIMITS = { memoryMaxMB: 100, tasksMax: 10 };
type Look = readonly [memoryMB: number, tasks: number];

async function watch(looks: readonly Look[]) {
  const clock = virtualClock();
  await using host = part(clock);
  const found: Excess[] = [];
  let at = -1;
  const usage = (): GuestUsage | undefined => {
    const look = looks[++at];
    return look && { memory: look[0] * MIB, cpuMs: 0, tasks: look[1] };
  };
  const entry = new GuestWatch(host.scope).add({ limits: LIMITS, usage, over: (excess) => void found.push(excess) });
  await clock.advance(2_000 * looks.length);
  entry[Symbol.dispose]();
  await clock.advance(4_000);
  return { found: found.map(({ of }) => of), looked: Math.min(at + 1, looks.length), pending: clock.pending };
}

describe('a guest that is watched', () => {
  const ROWS: readonly (readonly [what: string, looks: readonly Look[], found: readonly string[], looked: number])[] = [
    [
      'within its limits is let be',
      [
        [100, 10],
        [100, 10],
        [1, 1],
      ],
      [],
      3,
    ],
    [
      'over its memory twice in a row is ended',
      [
        [101, 1],
        [101, 1],
        [101, 1],
      ],
      ['memory'],
      2,
    ],
    [
      'over it now and then is let be',
      [
        [150, 1],
        [90, 1],
        [150, 1],
      ],
      [],
      3,
    ],
    [
      'far over its memory is ended at once',
      [
        [201, 1],
        [201, 1],
      ],
      ['memory'],
      1,
    ],
    [
      'with too many tasks twice in a row is ended',
      [
        [1, 11],
        [1, 20],
      ],
      ['tasks'],
      2,
    ],
    [
      'that is a bomb is ended at once',
      [
        [1, 21],
        [1, 4_000],
      ],
      ['tasks'],
      1,
    ],
    [
      'over one limit and then another is ended',
      [
        [101, 1],
        [1, 11],
      ],
      ['tasks'],
      2,
    ],
  ];
  for (const [what, looks, expected, count] of ROWS)
    it(what, async () => {
      const { found, looked, pending } = await watch(looks);
      assert.deepEqual(found, expected);
      assert.equal(looked, count, 'who is ended is not looked at again');
      assert.equal(pending, 0, 'there is no timer for nobody');
    });
});

it('passes of a rate are never more than the rate and its burst', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(70_000), fc.nat(3_000)), { maxLength: 80 }), (pieces) => {
      const rate = new ByteRate(64);
      let [now, passed, largest] = [0, 0, 0];
      for (const [bytes, pause] of pieces) {
        now += pause;
        largest = Math.max(largest, bytes);
        if (rate.take(bytes, now)) passed += bytes;
      }
      assert.ok(passed <= 64 * 1024 * (16 + now / 1000) + largest);
    }),
  );
});
