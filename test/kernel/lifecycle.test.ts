import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type EventEnvelope, type PluginHost, serviceRef } from '@device-core/plugin-api';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { pace } from '../fixtures/eventually.ts';
import { type MemoryPlugin, memoryKernel } from '../fixtures/memory-kernel.ts';
import { FULL, runs } from '../fixtures/runs.ts';

after(leakCheck());

setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

interface Named {
  name(): Promise<string>;
}
const service = (id: string) => serviceRef<Named>(id, '1.0.0');

/** A plugin that provides a service of its own name, requires others, and writes down when it starts and stops. */
function link(
  id: string,
  requires: readonly string[],
  seen: string[] = [],
  more: Partial<MemoryPlugin> = {},
): MemoryPlugin {
  return {
    id,
    provides: { [id]: '1.0.0' },
    requires: Object.fromEntries(requires.map((name) => [name, '^1.0.0'])),
    plugin: {
      requires: Object.fromEntries(requires.map((name) => [name, service(name)])),
      setup(host) {
        seen.push(`+${id}`);
        host.scope.defer('mark', () => void seen.push(`-${id}`));
      },
    },
    ...more,
  };
}

test('providers start before their users and stop after them, newest first', async () => {
  const seen: string[] = [];
  await using core = memoryKernel([link('c', ['b'], seen), link('b', ['a'], seen), link('a', [], seen)]);
  await core.kernel.start();
  assert.deepEqual(await core.states(), { a: 'active', b: 'active', c: 'active' });
  await Promise.all([core.kernel.stop(), core.kernel.stop()]);
  assert.deepEqual(seen, ['+a', '+b', '+c', '-c', '-b', '-a']);
});

test('any listing order gives the same result, also with failures', async () => {
  const names = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5', 'p6'];
  const graph = fc.record({
    // Each plugin requires some of those before it: no cycles.
    edges: fc.array(fc.tuple(fc.nat(6), fc.nat(6)), { maxLength: 12 }),
    failing: fc.subarray(names, { maxLength: 2 }),
    missing: fc.subarray(names, { maxLength: 1 }),
    order: fc.shuffledSubarray(names, { minLength: names.length, maxLength: names.length }),
  });
  const run = async (order: readonly string[], edges: [number, number][], failing: string[], missing: string[]) => {
    const seen: string[] = [];
    const plugins = order.map((id) => {
      const requires = edges.filter(([a, b]) => a > b && `p${a}` === id).map(([, b]) => `p${b}`);
      const plugin = link(id, [...new Set(requires), ...(missing.includes(id) ? ['nowhere'] : [])], seen);
      if (!failing.includes(id)) return plugin;
      return { ...plugin, plugin: { setup: () => Promise.reject(new Error('broken')) } };
    });
    await using core = memoryKernel(plugins);
    await core.kernel.start();
    const { plugins: list } = await core.kernel.status();
    const result = list.map(({ id, state, reason }) => [id, state, reason]).sort();
    for (const [a, b] of edges) {
      if (a <= b || !seen.includes(`+p${a}`)) continue;
      assert.ok(seen.indexOf(`+p${b}`) < seen.indexOf(`+p${a}`), 'a provider starts before its user');
    }
    return result;
  };
  await fc.assert(
    fc.asyncProperty(graph, async ({ edges, failing, missing, order }) => {
      const one = await run(names, edges, failing, missing);
      assert.deepEqual(await run(order, edges, failing, missing), one);
    }),
    { numRuns: runs(60) },
  );
});

test('a plugin that throws or hangs at start leaves the rest running and says why', async () => {
  const released: string[] = [];
  const bad = (id: string, setup: (host: PluginHost) => unknown): MemoryPlugin => ({
    id,
    startTimeoutMs: 30,
    provides: { [id]: '1.0.0' },
    plugin: { setup: async (host) => void (await setup(host)) },
  });
  await using core = memoryKernel([
    link('good', []),
    bad('throws', (host) => {
      host.scope.defer('thing', () => void released.push('thing'));
      throw new Error('no such board');
    }),
    bad('hangs', () => new Promise(() => undefined)),
    link('user', ['throws']),
  ]);
  await core.kernel.start();
  const status = await core.kernel.status();
  const told = Object.fromEntries(status.plugins.map(({ id, state, code, reason }) => [id, [state, code, reason]]));
  assert.deepEqual(told, {
    good: ['active', undefined, undefined],
    throws: ['failed', 'PLUGIN_START_FAILED', 'plugin throws failed to start: no such board'],
    hangs: ['failed', 'PLUGIN_START_TIMEOUT', told.hangs?.[2]],
    user: ['waiting', 'SERVICE_MISSING', 'it waits for throws ^1.0.0: throws is failed'],
  });
  assert.match(String(told.hangs?.[2]), /^plugin hangs was not ready after 30 ms.*: setup\(\) did not come back$/);
  assert.equal(status.state, 'degraded');
  assert.deepEqual(released, ['thing']);
});

