import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { ANONYMOUS, CoreError, definePlugin, type PluginManifest, serviceRef } from '@device-core/plugin-api';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import {
  checkManifest,
  createTestHost,
  given,
  leakCheck,
  TestOperations,
  virtualClock,
} from '@device-core/plugin-api/testing';
import { eventually, pace } from '../fixtures/eventually.ts';

after(leakCheck());

interface Lamp {
  on(): Promise<string>;
}
const lamp = serviceRef<Lamp>('lamp', '1.0.0');
const power = serviceRef<Lamp>('power', '1.2.0');
const extra = serviceRef<Lamp>('extra', '1.0.0');

const manifest: PluginManifest = {
  id: 'lamp',
  version: '1.0.0',
  summary: 'a lamp',
  api: '^1.0.0',
  main: 'index.ts',
  provides: { lamp: '1.0.0' },
  requires: { power: '^1.2.0', device: '^1.0.0' },
  optional: { extra: '^1.0.0' },
  taps: ['operation.before'],
  publishes: ['lamp.**'],
  capabilities: ['bridges.gpio'],
  config: { type: 'object', properties: { level: { type: 'number', default: 3 } }, additionalProperties: false },
};

const quiet = definePlugin<{ power: typeof power; device: typeof device }, { level: number }>({
  requires: { power, device },
  setup: (host) => host.provide(lamp, { on: async () => `level ${host.config.level}` }),
});
const services = [[power, { on: async () => 'power' }]] as const;

test('a service is there after setup, with the defaults of the configuration filled in', async () => {
  await using host = await createTestHost(quiet, { manifest, services });
  assert.equal(await host.service(lamp).on(), 'level 3');
  assert.equal(host.device.sku.simulated, true);
});

test('a service is given in parts, and a method that was left out says so', async () => {
  interface Switch extends Lamp {
    off(): Promise<string>;
  }
  const both = serviceRef<Switch>('power', '1.2.0');
  class Counting {
    #times = 0;
    on = async () => `on ${++this.#times}`;
  }
  const plugin = definePlugin({
    requires: { both },
    setup: (host, services) => host.provide(lamp, { on: () => services.both.on().then(() => services.both.off()) }),
  });
  for (const parts of [new Counting(), { on: async () => 'on' }]) {
    await using host = await createTestHost(plugin, { manifest, services: [given(both, parts)] });
    assert.match(await host.service(both).on(), /^on/);
    await assert.rejects(host.service(lamp).on(), { code: 'SERVICE_MISSING', message: /did not give its method off/ });
  }
});

test('a release that hangs fails the stop, by its label', async () => {
  const plugin = definePlugin({
    requires: { power, device },
    setup(host) {
      host.provide(lamp, { on: async () => '' });
      host.scope.defer('motor', () => new Promise(() => undefined));
    },
  });
  const host = await createTestHost(plugin, { manifest: { ...manifest, stopTimeoutMs: 50 }, services });
  await assert.rejects(host.stop(), { code: 'PLUGIN_STOP_TIMEOUT', message: /plugin lamp still holds motor/ });
});

test('resources are released newest first, each release awaited, and nothing is left', async () => {
  const order: string[] = [];
  const plugin = definePlugin({
    requires: { power, device },
    setup(host) {
      host.provide(lamp, { on: async () => '' });
      host.scope.defer('first', () => void order.push('first'));
      host.scope.defer('second', async () => {
        await pace(5);
        order.push('second');
      });
      const child = host.scope.child('part');
      child.defer('in part', () => void order.push('part'));
      host.scope.interval('tick', 1000, () => undefined);
      host.bus.subscribe('app.**', () => undefined);
    },
  });
  const host = await createTestHost(plugin, { manifest, services });
  assert.ok(host.leaks().includes('tick'));
  await host.stop();
  await host.stop();
  assert.deepEqual(order, ['part', 'second', 'first']);
  assert.deepEqual(host.leaks(), []);
});

