import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Profiler } from 'node:inspector';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { type Caller, type PluginHost, serviceRef } from '@device-core/plugin-api';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { operations } from '@device-core/plugin-api/services/operations';
import { Processor } from '../../kernel/usage/processor.ts';
import { summary } from '../../kernel/usage/sampler.ts';
import { Watch } from '../../kernel/usage/watch.ts';
import { plugin as operationsPlugin } from '../../plugins/interface/operations/index.ts';
import { startCore } from '../fixtures/core.ts';
import { pace } from '../fixtures/eventually.ts';
import { type MemoryPlugin, memoryKernel } from '../fixtures/memory-kernel.ts';

const OPERATOR: Caller = { kind: 'operator', id: 'operator' };
const spin = (ms: number) => {
  for (const end = performance.now() + ms; performance.now() < end; );
};
/** As spin(), of this thread's own time. */
const work = (ms: number) => {
  const began = process.threadCpuUsage();
  for (let spent = 0; spent < ms; ) {
    const { user, system } = process.threadCpuUsage(began);
    spent = (user + system) / 1_000;
  }
};

/** A gate as the tree has it, in a kernel of plugins of this test. */
const GATE: MemoryPlugin = {
  id: 'operations',
  provides: { operations: '1.0.0' },
  requires: { device: '^1.0.0', grants: '^1.1.0' },
  optional: { traces: '^1.0.0' },
  hooks: ['operation.before', 'operation.confirm'],
  taps: ['kernel.ready', 'health.collect'],
  plugin: operationsPlugin as NonNullable<MemoryPlugin['plugin']>,
};

function user(
  id: string,
  setup: (host: PluginHost, table: typeof operations.T & object) => unknown,
  more: object = {},
) {
  const requires = { operations: '^1.0.0' };
  return {
    id,
    requires,
    ...more,
    plugin: {
      requires: { operations },
      setup: (host, services) => void setup(host, (services as { operations: never }).operations),
    },
  } satisfies MemoryPlugin;
}

const operation = (name: string, run: () => Promise<unknown>) => ({
  name,
  summary: name,
  params: { type: 'object' },
  result: {},
  errors: [],
  run,
});

async function started(plugins: readonly MemoryPlugin[]) {
  const memory = memoryKernel(plugins);
  await memory.kernel.start();
  const manager = memory.kernel.service(pluginManager);
  const table = memory.kernel.service(operations);
  return {
    memory,
    manager,
    call: (name: string) =>
      table.invoke(name, {}, { caller: OPERATOR, signal: new AbortController().signal, deadline: Date.now() + 5_000 }),
    list: () => table.list(),
    usage: async (id: string) => (await manager.usage()).find(({ plugin }) => plugin === id)!,
    [Symbol.asyncDispose]: () => memory[Symbol.asyncDispose](),
  };
}

