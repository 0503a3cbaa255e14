import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { machine } from '@device-core/plugin-api/inside/services/machine';
import { slots } from '@device-core/plugin-api/inside/services/slots';
import { type DeviceInfo, device } from '@device-core/plugin-api/services/device';
import { createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/life/slots-files/index.ts';
import { type SlotsBench, slotsContract } from '../../contracts/slots.ts';
import { startCore } from '../../fixtures/core.ts';
import { SlotDevice } from '../../fixtures/slot-device.ts';
import { PLUGINS, wished } from './wished.ts';

after(leakCheck());

describe('slots-files, writing by itself', () => {
  slotsContract(async (): Promise<SlotsBench> => {
    const box = new SlotDevice();
    const core = await startCore({
      plugins: PLUGINS,
      config: { 'slots-files': { ...box.places, helper: 'inline' } },
    });
    return {
      slots: core.service(slots),
      machine: core.service(machine),
      image: wished(box),
      reboot: async () => box.start(),
      async [Symbol.asyncDispose]() {
        await core.stop();
        box[Symbol.dispose]();
      },
    };
  });

  test('ends when it is told, also before it began', async () => {
    using box = new SlotDevice();
    await using core = await startCore({
      plugins: PLUGINS,
      config: { 'slots-files': { ...box.places, helper: 'inline' } },
    });
    assert.equal((await core.service(slots).status()).writer, 'inline');
    const gone = AbortSignal.abort();
    await assert.rejects(core.service(slots).stage(box.image('1.1.0'), { signal: gone }), { code: 'CANCELLED' });
    const large = box.image('1.1.0', { files: { 'large.bin': Buffer.alloc(64 << 20) } });
    const control = new AbortController();
    const staging = core.service(slots).stage(large, { progress: () => control.abort(), signal: control.signal });
    await assert.rejects(staging, { code: 'CANCELLED' });
    assert.equal(box.record.slots.b.state, 'empty');
    assert.deepEqual(readdirSync(join(box.places.system, 'slots')), ['a']);
  });
});

/** What its health says. */
async function health(config: object): Promise<{ readonly components: object; readonly warnings: readonly string[] }> {
  const known: DeviceInfo = {
    service: 'device',
    sku: { id: 'test', title: 'Test', simulated: true },
    core: { version: '1.0.0', api: '1.0.0' },
    auth: 'token',
    paths: { etc: '/e', var: '/v', run: '/r' },
    startedAt: 0,
    grants: {},
  };
  const host = await createTestHost(plugin, {
    manifest: 'manifests/plugins/life/slots-files.yaml',
    services: [[device, { info: async () => known }]],
    config,
  });
  const components: Record<string, unknown> = {};
  const warnings: string[] = [];
  await host.hook('health.collect').promise({
    // At levels of isolation the host tells of its walls, too.
    add: (name, said) => void (name === 'slots-files' && Object.assign(components, { [name]: said.status })),
    bridge: () => undefined,
    warn: (code) => void warnings.push(code),
  });
  await host.stop();
  return { components, warnings };
}

test('says in its health that the Core writes its own slots, and that there is no helper', async () => {
  assert.deepEqual(await health({ helper: 'inline' }), {
    components: { 'slots-files': 'okay' },
    warnings: ['SLOTS_INLINE'],
  });
  assert.deepEqual(await health({ socket: '/nowhere/slots.sock' }), {
    components: { 'slots-files': 'error' },
    warnings: [],
  });
  assert.deepEqual(await health({ socket: '/proc/self/stat' }), {
    components: { 'slots-files': 'okay' },
    warnings: [],
  });
});
