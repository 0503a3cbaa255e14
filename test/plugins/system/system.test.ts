import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { ANONYMOUS, type Caller, CoreError, type PluginState } from '@device-core/plugin-api';
import { changes } from '@device-core/plugin-api/inside/services/changes';
import {
  type PluginManager,
  type PluginStatus,
  pluginManager,
  type SkuChange,
} from '@device-core/plugin-api/inside/services/plugin-manager';
import { operations, type StreamChannel } from '@device-core/plugin-api/services/operations';
import { createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import { plugin as operationsPlugin } from '../../../plugins/interface/operations/index.ts';
import { plugin } from '../../../plugins/interface/system/index.ts';
import { InstantChanges, settledChange } from '../../fixtures/changes.ts';
import { eventually, pace } from '../../fixtures/eventually.ts';

const MANIFEST = 'manifests/plugins/interface/system.yaml';
const OPERATOR: Caller = { kind: 'operator', id: 'operator' };
const APP: Caller = { kind: 'app', id: 'com.example.a' };

after(leakCheck());

const call = (caller: Caller) => ({ caller, signal: new AbortController().signal, deadline: Date.now() + 5_000 });

function status(id: string, state: PluginState = 'active', parts: Partial<PluginStatus> = {}): PluginStatus {
  const fixed = {
    version: '1.0.0',
    summary: id,
    isolation: 'inline',
    essential: false,
    since: 1,
    generation: 1,
  } as const;
  return { id, state, ...fixed, provides: {}, requires: {}, holds: [], ...parts };
}

async function start(
  list: readonly PluginStatus[] = [status('spi')],
  config: object = {},
  changed: readonly string[] = [],
) {
  const acted: string[] = [];
  const act = (verb: string) => async (id: string) => {
    acted.push(`${verb} ${id}`);
    return status(id);
  };
  const change: SkuChange = { added: [], removed: [], changed, affected: changed, stale: [], device: false };
  const manager: PluginManager = {
    list: async () => list,
    restart: act('restart'),
    enable: act('enable'),
    disable: act('disable'),
    release: act('release'),
    settings: async () => [],
    usage: async () => [],
    uses: async () => [],
    eventLoop: async () => ({ p50Ms: 0, p99Ms: 0, maxMs: 0, utilization: 0, stalls: 0, unattributed: 0 }),
    load: async () => ({
      minutePercent: 0,
      residentBytes: 1,
      heapBytes: 1,
      processors: 1,
      memory: { totalBytes: 2, availableBytes: 1 },
    }),
    sample: async () => [],
    apply: async ({ check = false } = {}) => {
      acted.push(check ? 'check' : 'apply');
      return change;
    },
  };
  const gate = await createTestHost(operationsPlugin, { manifest: 'manifests/plugins/interface/operations.yaml' });
  const table = gate.service(operations);
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    config,
    grants: { 'app.com.example.a': ['bridges.spi:flash'] },
    services: [
      [operations, table],
      [pluginManager, manager],
    ],
  });
  return {
    host,
    table,
    acted,
    // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested
    ask: (name: string, params: object = {}, caller: Caller = OPERATOR): Promise<any> =>
      table.invoke(name, params, call(caller)),
    async [Symbol.asyncDispose]() {
      await host.stop();
      assert.deepEqual(host.leaks(), []);
      await gate.stop();
    },
  };
}

