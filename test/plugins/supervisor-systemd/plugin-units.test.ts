/** Plugins as units, without a systemd: which can be one, what their specification is, and what is told of the others. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CoreError, type PluginManifest } from '@device-core/plugin-api';
import { appSpecProblem } from '@device-core/plugin-api/inside/app-spec';
import type { GuestEnd, GuestRun } from '@device-core/plugin-api/inside/services/app-supervisor';
import type { PluginUnitStart } from '@device-core/plugin-api/inside/services/plugin-units';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { leakCheck } from '@device-core/plugin-api/testing';
import { pluginSpec, unfit } from '../../../plugins/apps/supervisor-systemd/plugin-spec.ts';
import { PluginUnitMaker, type PluginUnitsOptions } from '../../../plugins/apps/supervisor-systemd/plugin-units.ts';
import { PluginUsers } from '../../../plugins/apps/supervisor-systemd/plugin-users.ts';
import type { SystemdSupervisor } from '../../../plugins/apps/supervisor-systemd/systemd-supervisor.ts';
import { part } from '../../fixtures/scope.ts';

after(leakCheck());
const root = mkdtempSync(join(tmpdir(), 'units-'));
after(() => rmSync(root, { recursive: true, force: true }));

const PLACE = { service: 'device', run: join(root, 'run'), state: join(root, 'var'), uid: 50_000 };
const manifest = (more: Partial<PluginManifest> = {}): PluginManifest => ({
  id: 'kettle',
  version: '1.0.0',
  summary: 'Boils',
  api: '^1.0.0',
  main: './index.mjs',
  ...more,
});

function startOf(more: Partial<PluginManifest> = {}, network: 'none' | 'open' = 'none'): PluginUnitStart {
  const code = join(root, 'code');
  mkdirSync(join(code, 'node_modules'), { recursive: true });
  mkdirSync(join(root, 'node_modules'), { recursive: true });
  const read = [code, join(code, 'node_modules'), join(root, 'node_modules'), join(code, 'absent')];
  return {
    manifest: manifest(more),
    code,
    spec: {
      name: 'plugin-kettle',
      program: process.execPath,
      args: ['entry.js', '{}'],
      cwd: '/',
      env: {},
      files: { read, write: [] },
      sockets: [],
      network,
      nodes: [],
      limits: { memoryMaxMB: 448 },
    },
  };
}

const FITS: readonly [why: string, more: Partial<PluginManifest>, reason: RegExp | undefined][] = [
  ['without claims', {}, undefined],
  ['that reads what lies there for it', { files: { read: ['{etc}/kettle', '{etc}/kettle/*'] } }, undefined],
  ['that reads what each user sees', { files: { read: ['/sys/class/thermal', '/etc/os-release'] } }, undefined],
  ['with a long name', { id: `k${'e'.repeat(40)}` }, /its id does not fit/],
  ['that writes', { files: { write: ['{var}/kettle'] } }, /files\.write: \{var\}\/kettle/],
  ['that reads the settings of another', { files: { read: ['{etc}/kettles'] } }, /files\.read: \{etc\}\/kettles/],
  ['that reads the state', { files: { read: ['{var}/kettle'] } }, /files\.read: \{var\}\/kettle/],
  ['that reads a folder of another', { files: { read: ['/srv/music'] } }, /files\.read: \/srv\/music/],
];
for (const [why, more, reason] of FITS)
  test(`a plugin ${why} ${reason ? 'is no unit, and the reason names the claim' : 'can be a unit'}`, () => {
    const found = unfit({ manifest: manifest(more) }, PLACE);
    if (reason) assert.match(found ?? '', reason);
    else assert.equal(found, undefined);
  });

test('the specification of a unit is sound, shows its own files alone, and ends its words with the channel', () => {
  const spec = pluginSpec(startOf(), PLACE);
  assert.equal(appSpecProblem(spec), undefined);
  assert.deepEqual(spec.files, { read: [join(root, 'code'), join(root, 'code/node_modules')], write: [] });
  assert.deepEqual(spec.args, ['entry.js', '{}', join(root, 'run/plugins/kettle/channel.sock')]);
  assert.deepEqual(
    [spec.name, spec.uid, spec.network, spec.limits.memoryMaxMB],
    ['plugin-kettle', 50_000, 'none', 448],
  );
});

test('a unit listens where the whole network was claimed, or listening', () => {
  const listens = (capability: 'network' | 'network.listen' | 'network.outbound') =>
    pluginSpec(startOf({ capabilities: [capability] }, 'open'), PLACE).listen;
  assert.deepEqual([listens('network'), listens('network.listen'), listens('network.outbound')], [true, true, false]);
});

test('each plugin keeps its user over a restart, and gets no other one', async () => {
  const path = join(root, 'users.json');
  const numbers = async (...plugins: readonly string[]) => {
    await using one = part();
    const users = await PluginUsers.open(path, one.scope, one.log);
    const found: number[] = [];
    for (const plugin of plugins) found.push(await users.uidOf(plugin));
    return found;
  };
  assert.deepEqual(await numbers('kettle', 'constructor', 'kettle'), [50_000, 50_001, 50_000]);
  assert.deepEqual(await numbers('toaster', 'constructor'), [50_002, 50_001]);
});

interface Parts {
  readonly maker: PluginUnitMaker;
  readonly known: (readonly [guest: string, uid: number | undefined])[];
  health(): Promise<readonly string[]>;
}

/** A maker whose supervisor is the test's. */
function makerOf(one: ReturnType<typeof part>, supervisor: Partial<SystemdSupervisor>, required = false): Parts {
  const known: (readonly [string, number | undefined])[] = [];
  const options: PluginUnitsOptions = {
    supervisor: supervisor as SystemdSupervisor,
    users: () => PluginUsers.open(join(root, 'users.json'), one.scope, one.log),
    processes: { add: async ({ id }, { uid }) => void known.push([id, uid]), end: async () => undefined },
    place: PLACE,
    swept: Promise.resolve(),
    required,
    active: async () => ['kettle'],
    identity: { peerOf: async () => undefined },
    copy: (fd) => fd,
    scope: one.scope,
    log: one.log,
  };
  const maker = new PluginUnitMaker(options);
  const health = async () => {
    const told: string[] = [];
    await maker.tell({
      warn: (code: string, message: string) => told.push(`${code} ${message}`),
    } as unknown as HealthReport);
    return told;
  };
  return { maker, known, health };
}