describe('the time of each plugin', () => {
  it('is counted by the kind of callback, and an operation names its plugin', async () => {
    const worker = user(
      'worker',
      (host, table) => {
        host.scope.use('w', table.add(operation('worker.work', async () => spin(12))));
        host.scope.timeout('t', 1, () => spin(5));
        host.bus.subscribe('test.topic', () => spin(5));
        host.tap('operation.before', () => spin(5) as undefined);
        host.scope.timeout('p', 5, () => host.bus.publish('test.topic', {}));
      },
      { taps: ['operation.before'], publishes: ['test.**'] },
    );
    await using core = await started([GATE, worker]);
    await core.call('worker.work');
    await core.call('worker.work');
    await pace(40);
    const { callbacks, busyMs, longestMs } = await core.usage('worker');
    assert.deepEqual(
      [callbacks.operation.calls, callbacks.hook.calls, callbacks.event.calls, callbacks.timer.calls],
      [2, 2, 1, 2],
    );
    assert.ok(callbacks.operation.busyMs >= 24 && callbacks.hook.busyMs >= 10 && callbacks.event.busyMs >= 5);
    assert.ok(busyMs >= 44 && longestMs >= 12);
    assert.equal(callbacks.lifecycle.calls, 1);
    const listed = await core.list();
    assert.equal(listed.find(({ name }) => name === 'worker.work')?.plugin, 'worker');
    assert.ok(listed.every(({ plugin }) => plugin !== undefined));
  });

  it('is without that of other plugins that it called into', async () => {
    const hook = { hooks: ['health.collect'] };
    const owner = user(
      'system',
      (host, table) =>
        host.scope.use(
          'h',
          table.add(
            operation('owner.ask', async () => {
              const report = { add: () => undefined, bridge: () => undefined, warn: () => undefined };
              const probes = host.hook('health.collect').promise(report);
              spin(10);
              await probes;
            }),
          ),
        ),
      hook,
    );
    const probe = user('probe', (host) => host.tap('health.collect', () => spin(200)), { taps: ['health.collect'] });
    await using core = await started([GATE, owner, probe]);
    await core.call('owner.ask');
    const inner = (await core.usage('probe')).callbacks.hook.busyMs;
    const outer = (await core.usage('system')).callbacks.operation.busyMs;
    assert.ok(inner >= 200, `${inner}`);
    assert.ok(outer >= 10 && outer < 150, `${outer}`);
  });

  it('goes on over a restart, and its errors are counted where they are no answer of the table', async () => {
    const broken = user('broken', (host, table) => {
      host.scope.use(
        'b',
        table.add(
          operation('broken.go', async () => {
            throw new Error('boom');
          }),
        ),
      );
      host.scope.timeout('t', 1, () => {
        throw new Error('boom');
      });
    });
    await using core = await started([GATE, broken]);
    await assert.rejects(core.call('broken.go'), { code: 'INTERNAL' });
    await pace(10);
    await core.manager.restart('broken');
    await pace(10);
    const { callbacks, errors } = await core.usage('broken');
    assert.deepEqual([callbacks.operation.errors, callbacks.timer.errors, errors], [1, 2, 3]);
    assert.equal(callbacks.lifecycle.calls >= 2, true);
  });

  it('names the user to a service for each user, and hides that symbol from users', async () => {
    const ref = serviceRef<{ who(): Promise<string> }>('who', '1.0.0');
    const said: string[] = [];
    const symbols: number[] = [];
    const provider: MemoryPlugin = {
      id: 'provider',
      provides: { who: '1.0.0' },
      plugin: {
        setup(host) {
          const of = (user?: { readonly plugin: string }) => ({ who: async () => user?.plugin ?? 'nobody' });
          host.provide(ref, { ...of(), [Symbol.for('@device-core/for-user')]: of });
        },
      },
    };
    const asking = (id: string): MemoryPlugin => ({
      id,
      requires: { who: '^1.0.0' },
      plugin: {
        requires: { who: ref },
        async setup(_host, services) {
          const { who } = services as unknown as { who: typeof ref.T & object };
          said.push(await who.who());
          symbols.push(Object.getOwnPropertySymbols(who).length);
        },
      },
    });
    await using memory = memoryKernel([provider, asking('one'), asking('two')]);
    await memory.kernel.start();
    assert.deepEqual(
      [said.sort(), symbols],
      [
        ['one', 'two'],
        [0, 0],
      ],
    );
    assert.equal(await memory.kernel.service(ref).who(), 'nobody');
  });
});