describe('health', () => {
  it('has the shape of decisions D5, with a bridge that is down while no plugin speaks for one', async () => {
    await using system = await start();
    const { uptimeMs, ...health } = await system.ask('system.health');
    assert.ok(uptimeMs >= 0);
    delete health.components.walls; // of the kernel itself
    assert.deepEqual(health, {
      ok: true,
      status: 'ok',
      components: { spi: { status: 'okay', since: 1, version: '1.0.0' } },
      bridge: { link: 'down' },
      eventLoop: { p50Ms: 0, p99Ms: 0, maxMs: 0, utilization: 0, stalls: 0, unattributed: 0 },
    });
  });

  const OVERALL: readonly (readonly [string, readonly PluginStatus[], string, string])[] = [
    ['an essential plugin failed', [status('spi', 'failed', { essential: true })], 'failed', 'error'],
    ['an essential plugin is waiting', [status('spi', 'waiting', { essential: true })], 'failed', 'waiting'],
    ['an essential plugin is disabled', [status('spi', 'stopped', { essential: true })], 'failed', 'blocked'],
    ['a plugin failed', [status('spi', 'failed', { reason: 'boom', code: 'INTERNAL' })], 'degraded', 'error'],
    ['a plugin waits', [status('spi', 'waiting')], 'degraded', 'waiting'],
    ['a plugin is in quarantine', [status('spi', 'quarantined')], 'degraded', 'error'],
    ['a plugin was switched off on purpose', [status('spi', 'stopped')], 'ok', 'blocked'],
  ];
  for (const [what, list, expected, component] of OVERALL) {
    it(`is ${expected} when ${what}`, async () => {
      await using system = await start(list);
      const health = await system.ask('system.health');
      assert.deepEqual([health.status, health.ok], [expected, expected !== 'failed']);
      assert.equal(health.components.spi.status, component);
      assert.equal(health.components.spi.message, list[0]!.reason ?? list[0]!.state);
    });
  }

  it('takes what plugins say of themselves, their parts, the bridge and warnings', async () => {
    await using system = await start();
    system.host.tap('health.collect', (report) => {
      report.add('spi', { status: 'okay', message: 'two handles' });
      report.add('spi.flash', { status: 'blocked', code: 'TIMEOUT', message: 'no answer' });
      report.bridge({ link: 'up', firmware: '1.2.3' });
      report.warn('AUTH_OPEN', 'everybody is the operator');
    });
    const health = await system.ask('system.health');
    assert.equal(health.status, 'degraded');
    assert.deepEqual(health.components.spi, { status: 'okay', message: 'two handles', since: 1, version: '1.0.0' });
    assert.equal(health.components['spi.flash'].code, 'TIMEOUT');
    assert.deepEqual(health.bridge, { link: 'up', firmware: '1.2.3' });
    assert.deepEqual(health.warnings, [{ code: 'AUTH_OPEN', message: 'everybody is the operator' }]);

    const anonymous = await system.ask('system.health', {}, ANONYMOUS);
    assert.deepEqual(anonymous.components.walls, { status: 'okay' });
    delete anonymous.components.walls;
    assert.deepEqual(anonymous.components, { spi: { status: 'okay' }, 'spi.flash': { status: 'blocked' } });
    assert.deepEqual(anonymous.bridge, { link: 'up' });
    assert.equal(anonymous.warnings, undefined);
  });

  it('survives a probe that throws and one that hangs, within its limit', async () => {
    await using system = await start([status('spi')], { collectTimeoutMs: 80 });
    const hang = system.host.tap('health.collect', () => new Promise(() => undefined));
    const before = performance.now();
    const hung = await system.ask('system.health');
    assert.ok(performance.now() - before < 1_000);
    assert.deepEqual([hung.status, hung.components['system.probes'].code], ['degraded', 'TIMEOUT']);
    assert.match(hung.components['system.probes'].message, /^the probe of \S+ did not answer within \d+ ms$/);
    hang[Symbol.dispose]();
    system.host.tap('health.collect', () => {
      throw new Error('boom');
    });
    const broken = await system.ask('system.health');
    assert.match(broken.components['system.probes'].message, /boom/);
  });

  it('collects once for callers that ask at the same time', async () => {
    await using system = await start();
    let collections = 0;
    system.host.tap('health.collect', async () => {
      collections++;
      await pace(20);
    });
    await Promise.all(Array.from({ length: 50 }, () => system.ask('system.health', {}, ANONYMOUS)));
    assert.equal(collections, 1);
  });
});

