/** The border over a socket: a plugin at level process whose program is made by the service `plugin-units`. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import {
  type PluginUnit,
  type PluginUnitStart,
  type PluginUnits,
  pluginUnits,
} from '@device-core/plugin-api/inside/services/plugin-units';
import { leakCheck } from '@device-core/plugin-api/testing';
import { Kernel } from '../../kernel/kernel.ts';
import { giverEntry } from '../../kernel/testing/entries.ts';
import { type LogLine, recordingLog } from '../../kernel/testing/log.ts';
import { Channel } from '../../plugins/apps/supervisor-systemd/channel.ts';
import { loadSocketNames } from '../../plugins/apps/supervisor-systemd/native.ts';
import { loadPeerReader } from '../../plugins/interface/identity/peer-credentials.ts';
import { eventually } from '../fixtures/eventually.ts';
import { part } from '../fixtures/scope.ts';

after(leakCheck());
const root = mkdtempSync(join(tmpdir(), 'unit-'));
after(() => rmSync(root, { recursive: true, force: true }));
const KETTLE = `export const plugin = { setup({ log }) {
  log.info({ env: Object.keys(process.env), argument: process.argv.at(-1) }, 'kettle is up');
} };`;
writeFileSync(join(root, 'index.mjs'), KETTLE);
writeFileSync(join(root, 'plugin.yaml'), '');

/** Programs without a service manager: each connects to a socket of the Core, as a unit does. */
class Spawned implements PluginUnits {
  readonly children: ChildProcess[] = [];
  readonly path = join(root, 'channel.sock');
  answer: 'unit' | 'none' | CoreError = 'unit';
  /** Resolved by a stop in the middle of a start. */
  hold: PromiseWithResolvers<void> | undefined;
  cause = 'it took too much memory';

  async start({ spec }: PluginUnitStart): Promise<PluginUnit | undefined> {
    if (this.answer === 'none') return undefined;
    if (this.answer instanceof CoreError) throw this.answer;
    await this.hold?.promise;
    const [names, reader] = await Promise.all([loadSocketNames(), loadPeerReader()]);
    await using outside = part();
    await using channel = await Channel.open({
      path: this.path,
      uid: process.getuid?.() ?? 0,
      identity: { peerOf: async (fd) => reader.read(fd) },
      copy: names.copy,
      log: outside.log,
    });
    const env = { HOME: '/nowhere', USER: 'plugin-50000' };
    const child = spawn(spec.program, [...spec.args, this.path], { env, stdio: 'ignore' });
    this.children.push(child);
    const fd = await channel.of(child.pid ?? 0);
    return { run: String(this.children.length), unit: 'plugin-kettle.service', pid: child.pid ?? 0, channel: fd };
  }

  async ended(run: string): Promise<string> {
    const child = this.children[Number(run) - 1]!;
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    return this.cause;
  }

  async stop(): Promise<void> {
    this.hold?.resolve();
    for (const child of this.children) child.kill('SIGKILL');
  }

  async list(): Promise<Readonly<Record<string, string>>> {
    return {};
  }
}

interface World extends AsyncDisposable {
  readonly kernel: Kernel;
  readonly units: Spawned;
  readonly logged: readonly LogLine[];
}

function world(units = new Spawned()): World {
  const logged: LogLine[] = [];
  const paths = { etc: join(root, 'etc'), var: join(root, 'var'), run: join(root, 'run') };
  const manifest = { id: 'kettle', version: '1.0.0', summary: 'kettle', api: '^1.0.0', main: './index.mjs' };
  const kettle = { id: 'kettle', manifest, main: join(root, 'index.mjs'), isolation: 'process' as const };
  const kernel = new Kernel({
    resolved: {
      sku: { skuVersion: 1, id: 'test', title: 'Test', plugins: {} },
      plugins: [
        giverEntry(pluginUnits, units),
        { ...kettle, tree: false, essential: false, enabled: false, config: {} },
      ],
      problems: [],
    },
    paths,
    log: recordingLog('kettle', logged),
  });
  return { kernel, units, logged, [Symbol.asyncDispose]: () => kernel.stop() };
}

const said = (logged: readonly LogLine[]) => logged.filter(({ message }) => message === 'kettle is up');

test('a plugin of a unit speaks over its socket, with an empty environment, and its program ends with it', async () => {
  await using one = world();
  await one.kernel.start();
  assert.equal((await one.kernel.enable('kettle')).state, 'active');
  const { fields } = (await eventually(() => said(one.logged)[0], 'its line')) as LogLine;
  assert.deepEqual(fields, { env: [], argument: one.units.path });
  assert.equal(existsSync(one.units.path), false, 'nothing can connect any more');
  const [child] = one.units.children;
  await one.kernel.disable('kettle');
  await eventually(() => child?.exitCode !== null || child?.signalCode !== null, 'the end of its program');
});

test('the end of a unit is a crash with the cause that its maker names, and the plugin starts again', async () => {
  await using one = world();
  await one.kernel.start();
  await one.kernel.enable('kettle');
  one.units.children[0]?.kill('SIGKILL');
  const status = () => one.kernel.status().then(({ plugins }) => plugins.find(({ id }) => id === 'kettle'));
  const crashed = await eventually(async () => {
    const found = await status();
    return found?.lastError && found;
  }, 'its crash');
  assert.equal(crashed?.lastError?.code, 'PLUGIN_CRASHED');
  assert.match(crashed?.lastError?.message ?? '', /it took too much memory/);
  await eventually(async () => (await status())?.state === 'active', 'it runs again', { ms: 20_000 });
  assert.equal(one.units.children.length, 2);
});

test('where there can be no unit a plugin runs as a process, and a refusal fails it', async () => {
  await using one = world();
  one.units.answer = 'none';
  await one.kernel.start();
  assert.equal((await one.kernel.enable('kettle')).state, 'active');
  assert.equal(one.units.children.length, 0);
  await one.kernel.disable('kettle');
  one.units.answer = new CoreError('SANDBOX_UNAVAILABLE', { what: 'plugin kettle', walls: 'its unit', reason: 'x' });
  const { state, code } = await one.kernel.enable('kettle');
  assert.deepEqual([state, code], ['failed', 'SANDBOX_UNAVAILABLE']);
});

test('a plugin that is stopped in the middle of its start leaves no program and no descriptor', async () => {
  await using one = world();
  one.units.hold = Promise.withResolvers<void>();
  await one.kernel.start();
  const starting = one.kernel.enable('kettle');
  await eventually(
    async () => (await one.kernel.status()).plugins.some(({ state }) => state === 'starting'),
    'a start',
  );
  await one.kernel.disable('kettle');
  await starting;
  await eventually(() => one.units.children.every(({ exitCode, signalCode }) => exitCode ?? signalCode), 'no program');
});
