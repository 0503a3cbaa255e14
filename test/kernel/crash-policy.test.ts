import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, test } from 'node:test';
import type { PluginHost } from '@device-core/plugin-api';
import { type PluginStatus, pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { leakCheck, VirtualClock } from '@device-core/plugin-api/testing';
import { type MemoryKernel, type MemoryPlugin, memoryKernel } from '../fixtures/memory-kernel.ts';

after(leakCheck());

/** Starts while `sound` says so, and writes down when it was asked to. */
function shaky(clock: VirtualClock, sound: () => boolean): MemoryPlugin & { readonly starts: number[] } {
  const starts: number[] = [];
  const setup = () => {
    starts.push(clock.now());
    if (!sound()) throw new Error('no board');
  };
  return { id: 'shaky', provides: { shaky: '1.0.0' }, plugin: { setup }, starts };
}

const user: MemoryPlugin = { id: 'user', requires: { shaky: '^1.0.0' } };
const other: MemoryPlugin = { id: 'other' };

async function statusOf(core: MemoryKernel, id: string): Promise<PluginStatus> {
  const list = await core.kernel.service(pluginManager).list();
  return list.find((one) => one.id === id)!;
}

function crash(core: MemoryKernel, id: string): boolean {
  const error = new Error('escaped');
  error.stack = `Error: escaped\n    at file:///memory/${id}/timer.ts:1:1`;
  return core.kernel.crashed(error);
}

test('a plugin that fails to start is tried again after 1, 2, 4 and 8 s and quarantined the fifth time', async () => {
  const clock = new VirtualClock();
  const plugin = shaky(clock, () => false);
  await using core = memoryKernel([plugin, user, other], clock);
  await core.kernel.start();
  const first = await statusOf(core, 'shaky');
  assert.deepEqual([first.state, first.nextStartAt, first.restarts], ['failed', 1_000, 0]);
  await clock.advance(120_000);
  assert.deepEqual(plugin.starts, [0, 1_000, 3_000, 7_000, 15_000]);
  const last = await statusOf(core, 'shaky');
  assert.deepEqual([last.state, last.nextStartAt, last.restarts], ['quarantined', undefined, 4]);
  assert.deepEqual(last.lastError, {
    code: 'PLUGIN_START_FAILED',
    message: 'plugin shaky failed to start: no board',
    at: 15_000,
  });
  assert.deepEqual(await core.states(), { shaky: 'quarantined', user: 'waiting', other: 'active' });
});

test('pauses grow to 30 s while failures are too rare for a quarantine', async () => {
  const clock = new VirtualClock();
  const plugin = shaky(clock, () => true);
  await using core = memoryKernel([plugin], clock);
  await core.kernel.start();
  const pauses: number[] = [];
  for (let i = 0; i < 8; i++) {
    crash(core, 'shaky');
    await clock.advance(0);
    pauses.push((await statusOf(core, 'shaky')).nextStartAt! - clock.now());
    await clock.advance(200_000);
  }
  assert.deepEqual(pauses, [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  await clock.advance(600_000);
  crash(core, 'shaky');
  await clock.advance(0);
  assert.equal((await statusOf(core, 'shaky')).nextStartAt! - clock.now(), 1_000, 'a long run ends the row');
});

test('a crash stops the dependents, and brings them back with the plugin; the others do not notice', async () => {
  const clock = new VirtualClock();
  await using core = memoryKernel([shaky(clock, () => true), user, other], clock);
  await core.kernel.start();
  assert.equal(crash(core, 'shaky'), true);
  crash(core, 'shaky'); // the same run fails once
  await clock.advance(0);
  assert.deepEqual(await core.states(), { shaky: 'failed', user: 'waiting', other: 'active' });
  const { code, reason } = await statusOf(core, 'shaky');
  assert.deepEqual([code, reason], ['PLUGIN_CRASHED', 'plugin shaky crashed: escaped (timer.ts:1)']);
  await clock.advance(1_000);
  assert.deepEqual(await core.states(), { shaky: 'active', user: 'active', other: 'active' });
  const generations = (await core.kernel.status()).plugins.map(({ id, generation }) => `${id} ${generation}`);
  assert.deepEqual(generations, ['shaky 2', 'user 2', 'other 1']);
});

test('a start that hangs counts as a failure and delays no other meanwhile', async () => {
  let hangs = true;
  const clock = new VirtualClock();
  const setup = async ({ scope }: PluginHost) => {
    if (hangs) await once(scope.signal, 'abort');
  };
  const slow: MemoryPlugin = { id: 'shaky', provides: { shaky: '1.0.0' }, startTimeoutMs: 300, plugin: { setup } };
  await using core = memoryKernel([slow, user, other], clock);
  const started = core.kernel.start();
  await core.kernel.restart('other');
  await core.kernel.disable('user');
  assert.equal(clock.monotonic(), 0, 'other plugins are administered while one is on its way up');
  await clock.until(started);
  assert.equal(clock.monotonic(), 300);
  assert.equal((await statusOf(core, 'shaky')).code, 'PLUGIN_START_TIMEOUT');
  hangs = false;
  await clock.advance(1_000);
  assert.equal((await statusOf(core, 'shaky')).state, 'active');
});

for (const verb of ['release', 'enable', 'restart'] as const) {
  test(`${verb} ends a quarantine, and failures count from the beginning again`, async () => {
    let sound = false;
    const clock = new VirtualClock();
    await using core = memoryKernel([shaky(clock, () => sound), user], clock);
    await core.kernel.start();
    await clock.advance(60_000);
    assert.equal((await statusOf(core, 'shaky')).state, 'quarantined');
    assert.equal((await core.kernel[verb]('shaky')).nextStartAt, clock.now() + 1_000);
    sound = true;
    await core.kernel[verb]('shaky');
    assert.deepEqual(await core.states(), { shaky: 'active', user: 'active' });
  });
}

test('a release leaves a plugin without trouble alone', async () => {
  await using core = memoryKernel([other]);
  await core.kernel.start();
  assert.equal((await core.kernel.release('other')).generation, 1);
  await assert.rejects(core.kernel.release('nobody'), { code: 'PLUGIN_NOT_FOUND' });
});

test('a plugin that is disabled, or a Core that stops, in the pause after a failure starts nothing', async () => {
  const clock = new VirtualClock();
  const plugin = shaky(clock, () => false);
  const core = memoryKernel([plugin], clock);
  await core.kernel.start();
  await core.kernel.disable('shaky');
  await clock.advance(60_000);
  assert.deepEqual(plugin.starts, [0]);
  await core.kernel.enable('shaky');
  await core[Symbol.asyncDispose]();
  await clock.advance(60_000);
  assert.equal(plugin.starts.length, 2);
});