describe('plugins', () => {
  const LIST = [
    status('operations', 'active', { provides: { operations: '1.0.0' } }),
    status('system', 'active', { requires: { operations: '^1.0.0' } }),
    status('http', 'active', { requires: { operations: '^1.0.0' }, provides: { 'http-server': '1.0.0' } }),
    status('spi', 'active', { requires: { operations: '^1.0.0' }, provides: { spi: '1.0.0' } }),
    status('user', 'active', { requires: { spi: '^1.0.0' } }),
  ];

  it('are listed, restarted, disabled and enabled', async () => {
    await using system = await start(LIST);
    assert.deepEqual(
      (await system.ask('plugins.list')).plugins.map(({ id }: PluginStatus) => id),
      LIST.map(({ id }) => id),
    );
    for (const verb of ['restart', 'disable', 'enable', 'release']) {
      const { plugin, deferred } = await system.ask(`plugins.${verb}`, { id: 'spi' });
      assert.deepEqual([plugin.id, deferred], ['spi', undefined]);
    }
    assert.deepEqual(system.acted, ['restart spi', 'disable spi', 'enable spi', 'release spi']);
  });

  for (const id of ['http', 'system', 'operations']) {
    it(`restart ${id} after the answer has left, and never disable it`, async () => {
      await using system = await start(LIST);
      const answer = await system.ask('plugins.restart', { id });
      assert.deepEqual([answer.plugin.id, answer.deferred, system.acted], [id, true, []]);
      await eventually(() => system.acted.length === 1, 'the restart');
      assert.deepEqual(system.acted, [`restart ${id}`]);
      await assert.rejects(system.ask('plugins.disable', { id }), { code: 'CALLER_DENIED' });
    });
  }

  it('that serve apps are disabled after the answer has left, for the operator comes over HTTP; broken ones at once', async () => {
    const rpc = (state: PluginState) => status('rpc', state, { provides: { 'app-sockets': '1.0.0' } });
    await using one = await start([...LIST, rpc('active')]);
    assert.equal((await one.ask('plugins.disable', { id: 'rpc' })).deferred, true);
    await eventually(() => one.acted.length === 1, 'the end of rpc');
    await using two = await start([...LIST, rpc('failed')]);
    assert.equal((await two.ask('plugins.disable', { id: 'rpc' })).deferred, undefined);
    assert.deepEqual([one.acted, two.acted], [['disable rpc'], ['disable rpc']]);
    await using three = await start([LIST[0]!, LIST[1]!, rpc('active')]);
    await assert.rejects(three.ask('plugins.disable', { id: 'rpc' }), { code: 'CALLER_DENIED' });
  });

  it('follow the SKU: told only, or as a change, for it may restart what carries the answer', async () => {
    await using one = await start(LIST, {}, ['spi']);
    const told = await one.ask('plugins.apply', { check: true });
    assert.deepEqual([told.state, told.difference.changed], ['checked', ['spi']]);
    assert.deepEqual(one.acted, ['check']);
    await assert.rejects(one.ask('plugins.apply'), {
      code: 'UNAVAILABLE',
      message: /enable plugin changes in the SKU/,
    });
    const kept = new InstantChanges();
    await one.host.appear(changes, kept);
    one.acted.length = 0;
    const { change } = await one.ask('plugins.apply');
    const { difference } = await settledChange(() => kept.get(change));
    assert.deepEqual((difference as SkuChange).changed, ['spi']);
    assert.deepEqual(one.acted, ['check', 'check', 'apply']);
  });

  const REFUSALS: readonly (readonly [string, object, Caller, string])[] = [
    ['plugins.restart', { id: 'none' }, OPERATOR, 'PLUGIN_NOT_FOUND'],
    ['plugins.restart', {}, OPERATOR, 'PARAMS_INVALID'],
    ['plugins.restart', { id: 'spi' }, APP, 'CAPABILITY_DENIED'],
    ['plugins.disable', { id: 'spi' }, APP, 'CAPABILITY_DENIED'],
    ['plugins.release', { id: 'spi' }, APP, 'CAPABILITY_DENIED'],
    ['plugins.apply', {}, APP, 'CAPABILITY_DENIED'],
    ['plugins.list', {}, ANONYMOUS, 'UNAUTHENTICATED'],
    ['system.refusals', {}, APP, 'CAPABILITY_DENIED'],
    ['system.refusals', { limit: 1_000 }, OPERATOR, 'PARAMS_INVALID'],
    ['system.ping', {}, ANONYMOUS, 'UNAUTHENTICATED'],
  ];
  for (const [name, params, caller, code] of REFUSALS) {
    it(`refuse ${name} ${JSON.stringify(params)} of ${caller.kind} with ${code}`, async () => {
      await using system = await start(LIST);
      await assert.rejects(
        system.ask(name, params, caller),
        (thrown) => thrown instanceof CoreError && thrown.code === code,
      );
    });
  }
});

describe('the rest of the system', () => {
  it('tells its version to everybody and answers a ping', async () => {
    await using system = await start();
    const version = await system.ask('system.version', {}, ANONYMOUS);
    assert.deepEqual(Object.keys(version), ['service', 'version', 'api', 'sku']);
    assert.equal((await system.ask('system.ping', {}, APP)).pong, true);
  });

  it('lists the capabilities and what the caller holds', async () => {
    await using system = await start();
    const { capabilities, holds } = await system.ask('capabilities.list', {}, APP);
    assert.ok(capabilities.some(({ id }: { id: string }) => id === 'bridges.spi'));
    assert.deepEqual(holds, ['bridges.spi:flash']);
    assert.deepEqual((await system.ask('capabilities.list')).holds.length, capabilities.length);
  });

  it('lists the last refusals, newest first', async () => {
    await using system = await start();
    for (const capability of ['system.apps', 'system.logs'] as const)
      assert.throws(() => system.host.grants.require(APP, capability));
    const { refusals } = await system.ask('system.refusals', { limit: 1 });
    assert.deepEqual(
      refusals.map((one: { capability: string }) => one.capability),
      ['system.logs'],
    );
  });

  it('loops bytes back', async () => {
    await using system = await start();
    const sent: string[] = [];
    const channel: StreamChannel = {
      id: '1',
      signal: new AbortController().signal,
      incoming: ReadableStream.from([Buffer.from('a'), Buffer.from('b')]),
      send: async (chunk) => void sent.push(Buffer.from(chunk).toString()),
    };
    const { done } = await system.table.openStream('system.loopback', {}, channel, call(APP));
    await done;
    assert.deepEqual(sent, ['a', 'b']);
  });
});