test('a setup that comes back too late can acquire nothing any more', async () => {
  const late = Promise.withResolvers<unknown>();
  const slow: MemoryPlugin = {
    id: 'slow',
    startTimeoutMs: 20,
    provides: { slow: '1.0.0' },
    plugin: {
      async setup(host) {
        await pace(60);
        try {
          host.scope.defer('late', () => undefined);
          late.resolve('acquired');
        } catch (error) {
          late.resolve(error);
        }
      },
    },
  };
  await using core = memoryKernel([slow]);
  await core.kernel.start();
  assert.equal(((await late.promise) as { code: string }).code, 'SCOPE_CLOSED');
  assert.deepEqual(await core.states(), { slow: 'failed' });
});

test('a swap restarts the plugin and its dependents only', async () => {
  const seen: string[] = [];
  await using core = memoryKernel([
    link('a', [], seen),
    link('b', ['a'], seen),
    link('c', ['b'], seen),
    link('other', [], seen),
  ]);
  await core.kernel.start();
  seen.length = 0;
  await core.kernel.swap('a', {
    setup: (host) => host.provide(service('a'), { name: async () => 'another a' }),
  });
  assert.deepEqual(seen, ['-c', '-b', '-a', '+b', '+c']);
  assert.equal(await core.kernel.service(service('a')).name(), 'another a');
  const { plugins } = await core.kernel.status();
  assert.deepEqual(Object.fromEntries(plugins.map(({ id, generation }) => [id, generation])), {
    a: 2,
    b: 2,
    c: 2,
    other: 1,
  });
});

test('many swaps leak nothing', async () => {
  const held = new Set<object>();
  const provider = (): NonNullable<MemoryPlugin['plugin']> => ({
    setup(host: PluginHost) {
      const mark = {};
      held.add(mark);
      host.scope.defer('mark', () => void held.delete(mark));
      host.scope.interval('tick', 10_000, () => undefined);
      host.provide(service('a'), { name: async () => 'a' });
      host.tap('health.collect', () => undefined);
      host.bus.subscribe('x.**', () => undefined);
      host.when(service('other'), (_, scope) => scope.defer('part', () => undefined));
    },
  });
  const a = { ...link('a', []), taps: ['health.collect'], optional: { other: '^1.0.0' }, plugin: provider() };
  await using core = memoryKernel([a, link('b', ['a']), link('other', [])]);
  await core.kernel.start();
  const swap = async (count: number) => {
    for (let i = 0; i < count; i++) await core.kernel.swap('a', provider() as never);
    core.logged.length = 0;
    collect();
    return process.memoryUsage().heapUsed;
  };
  const swaps = FULL ? 2_500 : 800;
  const before = await swap(swaps / 4);
  const grown = (await swap(swaps)) - before;
  const { plugins } = await core.kernel.status();
  assert.equal(held.size, 1);
  assert.deepEqual(plugins.find(({ id }) => id === 'a')?.holds.length, 7);
  assert.ok(grown < swaps * 5_000, `the heap grew by ${grown} bytes`);
});

test('a provider that is disabled takes its users along, and they are back when it is', async () => {
  await using core = memoryKernel([link('a', []), link('b', ['a'])]);
  await core.kernel.start();
  await core.kernel.disable('a');
  assert.deepEqual(await core.states(), { a: 'stopped', b: 'waiting' });
  assert.equal((await core.kernel.status()).state, 'degraded');
  await core.kernel.enable('a');
  assert.deepEqual(await core.states(), { a: 'active', b: 'active' });
  await assert.rejects(core.kernel.restart('nobody'), { code: 'PLUGIN_NOT_FOUND' });
});

test('a stop that hangs names the held resources, and later ones are released all the same', async () => {
  const seen: string[] = [];
  const stuck: MemoryPlugin = {
    id: 'stuck',
    stopTimeoutMs: 30,
    plugin: {
      setup(host) {
        host.scope.defer('first', () => void seen.push('first'));
        host.scope.child('connection').defer('socket', () => new Promise(() => undefined));
      },
    },
  };
  await using core = memoryKernel([stuck, link('a', [])]);
  await core.kernel.start();
  const status = await core.kernel.disable('stuck');
  assert.deepEqual(seen, ['first']);
  assert.equal(status.state, 'stopped');
  assert.ok(core.logged.some(({ msg }) => msg === 'plugin stuck still holds connection > socket after 30 ms'));
});

test('a plugin that keeps failing is quarantined until it is released', async () => {
  let broken = true;
  const shaky: MemoryPlugin = {
    ...link('shaky', ['a']),
    plugin: { setup: () => (broken ? Promise.reject(new Error('shaky')) : undefined) },
  };
  await using core = memoryKernel([link('a', []), shaky]);
  await core.kernel.start();
  for (let i = 0; i < 6; i++) await core.kernel.restart('a');
  assert.equal((await core.states()).shaky, 'quarantined');
  broken = false;
  await core.kernel.restart('a');
  assert.equal((await core.states()).shaky, 'quarantined');
  assert.equal((await core.kernel.enable('shaky')).state, 'active');
});