describe('a budget', () => {
  const slow = (name: string, ms: number, budget: object) =>
    user(name, (host, table) => host.scope.use('s', table.add(operation(`${name}.go`, async () => spin(ms)))), {
      budget,
    });

  it('of one callback is exceeded: counted, kept as a warning, and logged once a minute', async () => {
    await using core = await started([GATE, slow('slow', 30, { stallMs: 20 }), slow('other', 30, { stallMs: 10_000 })]);
    for (let i = 0; i < 3; i++) await core.call('slow.go');
    await core.call('other.go');
    const { stalls, longestMs, warning, budget } = await core.usage('slow');
    assert.deepEqual([stalls, warning?.code, budget], [3, 'STALL', { stallMs: 20, busyPercent: 25 }]);
    assert.ok(longestMs >= 30);
    assert.match(
      warning!.message,
      /^it blocked the event loop for \d+ ms in one callback \(operation\), its budget is 20 ms$/,
    );
    const logged = core.memory.logged.filter(({ msg }) => msg.includes('the event loop'));
    assert.deepEqual(
      logged.map(({ level, plugin }) => [level, plugin]),
      [[40, 'slow']],
    );
    assert.deepEqual([(await core.usage('other')).stalls, (await core.usage('other')).warning], [0, undefined]);
  });

  it('of ten seconds is exceeded by many short callbacks', async () => {
    await using core = await started([GATE, slow('busy', 15, { busyPercent: 2, stallMs: 10_000 })]);
    await pace(30);
    for (let i = 0; i < 20; i++) await core.call('busy.go');
    for (let i = 0; i < 100 && !(await core.usage('busy')).warning; i++) await pace(20);
    const { stalls, warning, busyPercent } = await core.usage('busy');
    assert.deepEqual([stalls, warning?.code], [0, 'BUSY']);
    assert.ok(busyPercent >= 3, `${busyPercent}`);
  });

  it('is not for starting', async () => {
    const late = user('late', () => spin(30), { budget: { stallMs: 10 } });
    await using core = await started([GATE, late]);
    const { stalls, callbacks } = await core.usage('late');
    assert.equal(stalls, 0);
    assert.ok(callbacks.lifecycle.longestMs >= 30);
  });
});