test('a service that the manifest does not declare is refused', async () => {
  const cases: [code: string, act: (host: Parameters<typeof quiet.setup>[0]) => void][] = [
    ['SERVICE_UNDECLARED', (host) => host.provide(extra, { on: async () => '' })],
    ['SERVICE_UNDECLARED', (host) => host.when(power, () => undefined)],
    ['HOOK_UNDECLARED', (host) => host.tap('health.collect', () => undefined)],
    ['HOOK_UNDECLARED', (host) => void host.hook('operation.before')],
    ['TOPIC_DENIED', (host) => host.bus.publish('system.power', {})],
    [
      'SERVICE_ALREADY_PROVIDED',
      (host) => {
        for (const _ of [1, 2]) host.provide(lamp, { on: async () => '' });
      },
    ],
  ];
  for (const [code, act] of cases) {
    const plugin = definePlugin<{ power: typeof power }, { level: number }>({ requires: { power }, setup: act });
    await assert.rejects(createTestHost(plugin, { manifest, services }), { code });
  }
  await assert.rejects(createTestHost(quiet, { manifest }), { code: 'SERVICE_MISSING' });
  await assert.rejects(createTestHost(quiet, { manifest, services, config: { level: 'x' } }), {
    code: 'PARAMS_INVALID',
  });
});

test('a tap answers its owner, and its error names the plugin', async () => {
  const plugin = definePlugin({
    requires: { power, device },
    setup(host) {
      host.provide(lamp, { on: async () => '' });
      host.tap('operation.before', (operation) => {
        if (operation === 'bad') throw new Error('broken');
      });
    },
  });
  await using host = await createTestHost(plugin, { manifest, services });
  const before = host.hook('operation.before');
  assert.equal(await before.promise('good', {} as never), undefined);
  await assert.rejects(before.promise('bad', {} as never), { code: 'HOOK_FAILED', message: /plugin lamp failed/ });
});

test('an optional service comes and goes with a scope of its own', async () => {
  const seen: string[] = [];
  const plugin = definePlugin({
    requires: { power, device },
    setup(host) {
      host.provide(lamp, { on: async () => '' });
      host.when(extra, async (service, scope) => {
        seen.push(await service.on());
        scope.defer('gone', () => void seen.push('gone'));
      });
    },
  });
  await using host = await createTestHost(plugin, { manifest, services });
  await host.appear(extra, { on: async () => 'first' });
  await host.disappear(extra);
  await host.appear(extra, { on: async () => 'second' });
  await host.stop();
  assert.deepEqual(seen, ['first', 'gone', 'second', 'gone']);
});

test('events reach the subscribers whose filter matches, the retained ones also those that come later', async () => {
  const seen: string[] = [];
  const plugin = definePlugin({
    requires: { power, device },
    setup(host) {
      host.provide(lamp, { on: async () => '' });
      host.bus.publish('lamp.state', { on: true });
      host.bus.subscribe(['lamp.*', 'system.**'], async (event) => {
        await pace(1);
        seen.push(`${event.topic} from ${event.source}`);
      });
    },
  });
  await using host = await createTestHost(plugin, { manifest, services });
  host.publish('system.power', { source: 'mains' });
  host.publish('other.topic', {});
  await eventually(() => seen.length > 0, 'an event');
  await pace(5);
  assert.deepEqual(seen, ['system.power from core']);
  assert.deepEqual([host.published[0]?.source, host.published[0]?.via], ['core', 'lamp']);
});

test('a grant implies its children and scopes, and a refusal says what would grant it', async () => {
  await using host = await createTestHost(quiet, { manifest, services, grants: { 'app.a.b': ['bridges.spi:flash'] } });
  const app = { kind: 'app', id: 'a.b' } as const;
  host.grants.require({ kind: 'operator', id: 'operator' }, 'bridges.spi');
  host.grants.require(app, 'bridges.spi:flash');
  host.grants.requireAny(app, 'bridges.spi');
  assert.ok(host.grants.holds({ kind: 'plugin', id: 'lamp' }, 'bridges.gpio:led'));
  assert.throws(() => host.grants.require(app, 'bridges.spi:other'), {
    code: 'CAPABILITY_DENIED',
    message: /app.yaml/,
  });
  assert.equal((await host.service(grants).refusals()).length, 1);
});