test('a warden that refuses makes a process of a plugin, and the health says why', async () => {
  await using one = part();
  const refused = new CoreError('WARDEN_REFUSED', { what: 'put of plugin-kettle', reason: '128 guests are the limit' });
  const { maker, known, health } = makerOf(one, { start: () => Promise.reject(refused), end: async () => [] });
  assert.match((await health())[0] ?? '', /it started before supervisor-systemd did; restart the plugin/);
  assert.equal(await maker.start(startOf()), undefined);
  assert.deepEqual(known, [['kettle', 50_000]], 'it was known before it could have reached anybody');
  const [told = ''] = await health();
  assert.match(told, /^PLUGIN_UNIT_MISSING plugin kettle runs as a process of the Core, not as a unit: .*128 guests/);
});

test('where the SKU requires units a plugin that can be none does not start', async () => {
  await using one = part();
  const { maker } = makerOf(one, {}, true);
  await assert.rejects(maker.start(startOf({ files: { write: ['{var}/x'] } })), { code: 'SANDBOX_UNAVAILABLE' });
});

const RUN: GuestRun = { run: 'kettle.1', name: 'kettle', leader: { pid: 7, startTime: '1' }, pid: 7 };
const BEFORE: readonly [why: string, end: GuestEnd, result: RegExp | undefined][] = [
  ['that ends before it connects', { code: 3, cause: 'exit' }, /it ended by itself with exit code 3/],
  ['that is killed before it connects', { signal: 'SIGKILL', cause: 'signal' }, /it was ended by SIGKILL/],
  ['that systemd cannot start', { cause: 'start', reason: 'its folders' }, undefined],
];
for (const [why, end, result] of BEFORE)
  test(`a unit ${why} ${result ? 'fails its start' : 'is a process instead'}`, async () => {
    await using one = part();
    const ended: string[] = [];
    const { maker, health } = makerOf(one, {
      start: async () => RUN,
      ended: async () => end,
      end: async (name) => {
        ended.push(name);
        return [];
      },
    });
    if (result) await assert.rejects(maker.start(startOf()), result);
    else assert.equal(await maker.start(startOf()), undefined);
    assert.deepEqual(ended, ['kettle']);
    if (!result) assert.match((await health())[0] ?? '', /systemd cannot start its unit: its folders/);
  });

test('a plugin that is stopped while its unit starts leaves nothing, and is no failure of the device', async () => {
  await using one = part();
  const begun = Promise.withResolvers<void>();
  const over = Promise.withResolvers<GuestEnd>();
  const { maker } = makerOf(one, {
    async start() {
      begun.resolve();
      return RUN;
    },
    ended: () => over.promise,
    async end() {
      over.resolve({ cause: 'stopped' });
      return [];
    },
  });
  const starting = assert.rejects(maker.start(startOf()), { code: 'CANCELLED' });
  await begun.promise;
  await maker.stop('kettle');
  await starting;
  assert.deepEqual(await maker.list(), {});
});
