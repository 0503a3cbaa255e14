/** A guest that starts tasks without end is found, although each is gone at once, and nobody else is taken for it. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { ForkCount, ForkWatch } from '../../../plugins/apps/supervisor-process/fork-watch.ts';
import { without } from '../../fixtures/debian.ts';
import { part } from '../../fixtures/scope.ts';
import { WITHOUT_BWRAP } from '../../fixtures/walls.ts';
import { openSupervisor } from './fixture.ts';

after(leakCheck());

const ROWS: readonly (readonly [what: string, guestPerSecond: number, othersPerSecond: number, alive: number, ended: boolean])[] = [
  ['quiet', 0, 0, 1, false],
  ['busy within the limit', 190, 0, 1, false],
  ['quiet beside one that is over it', 1, 14_000, 1, false],
  ['over the limit', 260, 0, 1, true],
  ['far over it, and rarely seen', 14_000, 0, 0.05, true],
];

describe('a guest that is', () => {
  for (const [what, guestPerSecond, othersPerSecond, alive, ended] of ROWS)
    it(`${what} is ${ended ? 'ended' : 'let be'}`, async () => {
      const clock = virtualClock();
      await using host = part(clock);
      const [began, found] = [clock.monotonic(), [] as number[]];
      const made = (perSecond: number) => Math.floor(((clock.monotonic() - began) * perSecond) / 1_000);
      let looks = 0;
      const tasks = () => {
        looks++;
        // Its first process, and the newest one where it is still there.
        return looks % Math.round(1 / alive) === 0 ? [1, 2 + made(guestPerSecond)] : [1];
      };
      const watch = new ForkWatch({ scope: host.scope, newest: () => 300 + made(guestPerSecond + othersPerSecond) });
      const entry = watch.add(tasks, (perSecond) => void found.push(perSecond));
      await clock.advance(8_000);
      entry[Symbol.dispose]();
      await clock.advance(2_000);
      assert.equal(found.length, ended ? 1 : 0, String(found));
      if (guestPerSecond + othersPerSecond < 200) assert.equal(looks, 0, 'a device without new tasks costs no look');
      for (const perSecond of found)
        assert.ok(perSecond <= guestPerSecond + 1 && perSecond > guestPerSecond * 0.9, String(perSecond));
      assert.equal(clock.pending, 0, 'there is no timer without a guest');
    });
});

it('a count is never above the tasks that were started in a second or more, although the numbers begin anew', () => {
  const look = fc.record({ pauseMs: fc.integer({ min: 1, max: 700 }), made: fc.nat(60), seen: fc.nat(3) });
  fc.assert(
    fc.property(fc.array(look, { minLength: 2, maxLength: 60 }), fc.integer({ min: 100, max: 2_000 }), (looks, end) => {
      const count = new ForkCount();
      let [at, started] = [0, 0];
      const history: { readonly at: number; readonly started: number }[] = [];
      for (const { pauseMs, made, seen } of looks) {
        at += pauseMs;
        started += made;
        const fresh = Array.from({ length: Math.min(seen, made) }, (_, back) => 2 + ((started - back) % end));
        const perSecond = count.look([1, ...fresh], at) ?? 0;
        const rates = history
          .filter((one) => at - one.at >= 1_000)
          .map((one) => ((started - one.started) * 1_000) / (at - one.at));
        assert.ok(perSecond <= Math.ceil(Math.max(0, ...rates)), `${perSecond} of ${rates}`);
        history.push({ at, started });
      }
    }),
  );
});

const BURN = `
import os
while True:
  pid = os.fork()
  if pid == 0: os._exit(0)
  os.waitpid(pid, 0)`;

for (const by of ['bubblewrap', 'namespaces'] as const)
  it(`a program that forks and reaps without end is ended, and told why, with ${by}`, {
    skip: WITHOUT_BWRAP || without('python3'),
  }, async () => {
    await using bench = await openSupervisor(by, { program: '/usr/bin/python3', args: ['-c', BURN] });
    const { run } = await bench.supervisor.start(await bench.spec('demo', ''), { token: 't'.repeat(20) });
    const { reason } = await bench.supervisor.ended(run);
    const perSecond = /^it started (\d+) processes and threads a second, and 200 are allowed$/.exec(reason ?? '')?.[1];
    assert.ok(Number(perSecond) > 200, reason);
  });
