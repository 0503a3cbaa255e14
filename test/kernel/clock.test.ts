/** The clocks: the machine's, the plugin's own view of one, and the virtual one of the test kit. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { type Clock, CoreError, definePlugin } from '@device-core/plugin-api';
import { createTestHost, leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { PluginClock, systemClock } from '../../kernel/clock.ts';
import { runs } from '../fixtures/runs.ts';

after(leakCheck());

describe("the machine's clock", () => {
  test('its monotonic time is that of every process, its wall time that of the system', () => {
    const [monotonic, wall] = [systemClock.monotonic(), systemClock.now()];
    assert.ok(Math.abs(Number(process.hrtime.bigint()) / 1e6 - monotonic) < 50);
    assert.ok(Math.abs(Date.now() - wall) < 50);
  });

  for (const ms of [0, 0.2, 1, 3.5]) {
    test(`a timer of ${ms} ms runs, not more than a millisecond early`, async () => {
      const began = systemClock.monotonic();
      await new Promise<void>((resolve) => void systemClock.after(ms, resolve));
      assert.ok(systemClock.monotonic() - began >= ms - 1);
    });
  }

  test('a timer further away than a timer of Node reaches does not run at once', async () => {
    let ran = false;
    using _timer = systemClock.after(2 ** 31 + 5, () => {
      ran = true;
    });
    await systemClock.sleep(5);
    assert.equal(ran, false);
  });
});

describe('a pause', () => {
  const stop = new CoreError('TIMEOUT', { what: 'the caller', ms: 5 });
  const cases: readonly [title: string, reason: unknown, code: string, message: RegExp][] = [
    ['a CoreError is its reason', stop, 'TIMEOUT', /the caller timed out/],
    ['anything else is CANCELLED', new Error('no'), 'CANCELLED', /the caller no longer waits/],
  ];
  for (const [title, reason, code, message] of cases) {
    test(`a signal ends it: ${title}`, async () => {
      const clock = virtualClock();
      const controller = new AbortController();
      const pause = clock.sleep(1_000, controller.signal);
      controller.abort(reason);
      await assert.rejects(pause, { code, message });
      await assert.rejects(clock.sleep(1_000, controller.signal), { code }, 'and one that was aborted before');
      assert.equal(clock.pending, 0);
    });
  }
});

test('the clock of a plugin works until the last release of its scope, and ends with it', async () => {
  const clock = virtualClock();
  const seen: string[] = [];
  let given: Clock | undefined;
  const plugin = definePlugin({
    setup(host) {
      given = host.clock;
      host.clock.after(500, () => void seen.push('never'));
      host.scope.defer('slow', async () => {
        await host.clock.sleep(100);
        seen.push('released');
      });
    },
  });
  const manifest = { id: 'slow', version: '1.0.0', summary: 'x', api: '^1.0.0', main: 'index.ts' };
  const host = await createTestHost(plugin, { manifest, clock });
  await clock.until(host.stop());
  assert.deepEqual(seen, ['released']);
  assert.equal(clock.pending, 0);
  given?.after(1, () => void seen.push('late'));
  await assert.rejects(given!.sleep(1), { code: 'CANCELLED', message: 'plugin slow was cancelled: it was stopped' });
  await clock.advance(10_000);
  assert.deepEqual(seen, ['released']);
});

test('pauses that wait when the plugin ends are rejected', async () => {
  const clock = virtualClock();
  const own = new PluginClock(clock, 'x');
  const pause = own.sleep(1_000);
  own[Symbol.dispose]();
  await assert.rejects(pause, { code: 'CANCELLED' });
  assert.equal(clock.pending, 0);
});

describe('the virtual clock', () => {
  test('wall time can be set without any timer noticing', async () => {
    const clock = virtualClock({ now: 1_000_000 });
    let at: number | undefined;
    clock.after(100, () => {
      at = clock.now();
    });
    clock.set(5_000_000);
    await clock.advance(99);
    assert.equal(at, undefined);
    await clock.advance(1);
    assert.deepEqual([at, clock.monotonic()], [5_000_100, 100]);
  });

  test('next() goes from timer to timer, until() as far as a promise needs', async () => {
    const clock = virtualClock();
    const seen: number[] = [];
    for (const ms of [30, 10, 20]) clock.after(ms, () => void seen.push(clock.monotonic()));
    assert.equal(await clock.next(), true);
    assert.deepEqual(seen, [10]);
    await clock.until(clock.sleep(12));
    assert.deepEqual([seen, clock.monotonic()], [[10, 20], 22]);
    await assert.rejects(clock.until(new Promise(() => undefined)), /nothing settles it/);
    assert.equal(await clock.next(), false);
  });

  test('timers run in the order of their times, then of their making, each once, and not the disposed, also when timers start others', async () => {
    interface Plan {
      readonly ms: number;
      readonly dispose: boolean;
      readonly more: readonly number[];
    }
    const plan: fc.Arbitrary<Plan> = fc.record({
      ms: fc.integer({ min: 0, max: 50 }),
      dispose: fc.boolean(),
      more: fc.array(fc.integer({ min: 0, max: 50 }), { maxLength: 3 }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(plan, { maxLength: 20 }),
        fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 5 }),
        async (plans, steps) => {
          const clock = virtualClock({ turns: 1 });
          let made = 0;
          const expected: (readonly [due: number, order: number])[] = [];
          const ran: (readonly [due: number, order: number])[] = [];
          const start = (ms: number, more: readonly number[]): Disposable => {
            const own = [clock.monotonic() + ms, made++] as const;
            expected.push(own);
            return clock.after(ms, () => {
              assert.equal(clock.monotonic(), own[0]);
              ran.push(own);
              for (const one of more) start(one, []);
            });
          };
          for (const { ms, dispose, more } of plans) {
            const timer = start(ms, more);
            if (!dispose) continue;
            timer[Symbol.dispose]();
            expected.pop();
          }
          for (const step of steps) {
            await clock.advance(step);
            assert.ok(ran.every(([due]) => due <= clock.monotonic()));
          }
          await clock.advance(200);
          const inOrder = expected.toSorted(([a, first], [b, second]) => a - b || first - second);
          assert.deepEqual(ran, inOrder);
          assert.equal(clock.pending, 0);
        },
      ),
      { numRuns: runs(200) },
    );
  });
});