test('a stop in the middle of a start ends at once', async () => {
  const slow: MemoryPlugin = { id: 'slow', plugin: { setup: () => new Promise(() => undefined) } };
  await using core = memoryKernel([slow, link('a', [])]);
  const started = core.kernel.start();
  await pace(10);
  const began = Date.now();
  await core.kernel.stop();
  await started;
  assert.ok(Date.now() - began < 2_000);
  assert.deepEqual(await core.states(), { slow: 'stopped', a: 'stopped' });
});

test('every change of state is told on the bus', async () => {
  const seen: string[] = [];
  const watcher: MemoryPlugin = {
    id: 'watcher',
    plugin: {
      setup(host) {
        host.bus.subscribe('plugin.state', ({ payload, source }: EventEnvelope) => {
          const { plugin, state } = payload as { plugin: string; state: string };
          if (plugin === 'a') seen.push(`${source} ${state}`);
        });
      },
    },
  };
  await using core = memoryKernel([watcher, link('a', ['gate']), link('gate', [], [], { enabled: false })]);
  await core.kernel.start();
  await core.kernel.enable('gate');
  await core.kernel.service(pluginManager).disable('gate');
  await pace(5);
  assert.deepEqual(seen, ['core starting', 'core active', 'core stopping', 'core waiting']);
});

test('an error that escapes a plugin restarts that plugin, and one of no plugin is left to the process', async () => {
  await using core = memoryKernel([link('a', [])]);
  await core.kernel.start();
  const escaped = new Error('late');
  escaped.stack = 'Error: late\n    at file:///memory/a/timer.ts:1:1';
  assert.equal(core.kernel.crashed(new Error('elsewhere')), false);
  assert.equal(core.kernel.crashed(escaped), true);
  await core.kernel.enable('a');
  const [status] = (await core.kernel.status()).plugins;
  assert.equal(status?.state, 'active');
  assert.ok((status?.generation ?? 0) >= 2);
});

test('code is loaded through hook plugin.load: the first tap that answers counts, and the loader of the Core is the last one', async () => {
  const asked: string[] = [];
  const seen: string[] = [];
  const loader: MemoryPlugin = {
    ...link('zloader', ['archive']),
    taps: ['plugin.load'],
    plugin: {
      setup: (host) =>
        host.tap('plugin.load', async ({ manifest, main, isolation }) => {
          asked.push(`${manifest.id} ${main} ${isolation}`);
          if (manifest.id === 'broken') throw new Error('bad archive');
          return manifest.id === 'packed' ? { setup: () => void seen.push('packed runs') } : undefined;
        }),
    },
  };
  const others = ['broken', 'elsewhere', 'packed'].map((id): MemoryPlugin => ({ id, loaded: true }));
  await using core = memoryKernel([...others, loader, link('archive', [])]);
  await core.kernel.start();
  assert.deepEqual(asked.toSorted(), [
    'broken /memory/broken/index.ts inline',
    'elsewhere /memory/elsewhere/index.ts inline',
    'packed /memory/packed/index.ts inline',
  ]);
  assert.deepEqual(seen, ['packed runs']);
  const { plugins } = await core.kernel.status();
  const of = (wanted: string) => plugins.find(({ id }) => id === wanted);
  assert.equal(of('packed')?.state, 'active');
  assert.equal(of('broken')?.code, 'HOOK_FAILED');
  assert.equal(of('elsewhere')?.code, 'PLUGIN_START_FAILED');
  assert.match(of('elsewhere')?.reason ?? '', /plugin elsewhere failed to start: Cannot find module/);
  await core.kernel.restart('packed');
  assert.equal(asked.length, 3, 'code of this process is loaded once');
  const accounts = await core.kernel.service(pluginManager).usage();
  assert.ok(!accounts.some(({ plugin }) => plugin === 'kernel'), "the loader is on nobody's account");
});

test('a plugin that verifies others starts before them, and without it only the code of this Core starts', async () => {
  const verified: string[] = [];
  const verifier: MemoryPlugin = {
    ...link('zverifier', ['keys']),
    taps: ['plugin.verify'],
    plugin: { setup: (host) => host.tap('plugin.verify', (manifest) => void verified.push(manifest.id)) },
  };
  const seen: string[] = [];
  await using core = memoryKernel([link('a', [], seen), verifier, link('keys', [], seen)]);
  await core.kernel.start();
  assert.deepEqual(seen, ['+keys', '+a']);
  await using shut = memoryKernel([
    link('a', []),
    { ...link('foreign', []), tree: false },
    { ...verifier, plugin: { setup: () => assert.fail('no key') } },
    link('keys', []),
  ]);
  await shut.kernel.start();
  assert.deepEqual(await shut.states(), { a: 'active', foreign: 'waiting', zverifier: 'failed', keys: 'active' });
});
