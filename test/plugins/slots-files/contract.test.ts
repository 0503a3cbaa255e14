import assert from 'node:assert/strict';
import { once } from 'node:events';
import { globSync, readdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { type DeviceInfo, device, machine, slots } from '@device-core/plugin-api';
import { type Heeding, SlotWriter, slotRequests } from '@device-core/plugin-api/slot-files';
import { createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/life/slots-files/index.ts';
import { serve } from '../../../systemd/helpers/slots/serve.ts';
import { type SlotsBench, slotsContract } from '../../contracts/slots.ts';
import { startCore } from '../../fixtures/core.ts';
import { testKey } from '../../fixtures/image-folder.ts';
import { SlotDevice } from '../../fixtures/slot-device.ts';

after(leakCheck());

const PLUGINS = { operations: '^1.0.0', system: '^1.0.0', 'slots-files': '^1.0.0' };

function wished(box: SlotDevice): SlotsBench['image'] {
  return async ({ version, wrong }) => {
    const over = wrong === 'platform' ? { platform: { os: 'linux', arch: 'sparc', libc: 'glibc' } as const } : {};
    const folder = box.image(version, { over, ...(wrong === 'signature' && { key: testKey() }) });
    if (wrong !== 'content') return folder;
    const blobs = join(folder, 'blobs');
    for (const name of globSync('*.zst', { cwd: blobs })) writeFileSync(join(blobs, name), 'no zstd');
    return folder;
  };
}

describe('slots-files, asking a helper over its socket', () => {
  slotsContract(async (): Promise<SlotsBench> => {
    const box = new SlotDevice();
    const socket = join(box.root, 'slots.sock');
    let gate: ((progress: { done: number }) => void | Promise<void>) | undefined;
    const answer = slotRequests(new SlotWriter(box.places));
    const gated = (line: string, heeding: Heeding) =>
      answer(line, {
        ...heeding,
        progress: async (progress) => {
          await heeding.progress?.(progress);
          await gate?.(progress);
        },
      });
    const server = createServer().listen(socket);
    await once(server, 'listening');
    const ending = new AbortController();
    const over = serve(server, gated, { signal: ending.signal });
    const core = await startCore({ plugins: PLUGINS, config: { 'slots-files': { ...box.places, socket } } });
    return {
      slots: core.service(slots),
      machine: core.service(machine),
      image: wished(box),
      reboot: async () => box.start(),
      async held() {
        const go = Promise.withResolvers<void>();
        const begun = Promise.withResolvers<void>();
        gate = async () => {
          begun.resolve();
          await go.promise;
          gate = undefined;
        };
        await begun.promise;
        return go.resolve;
      },
      async [Symbol.asyncDispose]() {
        await core.stop();
        ending.abort();
        await over;
        box[Symbol.dispose]();
      },
    };
  });
});

describe('slots-files, asking somebody who is no helper', () => {
  const answers: readonly (readonly [what: string, said: string])[] = [
    ['nothing', ''],
    ['half an answer', '{"ok":'],
    ['what is no JSON', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['a text', '"ok"\n'],
    ['nobody’s answer', 'null\n'],
    ['an answer that is not known', '{"yes":1}\n'],
  ];
  for (const [what, said] of answers)
    test(`that says ${what}: SLOTS_UNAVAILABLE, and no plugin ends`, async () => {
      using box = new SlotDevice();
      const socket = join(box.root, 'slots.sock');
      const server = createServer((peer) => peer.once('data', () => peer.end(said))).listen(socket);
      await once(server, 'listening');
      try {
        await using core = await startCore({
          plugins: PLUGINS,
          config: { 'slots-files': { ...box.places, socket } },
        });
        await assert.rejects(core.service(slots).markGood(), { code: 'SLOTS_UNAVAILABLE' });
        assert.equal((await core.kernel.status()).state, 'ok');
      } finally {
        server.close();
      }
    });
});

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
    ...{
      service: 'device',
      sku: { id: 'test', title: 'Test', simulated: true },
      core: { version: '1.0.0', api: '1.0.0' },
    },
    ...{ auth: 'token', paths: { etc: '/e', var: '/v', run: '/r' }, startedAt: 0, grants: {} },
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
