import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { definePlugin, serviceRef } from '@device-core/plugin-api';
import { logControl } from '@device-core/plugin-api/inside/services/log-control';
import { leakCheck } from '@device-core/plugin-api/testing';
import { pace } from '../fixtures/eventually.ts';
import { type MemoryPlugin, memoryKernel } from '../fixtures/memory-kernel.ts';

after(leakCheck());

interface Counter {
  readonly limit: number;
  next(step?: number): Promise<number>;
}
const counter = serviceRef<Counter>('counter', '1.2.0');

class RealCounter implements Counter {
  #count = 0;
  readonly limit = 10;
  async next(step = 1): Promise<number> {
    this.#count += step;
    return this.#count;
  }
}
const provider: MemoryPlugin = {
  id: 'counter',
  provides: { counter: '1.2.0' },
  plugin: { setup: (host) => host.provide(counter, new RealCounter()) },
};

test('a reference has the methods and members of the service, private fields included', async () => {
  await using core = memoryKernel([provider]);
  await core.kernel.start();
  const service = core.kernel.service(counter);
  assert.equal(await service.next(), 1);
  assert.equal(await service.next(4), 5);
  assert.equal(service.limit, 10);
});

test('a reference is void once its provider stopped, and a new one is good', async () => {
  await using core = memoryKernel([provider]);
  await core.kernel.start();
  const old = core.kernel.service(counter);
  await core.kernel.restart('counter');
  assert.throws(() => void old.next(), { code: 'SERVICE_REVOKED', message: /counter was used after counter stopped/ });
  assert.throws(() => old.limit, { code: 'SERVICE_REVOKED' });
  assert.equal(await core.kernel.service(counter).next(), 1);
  await core.kernel.disable('counter');
  assert.throws(() => core.kernel.service(counter), { code: 'SERVICE_MISSING' });
});

test('a contract that is too old or too new leaves its user waiting', async () => {
  for (const [range, state] of [
    ['^1.0.0', 'active'],
    ['^1.2.0', 'active'],
    ['^1.3.0', 'waiting'],
    ['^2.0.0', 'waiting'],
  ] as const) {
    await using core = memoryKernel([provider, { id: 'user', requires: { counter: range } }]);
    await core.kernel.start();
    assert.equal((await core.states()).user, state, range);
  }
});

test('a service that the manifest does not declare is refused', async () => {
  const cases: [string, MemoryPlugin][] = [
    ['SERVICE_UNDECLARED', { id: 'x', plugin: { setup: (host) => host.provide(counter, new RealCounter()) } }],
    ['SERVICE_UNDECLARED', { id: 'x', plugin: { setup: (host) => host.when(counter, () => undefined) } }],
    [
      'SERVICE_UNDECLARED',
      { id: 'x', plugin: definePlugin({ requires: { counter }, setup: () => undefined }) as never },
    ],
    ['HOOK_UNDECLARED', { id: 'x', plugin: { setup: (host) => host.tap('health.collect', () => undefined) } }],
    ['HOOK_UNDECLARED', { id: 'x', plugin: { setup: (host) => void host.hook('health.collect') } }],
    ['TOPIC_DENIED', { id: 'x', publishes: ['x.*'], plugin: { setup: (host) => host.bus.publish('y.z', {}) } }],
    ['SERVICE_ALREADY_PROVIDED', { ...provider, id: 'x' }],
  ];
  for (const [code, plugin] of cases) {
    await using core = memoryKernel([provider, plugin].slice(code === 'SERVICE_ALREADY_PROVIDED' ? 0 : 1));
    await core.kernel.start();
    const { plugins } = await core.kernel.status();
    assert.ok(
      plugins.some((one) => one.state === 'failed' && one.code === code),
      code,
    );
  }
});

test('a kernel without a log has no log-control: a plugin that requires it waits, and names it', async () => {
  const reader: MemoryPlugin = {
    id: 'reader',
    requires: { 'log-control': '^1.0.0' },
    plugin: definePlugin({
      requires: { control: logControl },
      setup: async (_, { control }) => void (await control.levels()),
    }) as unknown as NonNullable<MemoryPlugin['plugin']>,
  };
  await using memory = memoryKernel([reader]);
  await memory.kernel.start();
  const [status] = (await memory.kernel.status()).plugins;
  assert.deepEqual(
    [status?.state, status?.reason],
    ['waiting', 'it waits for log-control ^1.0.0: no plugin provides it'],
  );
  assert.throws(() => memory.kernel.service(logControl), { code: 'SERVICE_MISSING' });
});

test('an optional service is used each time it appears, in a scope that ends before its provider', async () => {
  const seen: string[] = [];
  const user: MemoryPlugin = {
    id: 'user',
    optional: { counter: '^1.0.0' },
    plugin: {
      setup(host) {
        host.when(counter, async (service, scope) => {
          seen.push(`appeared ${await service.next()}`);
          scope.defer('part', async () => void seen.push(`gone ${await service.next()}`));
        });
      },
    },
  };
  await using core = memoryKernel([user, { ...provider, enabled: false }]);
  await core.kernel.start();
  assert.deepEqual(seen, []);
  await core.kernel.enable('counter');
  await pace(1);
  await core.kernel.restart('counter');
  await pace(1);
  await core.kernel.stop();
  assert.deepEqual(seen, ['appeared 1', 'gone 2', 'appeared 1', 'gone 2']);
});
