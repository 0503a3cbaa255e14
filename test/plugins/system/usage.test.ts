import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { ANONYMOUS, type Caller, type PluginHost, type ServiceRef } from '@device-core/plugin-api';
import { operations } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { plugin as operationsPlugin } from '../../../plugins/interface/operations/index.ts';
import { plugin as systemPlugin } from '../../../plugins/interface/system/index.ts';
import { type MemoryPlugin, memoryKernel } from '../../fixtures/memory-kernel.ts';

const OPERATOR: Caller = { kind: 'operator', id: 'operator' };
const APP: Caller = { kind: 'app', id: 'com.example.a' };
type Definition = NonNullable<MemoryPlugin['plugin']>;

after(leakCheck());

const PLUGINS: readonly MemoryPlugin[] = [
  {
    id: 'operations',
    provides: { operations: '1.0.0' },
    requires: { device: '^1.0.0', grants: '^1.1.0' },
    optional: { traces: '^1.0.0' },
    hooks: ['operation.before', 'operation.confirm'],
    taps: ['kernel.ready', 'health.collect'],
    plugin: operationsPlugin as Definition,
  },
  {
    id: 'system',
    requires: { operations: '^1.0.0', device: '^1.0.0', 'plugin-manager': '^1.0.0', grants: '^1.0.0' },
    optional: { changes: '^1.0.0' },
    hooks: ['health.collect'],
    settings: { collectTimeoutMs: 2_000 },
    plugin: systemPlugin as Definition,
  },
  {
    id: 'slow',
    requires: { operations: '^1.0.0' },
    budget: { stallMs: 20 },
    plugin: {
      requires: { operations },
      setup(host: PluginHost, services) {
        const { operations: table } = services as unknown as { operations: RefOf<typeof operations> };
        const run = async () => {
          for (const end = performance.now() + 25; performance.now() < end; );
        };
        const about = { summary: 'slow', params: { type: 'object' }, result: {}, errors: [] };
        host.scope.use('go', table.add({ name: 'slow.go', ...about, run }));
      },
    },
  },
];
type RefOf<T> = T extends ServiceRef<infer S> ? S : never;

async function start() {
  const memory = memoryKernel(PLUGINS);
  await memory.kernel.start();
  const table = memory.kernel.service(operations);
  return {
    // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested
    ask: (name: string, params: object = {}, caller: Caller = OPERATOR): Promise<any> =>
      table.invoke(name, params, { caller, signal: new AbortController().signal, deadline: Date.now() + 5_000 }),
    [Symbol.asyncDispose]: () => memory[Symbol.asyncDispose](),
  };
}

describe('resources of plugins', () => {
  it('is told by plugin, with its level and state, beside the event loop', async () => {
    await using system = await start();
    await system.ask('slow.go');
    const before = await system.ask('plugins.usage');
    await system.ask('slow.go');
    const { uptimeMs, eventLoop, core, plugins } = await system.ask('plugins.usage');
    assert.ok(uptimeMs > before.uptimeMs && eventLoop.utilization >= 0);
    const { minutePercent, residentBytes, heapBytes, processors, memory } = core;
    assert.ok(minutePercent > 0 && residentBytes > heapBytes && processors >= 1);
    assert.ok(memory.totalBytes > memory.availableBytes && memory.availableBytes > 0);
    assert.ok(plugins[1].minutePercent > 0, 'two slow calls are a share of the minute');
    assert.deepEqual(
      plugins.map((one: { plugin: string; state: string; isolation: string }) => [
        one.plugin,
        one.state,
        one.isolation,
      ]),
      ['operations', 'slow', 'system'].map((id) => [id, 'active', 'inline']),
    );
    const slow = plugins[1];
    assert.equal(slow.callbacks.operation.calls - before.plugins[1].callbacks.operation.calls, 1);
    assert.deepEqual([slow.stalls, slow.budget.stallMs, slow.warning.code], [2, 20, 'STALL']);
  });

  it('beyond its budget is a warning in the health of that plugin, which is okay all the same', async () => {
    await using system = await start();
    await system.ask('slow.go');
    const health = await system.ask('system.health');
    assert.deepEqual([health.status, health.components.slow.status], ['ok', 'okay']);
    assert.match(health.components.slow.warning.message, /in one callback \(operation\), its budget is 20 ms/);
    assert.deepEqual(
      health.warnings.map(({ code, message }: { code: string; message: string }) => [code, message.split(':')[0]]),
      [['STALL', 'plugin slow']],
    );
    assert.deepEqual(Object.keys(health.eventLoop).slice(0, 4), ['p50Ms', 'p99Ms', 'maxMs', 'utilization']);
    const anonymous = await system.ask('system.health', {}, ANONYMOUS);
    assert.deepEqual([anonymous.components.slow, anonymous.eventLoop], [{ status: 'okay' }, undefined]);
  });

  it('is sampled on demand', async () => {
    await using system = await start();
    const { plugins } = await system.ask('plugins.sample', { ms: 100 });
    assert.ok(Array.isArray(plugins));
  });

  for (const [name, params, code] of [
    ['plugins.usage', {}, 'CAPABILITY_DENIED'],
    ['plugins.sample', {}, 'CAPABILITY_DENIED'],
  ] as const)
    it(`is not told to an app by ${name}`, async () => {
      await using system = await start();
      await assert.rejects(system.ask(name, params, APP), { code });
    });

  it('is sampled within bounds', async () => {
    await using system = await start();
    await assert.rejects(system.ask('plugins.sample', { ms: 99 }), { code: 'PARAMS_INVALID' });
  });
});