describe('the event loop', () => {
  it('is watched: how late it is, how busy, and how often late without a culprit', async () => {
    await using core = await started([GATE]);
    await pace(100);
    const quiet = await core.manager.eventLoop();
    assert.ok(quiet.p50Ms <= quiet.p99Ms && quiet.p99Ms <= quiet.maxMs);
    work(120);
    await pace(60);
    const { maxMs, stalls, unattributed } = await core.manager.eventLoop();
    assert.ok(maxMs >= 95, `${maxMs}`);
    assert.ok(stalls - quiet.stalls >= 1 && unattributed - quiet.unattributed >= 1);
  });

  it('is sought for a culprit when it ran or was blocked, not when its thread got no processor', async () => {
    const times = { starving: true, waited: 0 };
    const owns: number[] = [];
    const processor = new Processor(performance.now(), {
      ran: () => 0,
      // However late it is, it waited longer.
      waited() {
        if (times.starving) times.waited += 1e9;
        return times.waited;
      },
    });
    const watch = new Watch(memoryKernel([]).kernel.parts.log, processor);
    const stalled = async () => {
      const before = watch.loop();
      spin(120);
      await pace(60);
      const { stalls, unattributed } = watch.loop();
      assert.ok(stalls > before.stalls);
      owns.push(watch.loop().ownP99Ms ?? -1);
      return unattributed > before.unattributed;
    };
    watch.start();
    try {
      await pace(60);
      assert.equal(await stalled(), false, 'it waited for a processor');
      times.starving = false;
      assert.equal(await stalled(), true, 'a call blocked it');
      const [starved = 0, blocked = 0] = owns;
      assert.ok(starved < 50 && blocked >= 95, `of its own doing: ${owns}`);
      assert.ok(watch.loop().p99Ms >= 95, 'what others notice is told all the same');
    } finally {
      watch.stop();
    }
  });

  it('was late by its own doing for as long as it ran, or did not wait for a processor', () => {
    const times = { ran: 0, waited: 0 };
    const processor = new Processor(0, { ran: () => times.ran, waited: () => times.waited });
    const own = (late: number, ran: number, waited: number) => {
      Object.assign(times, { ran: times.ran + ran, waited: times.waited + waited });
      const ms = processor.own(late);
      processor.ticked();
      return ms;
    };
    assert.deepEqual([own(400, 5, 390), own(400, 90, 390), own(400, 0, 0), own(60, 0, 900)], [10, 90, 400, 0]);
  });

  it('is idle while it only waits for a processor', () => {
    const times = { ran: 0, waited: 0 };
    const processor = new Processor(0, { ran: () => times.ran, waited: () => times.waited });
    Object.assign(times, { ran: 20, waited: 900 });
    assert.equal(processor.busy(1_000), 0.02);
    Object.assign(times, { ran: 400, waited: 900 });
    assert.equal(processor.busy(2_000), 0.38);
  });

  it('has a plugin sought that stalls it after an await, and finds it by its code', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dp-'));
    try {
      writeFileSync(join(folder, 'plugin.yaml'), CONTINUING.manifest);
      writeFileSync(join(folder, 'index.js'), CONTINUING.code);
      const line = { version: '*', path: folder, isolation: 'inline' as const };
      await using core = await startCore({ plugins: { operations: '*', continuing: line } });
      const table = core.service(operations);
      const manager = core.service(pluginManager);
      const found = async () => (await manager.usage()).find(({ plugin }) => plugin === 'continuing')!;
      for (let i = 0; i < 20 && (await found()).stalls === 0; i++) {
        const signal = new AbortController().signal;
        await table.invoke('continuing.go', {}, { caller: OPERATOR, signal, deadline: Date.now() + 5_000 });
        await pace(80);
      }
      const { stalls, longestMs, warning, callbacks } = await found();
      assert.equal(stalls, 1);
      assert.ok(longestMs >= 50 && callbacks.operation.longestMs < longestMs, `${longestMs}`);
      assert.match(warning!.message, /outside of a callback of the host, in spin \(index\.js:\d+\)$/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('is sampled for one at a time', async () => {
    await using core = await started([GATE]);
    const first = core.manager.sample(50);
    await assert.rejects(core.manager.sample(50), { code: 'BUSY' });
    assert.ok(Array.isArray(await first));
    await core.manager.sample(10);
  });

  it('gives each sample to the innermost plugin on the stack, and memory that is cleared to the one before', () => {
    const frame = (id: number, functionName: string, url: string, children: readonly number[] = []) => ({
      id,
      children: [...children],
      callFrame: { functionName, url, scriptId: '', lineNumber: id, columnNumber: 0 },
    });
    const profile: Profiler.Profile = {
      nodes: [
        frame(1, '(root)', '', [2, 3, 4, 7]),
        frame(2, '(idle)', ''),
        frame(3, '(garbage collector)', ''),
        frame(4, 'handle', 'file:///p/a/index.ts', [5]),
        frame(5, 'call', 'file:///k/services.ts', [6, 8]),
        frame(6, '', 'file:///p/b/work.ts'),
        frame(7, 'tick', 'node:internal/timers'),
        frame(8, 'stringify', ''),
      ],
      samples: [4, 5, 3, 6, 2, 8, 7],
      timeDeltas: [0, 5_000, 5_000, 5_000, 7_000, 1_000, 2_000, 3_000],
      startTime: 0,
      endTime: 1,
    };
    const folders = [
      ['a', '/p/a'],
      ['b', '/p/b/'],
    ] as const;
    assert.deepEqual(summary(profile, folders), [
      {
        plugin: 'a',
        busyMs: 17,
        longestMs: 15,
        where: 'handle (index.ts:5)',
        functions: [{ where: 'handle (index.ts:5)', ms: 12 }],
      },
      {
        plugin: 'b',
        busyMs: 7,
        longestMs: 7,
        where: 'an anonymous function (work.ts:7)',
        functions: [{ where: 'an anonymous function (work.ts:7)', ms: 7 }],
      },
      { plugin: 'core', busyMs: 3, longestMs: 3, where: 'tick', functions: [{ where: 'tick', ms: 3 }] },
    ]);
  });
});

const CONTINUING = {
  manifest: `
id: continuing
version: 1.0.0
summary: Stalls the event loop after an await
api: ^1.0.0
main: index.js
requires: { operations: ^1.0.0 }
`,
  code: `
import { definePlugin } from '@device-core/plugin-api';
import { operations } from '@device-core/plugin-api/services/operations';
function spin() {
  const began = process.threadCpuUsage();
  for (let spent = 0; spent < 90_000; ) {
    const { user, system } = process.threadCpuUsage(began);
    spent = user + system;
  }
  return {};
}
export const plugin = definePlugin({
  requires: { operations },
  setup(host, { operations: table }) {
    const run = async () => {
      await host.clock.sleep(5);
      return spin();
    };
    const about = { summary: 'stall', params: { type: 'object' }, result: {}, errors: [] };
    host.scope.use('go', table.add({ name: 'continuing.go', ...about, run }));
  },
});
`,
};