test('checkManifest names what does not agree', () => {
  assert.deepEqual(checkManifest(manifest, quiet), []);
  const wrong = {
    ...manifest,
    requires: { power: '^2.0.0', other: '^1.0.0' },
    taps: ['no.hook'],
    hooks: ['session.open'],
  };
  assert.equal(checkManifest(wrong, quiet).length, 5);
});

suite('the kit is the kernel of the device', () => {
  test('a plugin waits for a service in the range of its manifest, and so it does not start', async () => {
    const old = serviceRef<Lamp>('power', '1.1.0');
    const start = createTestHost(quiet, { manifest, services: [[old, { on: async () => '' }]] });
    await assert.rejects(start, { code: 'SERVICE_MISSING', message: /power \^1\.2\.0 .*test-power provides 1\.1\.0/ });
  });

  test('a manifest, a configuration and a grant that the Core refuses are refused', async () => {
    const cases: [code: string, message: RegExp, Partial<Parameters<typeof createTestHost>[1]>][] = [
      ['MANIFEST_INVALID', /requiers is not known/, { manifest: { ...manifest, requiers: {} } as PluginManifest }],
      ['MANIFEST_INVALID', /no hook nothing\.at\.all/, { manifest: { ...manifest, taps: ['nothing.at.all'] } }],
      ['MANIFEST_INVALID', /needs plugin-api \^9/, { manifest: { ...manifest, api: '^9.0.0' } }],
      ['PARAMS_INVALID', /bright is not known/, { config: { bright: true } }],
      ['CALLER_DENIED', /grant to operator/, { grants: { operator: ['bridges.spi'] } }],
      ['CAPABILITY_UNKNOWN', /bridges\.spi/, { grants: { 'app.a.b': ['bridge.spi'] } }],
    ];
    for (const [code, message, options] of cases) {
      await assert.rejects(createTestHost(quiet, { manifest, services, ...options }), { code, message });
    }
    const { config: _, ...bare } = manifest;
    await assert.rejects(createTestHost(quiet, { manifest: bare, services, config: { level: 3 } }), {
      code: 'PARAMS_INVALID',
    });
  });

  test('a service that is gone does not answer, from any provider', async () => {
    let kept: Lamp | undefined;
    let optional: Lamp | undefined;
    const plugin = definePlugin({
      requires: { power, device },
      setup(host, given) {
        kept = given.power;
        host.provide(lamp, { on: async () => 'lamp' });
        host.when(extra, (service) => {
          optional = service;
        });
      },
    });
    const host = await createTestHost(plugin, { manifest, services });
    await host.appear(extra, { on: async () => 'extra' });
    assert.equal(await optional?.on(), 'extra');
    await host.disappear(extra);
    const own = host.service(lamp);
    assert.throws(() => optional?.on(), {
      code: 'SERVICE_REVOKED',
      message: /extra was used after test-extra stopped/,
    });
    await host.stop();
    for (const gone of [own, kept]) assert.throws(() => gone?.on(), { code: 'SERVICE_REVOKED' });
    assert.throws(() => host.service(lamp), { code: 'SERVICE_MISSING' });
  });

  test('a plugin stops with a service that it requires, and starts again with the next one', async () => {
    await using host = await createTestHost(quiet, { manifest, services });
    const states = async () => (await host.service(pluginManager).list()).map(({ id, state }) => `${id} ${state}`);
    await host.disappear(power);
    assert.deepEqual(await states(), ['lamp waiting']);
    assert.deepEqual(host.leaks(), []);
    await host.appear(power, { on: async () => 'again' });
    assert.deepEqual(await states(), ['test-power active', 'lamp active']);
    assert.equal(await host.service(lamp).on(), 'level 3');
  });

  test('a service of the kernel is the one of the kernel, or what the test gives in its place', async () => {
    await using host = await createTestHost(quiet, { manifest, services });
    const [power1, own] = await host.service(pluginManager).list();
    assert.deepEqual([power1?.id, own?.id, own?.generation], ['test-power', 'lamp', 1]);
    assert.equal((await host.service(pluginManager).restart('lamp')).generation, 2);
    const list = async () => [];
    await using other = await createTestHost(quiet, {
      manifest,
      services: [...services, given(pluginManager, { list })],
    });
    assert.deepEqual(await other.service(pluginManager).list(), []);
  });

  test('a plugin outside of the thread of the Core neither loads others nor answers at once', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'dk-'));
    try {
      for (const hook of ['plugin.load', 'log.line']) {
        const file = join(folder, `${hook}.yaml`);
        const lines = ['id: far', 'version: 1.0.0', 'summary: far', 'api: ^1.0.0', 'main: far.mjs', `taps: [${hook}]`];
        writeFileSync(file, lines.join('\n'));
        const code = `export const plugin = { setup: (host) => host.tap('${hook}', () => undefined) };`;
        writeFileSync(join(folder, 'far.mjs'), code);
        const far = definePlugin({ setup: () => undefined });
        await assert.rejects(createTestHost(far, { manifest: file, isolation: 'worker' }), {
          code: 'ISOLATION_UNSUPPORTED',
          message: new RegExp(`hook ${hook} is answered`),
        });
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  test('kernel and plugin keep the clock that the test gives', async () => {
    const clock = virtualClock({ now: 1_000 });
    const seen: number[] = [];
    const plugin = definePlugin({
      requires: { power, device },
      setup(host) {
        host.provide(lamp, { on: async () => '' });
        host.scope.timeout('an hour', 3_600_000, () => void seen.push(host.clock.now()));
      },
    });
    await using host = await createTestHost(plugin, { manifest, services, clock });
    assert.equal(host.device.startedAt, 1_000);
    await clock.advance(3_600_000);
    assert.deepEqual(seen, [3_601_000]);
  });

  test('operations pass the gate of the device: capability, defaults, no unknown members, no wrong results', async () => {
    const table = new TestOperations();
    const reader: PluginManifest = {
      id: 'reader',
      version: '1.0.0',
      summary: 'reads',
      api: '^1.0.0',
      main: 'index.ts',
      requires: { operations: '^1.0.0' },
      taps: ['operation.before'],
    };
    const plugin = definePlugin({
      requires: { operations },
      setup(host, given) {
        const read = {
          name: 'reader.read',
          summary: 'reads',
          params: { type: 'object', properties: { bytes: { type: 'integer', default: 4 } } },
          result: { type: 'object', properties: { bytes: { type: 'integer' } }, required: ['bytes'] },
          capability: 'bridges.spi',
          errors: [],
          run: async ({ bytes }: { bytes: number }) => (bytes === 0 ? { nothing: true } : { bytes }),
        };
        host.scope.use('reader.read', given.operations.add(read));
        host.tap('operation.before', (name, { caller }) =>
          caller.id === 'busy' ? new CoreError('BUSY', { what: name, limit: '0 calls' }) : undefined,
        );
      },
    });
    const host = await createTestHost(plugin, {
      manifest: reader,
      services: [[operations, table]],
      grants: { 'app.flash': ['bridges.spi'], 'app.busy': ['bridges.spi'] },
    });
    const as = (id: string) => ({ caller: { kind: 'app', id } as const });
    assert.deepEqual(await table.run('reader.read', {}, as('flash')), { bytes: 4 });
    const refused: [string, object, object][] = [
      ['CAPABILITY_DENIED', {}, as('other')],
      ['UNAUTHENTICATED', {}, { caller: ANONYMOUS }],
      ['BUSY', {}, as('busy')],
      ['PARAMS_INVALID', { extra: 1 }, as('flash')],
      ['INTERNAL', { bytes: 0 }, as('flash')],
      ['TIMEOUT', {}, { ...as('flash'), deadline: 0 }],
    ];
    for (const [code, params, call] of refused)
      await assert.rejects(table.run('reader.read', params, call), { code }, code);
    assert.match(host.logged.find(({ level }) => level === 'error')?.message ?? '', /operation reader\.read failed/);
    await host.stop();
    assert.deepEqual(table.names, []);
    await assert.rejects(table.run('reader.read', {}, as('flash')), { code: 'UNAVAILABLE' });
  });
});
