/** A guest that starts tasks without end is found, although each is gone at once, and no other guest is taken for it. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { ForkWatch } from '../../../plugins/apps/shared/new-tasks/fork-watch.ts';
import { GroupCount } from '../../../plugins/apps/shared/new-tasks/group-count.ts';
import { NamespaceCount } from '../../../plugins/apps/shared/new-tasks/namespace-count.ts';
import { without } from '../../fixtures/debian.ts';
import { part } from '../../fixtures/scope.ts';
import { WITHOUT_BWRAP } from '../../fixtures/walls.ts';
import { openSupervisor } from './fixture.ts';

after(leakCheck());

const ROWS: readonly (readonly [
  what: string,
  guestPerSecond: number,
  othersPerSecond: number,
  alive: number,
  ended: boolean,
])[] = [
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
      const entry = watch.add(
        () => new NamespaceCount(tasks),
        (perSecond) => void found.push(perSecond),
      );
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
      let tasks: readonly number[] = [];
      const count = new NamespaceCount(() => tasks);
      let [at, started] = [0, 0];
      const history: { readonly at: number; readonly started: number }[] = [];
      for (const { pauseMs, made, seen } of looks) {
        at += pauseMs;
        started += made;
        const fresh = Array.from({ length: Math.min(seen, made) }, (_, back) => 2 + ((started - back) % end));
        tasks = [1, ...fresh];
        const perSecond = count.look(at) ?? 0;
        const rates = history
          .filter((one) => at - one.at >= 1_000)
          .map((one) => ((started - one.started) * 1_000) / (at - one.at));
        assert.ok(perSecond <= Math.ceil(Math.max(0, ...rates)), `${perSecond} of ${rates}`);
        history.push({ at, started });
      }
    }),
  );
});

/** Tasks that are started a second, and milliseconds that each of them lives. */
const SAMPLES: readonly (readonly [what: string, perSecond: number, livesMs: number, least: number, most: number])[] = [
  ['that forks and reaps without end', 2_000, 0.3, 900, 1_100],
  ['that is a little above the limit', 250, 5, 0, 180],
  ['that starts tasks within the limit, in step with the looks', 150, 5, 0, 150],
  ['that starts many at once, and then none', 0, 1_000, 0, 0],
];
for (const [what, perSecond, livesMs, least, most] of SAMPLES)
  it(`samples of a control group ${what} show ${least} to ${most} tasks a second`, () => {
    let ms = 0;
    const living = () => {
      ms += 0.025;
      const newest = Math.floor((ms * perSecond) / 1_000);
      const oldest = Math.ceil(((ms - livesMs) * perSecond) / 1_000);
      const some = Array.from({ length: newest - oldest + 1 }, (_, back) => 100 + newest - back);
      return perSecond > 0 ? some : Array.from({ length: ms > 30 ? 40 : 1 }, (_, index) => 100 + index);
    };
    const count = new GroupCount(living, () => ms);
    let found: number | undefined;
    for (let looks = 0; looks < 50; looks++) {
      ms += 18;
      found = count.look();
    }
    assert.ok((found ?? 0) >= least && (found ?? 0) <= most, String(found));
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
