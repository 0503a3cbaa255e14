/** Who holds an update back, and for how long at most. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { Leases, LONGEST_MS } from '../../../plugins/life/updater/leases.ts';
import { codeOf } from '../../fixtures/operation-calls.ts';
import { runs } from '../../fixtures/runs.ts';

const HOUR = 3_600_000;

after(leakCheck());

function at(start = 0): { time: number; readonly leases: Leases } {
  const world = { time: start, leases: undefined as never as Leases };
  world.leases = new Leases({ now: () => world.time + 1_000_000, steady: () => world.time });
  return world;
}

const refusal = (work: () => unknown) => codeOf((async () => work())());

describe('leases', () => {
  it('end at their time, when they are released, and with their holder', () => {
    const world = at();
    const { leases } = world;
    const first = leases.take('app.a', 'a recording', 5_000);
    assert.equal(first.until, 1_005_000);
    const second = leases.take('app.b', 'a print', 9_000);
    leases.take('app.c', 'a call', 9_000);
    assert.deepEqual(
      leases.list().map(({ holder }) => holder),
      ['app.a', 'app.b', 'app.c'],
    );
    world.time = 5_000;
    assert.equal(leases.get(first.id), undefined);
    assert.equal(leases.release(second.id), true);
    assert.equal(leases.release(second.id), false);
    assert.equal(leases.forget('app.c'), true);
    assert.deepEqual(leases.list(), []);
  });

  it('are sixteen at most', async () => {
    const { leases } = at();
    for (let number = 0; number < 16; number += 1) leases.take(`app.${number}`, 'it is busy', 1_000);
    assert.equal(await refusal(() => leases.take('app.more', 'it is busy', 1_000)), 'BUSY');
  });

  it('hold nothing back for ever, however often they are taken again', async () => {
    const world = at();
    for (; world.time < LONGEST_MS; world.time += HOUR) {
      const lease = world.leases.take('app.a', 'never now', 2 * HOUR);
      assert.ok(lease.until <= LONGEST_MS + 1_000_000);
      if (world.time % (2 * HOUR) === 0) world.leases.release(lease.id);
    }
    assert.equal(await refusal(() => world.leases.take('app.a', 'never now', HOUR)), 'UPDATE_REFUSED');
    assert.deepEqual(world.leases.list(), []);
    world.leases.take('app.b', 'another one may', HOUR);
    world.time += HOUR + 1;
    assert.equal(world.leases.take('app.a', 'after a break', HOUR).holder, 'app.a');
  });

  it('of one holder never cover more than a day without a break of an hour', () => {
    const step = fc.record({
      wait: fc.nat(3 * HOUR),
      ms: fc.integer({ min: 1_000, max: 30 * HOUR }),
      let: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const world = at();
        let began: number | undefined;
        let until = 0;
        for (const { wait, ms, let: go } of steps) {
          world.time += wait;
          if (world.time > until + HOUR) began = undefined;
          try {
            const lease = world.leases.take('app.a', 'busy', ms);
            began ??= world.time;
            until = Math.max(until, lease.until - 1_000_000);
            assert.ok(until <= began + LONGEST_MS);
            if (go && world.leases.release(lease.id) && world.leases.list().length === 0) until = world.time;
          } catch (error) {
            if ((error as { code?: string }).code === undefined) throw error;
          }
        }
      }),
      { numRuns: runs(300) },
    );
  });
});
