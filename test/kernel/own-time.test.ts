/** Limits count the time in which their owner could run: a slow or busy board fails nobody, and what hangs is found all the same. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { afterOwnTime, type CoreError, type PluginHost, type Spent, settlesWithin } from '@device-core/plugin-api';
import { leakCheck, VirtualClock, virtualClock } from '@device-core/plugin-api/testing';
import { systemClock } from '../../kernel/clock.ts';
import { PluginScope } from '../../kernel/scope.ts';
import { GUEST_LIMITS, GuestWatch } from '../../kernel/usage/guest-watch.ts';
import { LoopTime, threadTime } from '../../kernel/usage/loop-time.ts';
import { type MemoryPlugin, memoryKernel } from '../fixtures/memory-kernel.ts';

after(leakCheck());

const QUIET = { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined };

describe('a limit of 1,000 ms', () => {
  const cases: readonly [title: string, board: (clock: VirtualClock) => void, ownMs: number, wallMs: number][] = [
    ['of a board that has nothing else to do', () => undefined, 1_000, 1_000],
    ['of a board that is busy half of the time', (clock) => Object.assign(clock, { busy: 0.5 }), 1_000, 2_000],
    ['of one that is busy four fifths of the time', (clock) => Object.assign(clock, { busy: 0.8 }), 1_000, 5_000],
    ['of one that does nothing else', (clock) => Object.assign(clock, { busy: 1 }), 0, 6_000],
    ['that began just before a pause of the whole process', (clock) => clock.starve(3_000), 1_000, 4_000],
    ['of a process that stood for longer than six times', (clock) => clock.starve(60_000), 0, 60_000],
  ];
  for (const [title, board, ownMs, wallMs] of cases) {
    test(`${title} is over after ${wallMs} ms by the clock`, async () => {
      const clock = new VirtualClock();
      const spent = Promise.withResolvers<Spent>();
      using _limit = afterOwnTime(clock, 1_000, spent.resolve);
      board(clock);
      const { ownMs: own, wallMs: wall } = await clock.until(spent.promise);
      assert.ok(Math.abs(own - ownMs) <= 2, `${own} ms of its own`);
      assert.ok(Math.abs(wall - wallMs) <= 2, `${wall} ms by the clock`);
      assert.equal(clock.pending, 0);
    });
  }

  test('leaves out what its owner lost, of several accounts the greatest', async () => {
    const clock = new VirtualClock();
    const spent = Promise.withResolvers<Spent>();
    // A child that gets every second millisecond of its processor, and one account that knows of less.
    using _limit = afterOwnTime(clock, 1_000, spent.resolve, [() => clock.monotonic() / 2, () => 7]);
    assert.equal((await clock.until(spent.promise)).ownMs, 1_000);
    assert.equal(Math.round(clock.monotonic()), 2_000);
  });

  test('can be called off, before and after it was stretched', async () => {
    const clock = new VirtualClock();
    const limit = afterOwnTime(clock, 1_000, () => assert.fail('it was called off'));
    clock.starve(2_000);
    await clock.advance(10);
    limit[Symbol.dispose]();
    await clock.advance(10_000);
    assert.equal(clock.pending, 0);
  });
});

test('an answer that lies ready when a starved loop comes back is heard, although its time has passed by the clock', async () => {
  const clock = virtualClock();
  const scope = new PluginScope('test', QUIET, { clock });
  const answer = Promise.withResolvers<string>();
  const wait = scope.within('the answer', 200, () => answer.promise);
  const releases = settlesWithin(clock, 200, answer.promise);
  clock.starve(900);
  await clock.advance(0); // the timers are late, and run before the socket is read
  answer.resolve('here');
  assert.equal(await wait, 'here');
  assert.equal(await releases, true);
  await scope.end();
});

test('an error of a limit that was stretched says how long it took by the clock', async () => {
  const clock = virtualClock();
  const scope = new PluginScope('test', QUIET, { clock });
  clock.busy = 0.5;
  const late = scope.within('the answer', 1_000, () => new Promise(() => undefined)).catch((error: unknown) => error);
  const { code, message, details } = (await clock.until(late)) as CoreError;
  assert.deepEqual([code, message], ['TIMEOUT', 'the answer timed out after 1000 ms']);
  assert.deepEqual(details, { what: 'the answer', ms: 1_000, wallMs: 2_000 });
  await scope.end();
});

describe("the machine's account of a loop", () => {
  test('counts what the loop is kept for, never more than has passed, and never goes back', async () => {
    const loop = new LoopTime();
    await new Promise((resolve) => setImmediate(resolve));
    const [taken, began] = [loop.taken(), performance.now()];
    let last = taken;
    while (performance.now() - began < 120) {
      const now = loop.taken();
      assert.ok(now >= last);
      last = now;
    }
    assert.ok(last - taken >= 100, `${last - taken} ms`);
  });

  test('is that of the clock, and the system has one of every thread', () => {
    assert.ok(systemClock.taken() > 0);
    const { ranMs = 0 } = threadTime() ?? {};
    if (threadTime() !== undefined) assert.ok(ranMs > 0);
    assert.equal(threadTime('/proc/none/schedstat'), undefined);
  });
});

describe('the start of a plugin', () => {
  const plugin = (setup: (host: PluginHost) => unknown, more: Partial<MemoryPlugin> = {}): MemoryPlugin => ({
    id: 'slow',
    plugin: { setup: async (host) => void (await setup(host)) },
    ...more,
  });
  const start = async (clock: VirtualClock, plugins: readonly MemoryPlugin[], board: () => void = () => undefined) => {
    const core = memoryKernel(plugins, clock);
    const started = core.kernel.start();
    await clock.settle();
    board();
    await clock.until(started);
    const { plugins: list } = await core.kernel.status();
    return { core, status: list[0]! };
  };

  test('is not failed by a loop that others keep: 3 s of its own in 33 s by the clock', async () => {
    const clock = new VirtualClock();
    const slow = plugin((host) => host.clock.sleep(3_000));
    const { core, status } = await start(clock, [slow], () => clock.starve(30_000));
    assert.deepEqual([status.state, status.generation, status.restarts], ['active', 1, 0]);
    await core[Symbol.asyncDispose]();
  });

  test('is not failed by forty others whose modules are imported before its own', async () => {
    const clock = new VirtualClock();
    clock.busy = 0.9; // one thread compiles them all
    const loader = plugin(
      (host) =>
        host.tap('plugin.load', async ({ manifest }) => {
          await clock.sleep(12_000);
          return { setup: (of: PluginHost) => of.clock.sleep(manifest.id === 'p39' ? 12_000 : 1) };
        }),
      { id: 'loader', taps: ['plugin.load'] },
    );
    const forty = Array.from({ length: 40 }, (_, index): MemoryPlugin => ({ id: `p${index}`, loaded: true }));
    const { core } = await start(clock, [loader, ...forty]);
    const states = Object.values(await core.states());
    assert.deepEqual([...new Set(states)], ['active']);
    assert.equal(states.length, 41);
    await core[Symbol.asyncDispose]();
  });

  const hangs: readonly [title: string, busy: number, wallMs: number, message: string][] = [
    ['on a board that is idle', 0, 10_000, 'plugin slow was not ready after 10000 ms: setup() did not come back'],
    [
      'on a board that is busy half of the time',
      0.5,
      20_000,
      'plugin slow was not ready after 10000 ms of its own time, 20001 ms by the clock: setup() did not come back',
    ],
    [
      'on a board that has no time at all',
      0.95,
      60_000,
      'plugin slow was not ready after 60000 ms by the clock, of which it could have run 3000 ms: the board is busy: setup() did not come back',
    ],
  ];
  for (const [title, busy, wallMs, message] of hangs) {
    test(`that hangs is found out ${title}, and the error says by what clock`, async () => {
      const clock = new VirtualClock();
      clock.busy = busy;
      const { core, status } = await start(clock, [plugin(() => new Promise(() => undefined))]);
      assert.deepEqual([status.state, status.code, status.reason], ['failed', 'PLUGIN_START_TIMEOUT', message]);
      assert.ok(Math.abs(clock.monotonic() - wallMs) <= 2);
      await core[Symbol.asyncDispose]();
    });
  }

  test('that hangs while its code is loaded is told apart from one that hangs in setup()', async () => {
    const clock = new VirtualClock();
    const loader = plugin((host) => host.tap('plugin.load', () => new Promise<never>(() => undefined)), {
      id: 'zloader',
      taps: ['plugin.load'],
    });
    const { core, status } = await start(clock, [{ id: 'slow', loaded: true }, loader]);
    assert.equal(status.reason, 'plugin slow was not ready after 10000 ms: its code was not loaded');
    await core[Symbol.asyncDispose]();
  });
});

describe('a start that is over, but goes on', () => {
  /** Counts how many of its setups run, and comes back from one when it is told to, whatever happened to the start. */
  const stubborn = () => {
    const running: PromiseWithResolvers<void>[] = [];
    const seen = { starts: 0, atOnce: 0, most: 0, released: [] as string[], late: undefined as unknown };
    const setup = async (host: PluginHost): Promise<void> => {
      const start = ++seen.starts;
      seen.atOnce++;
      seen.most = Math.max(seen.most, seen.atOnce);
      if (start === 1) {
        const gate = Promise.withResolvers<void>();
        running.push(gate);
        await gate.promise;
        try {
          host.scope.defer('server', () => void seen.released.push('server'));
        } catch (error) {
          seen.late = error;
        }
      }
      seen.atOnce--;
    };
    const plugin: MemoryPlugin = { id: 'slow', startTimeoutMs: 100, stopTimeoutMs: 50, plugin: { setup } };
    return { plugin, seen, comeBack: () => running[0]!.resolve() };
  };
  const open = async () => {
    const clock = new VirtualClock();
    const { plugin, seen, comeBack } = stubborn();
    const core = memoryKernel([plugin], clock);
    const status = async () => (await core.kernel.status()).plugins[0]!;
    return { clock, core, seen, comeBack, status };
  };

  test('has no successor beside it, however often one is asked for: the plugin is failed with that as its reason', async () => {
    const { clock, core, seen, status } = await open();
    await clock.until(core.kernel.start());
    await clock.advance(600_000);
    const { state, reason, code } = await status();
    assert.deepEqual([state, reason, code], ['failed', 'its former start still runs', 'PLUGIN_START_TIMEOUT']);
    for (const verb of ['restart', 'enable', 'release'] as const) {
      assert.equal((await clock.until(core.kernel[verb]('slow'))).reason, 'its former start still runs', verb);
    }
    assert.deepEqual([seen.starts, seen.most], [1, 1]);
    await clock.until(core.kernel.stop());
    await core[Symbol.asyncDispose]();
  });

  test('is followed by the next one as soon as it has come back, and what it acquired then is released', async () => {
    const { clock, core, seen, comeBack, status } = await open();
    await clock.until(core.kernel.start());
    await clock.advance(60_000);
    comeBack();
    await clock.settle();
    assert.deepEqual([(await status()).state, (await status()).generation], ['active', 2]);
    assert.deepEqual([seen.starts, seen.most, seen.released], [2, 1, ['server']]);
    assert.equal((seen.late as CoreError).code, 'SCOPE_CLOSED');
    await core[Symbol.asyncDispose]();
  });

  test('that was ended on purpose is waited for, as long as a stop may take, and no other begins before', async () => {
    const { clock, core, seen, comeBack, status } = await open();
    const started = core.kernel.start();
    await clock.settle();
    const restarted = core.kernel.restart('slow');
    await clock.advance(10);
    assert.equal(seen.starts, 1);
    comeBack();
    assert.deepEqual([(await clock.until(restarted)).state, seen.most], ['active', 1]);
    await started;
    assert.equal((await status()).lastError, undefined);
    await core[Symbol.asyncDispose]();
  });

  test('that does not let go of a stop is named by it', async () => {
    const { clock, core } = await open();
    void core.kernel.start();
    await clock.settle();
    const status = await clock.until(core.kernel.disable('slow'));
    assert.equal(status.state, 'stopped');
    assert.equal(status.lastError?.message, 'plugin slow still holds its start after 50 ms');
    await core[Symbol.asyncDispose]();
  });

  test('is not set up any more when its code comes after the limit', async () => {
    const clock = new VirtualClock();
    const code = Promise.withResolvers<void>();
    let setups = 0;
    const loader: MemoryPlugin = {
      id: 'loader',
      taps: ['plugin.load'],
      plugin: {
        setup: (host) =>
          host.tap('plugin.load', async () => {
            await code.promise;
            return { setup: () => void setups++ };
          }),
      },
    };
    await using core = memoryKernel([loader, { id: 'slow', loaded: true, startTimeoutMs: 100 }], clock);
    await clock.until(core.kernel.start());
    await clock.advance(5_000);
    code.resolve();
    await clock.settle();
    assert.equal(setups, 1, 'the second start has its code now');
    assert.deepEqual(await core.states(), { loader: 'active', slow: 'active' });
  });
});

describe('a guest that does not answer', () => {
  const cases: readonly [title: string, waitedShare: number, ticks: number, reason: RegExp][] = [
    ['is found to hang after its five seconds', 0, 6, /^it hangs: it did not answer for 5000 ms$/],
    ['that gets half of a processor has ten', 0.5, 11, /it did not answer for 10000 ms$/],
    ['that gets none has thirty', 1, 31, /5000 ms of its own time, 30000 ms by the clock$/],
  ];
  for (const [title, share, ticks, reason] of cases) {
    test(title, () => {
      const crashes: string[] = [];
      let waited = 0;
      const watch = new GuestWatch({
        budget: {},
        limits: GUEST_LIMITS,
        heapMB: 64,
        memory: async () => undefined,
        waitedMs: () => waited,
        onVerdict: (reason: string) => void crashes.push(reason),
        onBusy: () => undefined,
      });
      let count = 0;
      for (; crashes.length === 0 && count < 100; count++) {
        waited += share * GUEST_LIMITS.intervalMs;
        watch.tick();
      }
      assert.equal(count, ticks);
      assert.match(crashes[0] ?? '', reason);
    });
  }
});
