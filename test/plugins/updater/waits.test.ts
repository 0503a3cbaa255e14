/** Leases, consent, manifests and disks that an update waits for or fails at: nothing of it leaves an update half done or unexplained. */
import assert from 'node:assert/strict';
import { chmodSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { updates } from '@device-core/plugin-api/inside/services/updates';
import { leakCheck } from '@device-core/plugin-api/testing';
import { LONGEST_MANIFEST } from '../../../plugins/life/updater/asks.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { app, codeOf } from '../../fixtures/operation-calls.ts';
import { at, Device, FILES, NOW } from './device.ts';

after(leakCheck());

describe('reasons that hold a restart back', () => {
  it('is a lease of an app, until it ends, with the app, or by its time', async () => {
    for (const end of ['release', 'app', 'time', 'anyway'] as const) {
      await using device = await new Device().start();
      const lease = await device.run<{ id: string }>(
        'inhibit',
        { reason: 'a recording', ms: 3_600_000 },
        { caller: app('com.example.a') },
      );
      await device.run('install', { source: device.image() });
      const waiting = await device.becomes('waiting');
      assert.equal(waiting.rule, 'lease');
      assert.match(waiting.reason ?? '', /^app\.com\.example\.a holds it back until .*: a recording$/);
      assert.equal(
        await codeOf(device.run('release', { id: lease.id }, { caller: app('com.example.b') })),
        'CALLER_DENIED',
      );
      if (end === 'release') await device.run('release', { id: lease.id });
      if (end === 'app') device.host?.publish('app.state', { app: 'com.example.a', state: 'stopped' });
      if (end === 'time') await device.clock.advance(3_600_000);
      if (end === 'anyway') await device.run('apply', { anyway: true });
      await device.restarts();
    }
  });

  it('is a turn of speech', async () => {
    await using device = await new Device().start();
    device.host?.publish('audio.state', { state: 'speaking', turn: '1' });
    await device.run('install', { source: device.image() });
    assert.equal((await device.becomes('waiting')).rule, 'voice');
    device.host?.publish('audio.state', { state: 'idle' });
    await device.restarts();
  });

  it('is told by the service, too', async () => {
    await using device = await new Device().start();
    const service = device.host?.service(updates);
    const lease = await service?.inhibit('plugin.voice', 'a call', 60_000);
    assert.equal(lease?.until, NOW + 60_000);
    await device.run('install', { source: device.image() });
    await device.becomes('waiting');
    assert.equal((await service?.state())?.state, 'waiting');
    await service?.release(lease?.id ?? '');
    await device.restarts();
  });
});

interface Told {
  readonly state: string;
  readonly update: {
    readonly claims: readonly { readonly plugin: string; readonly capability: string }[];
    readonly digest: string;
  };
}

describe('consent', () => {
  it('is sought for what plugins newly ask', async () => {
    await using device = await new Device().start();
    const manifest = 'id: kettle\ncapabilities: [network.outbound, audio.capture]\n';
    const files = { ...FILES, 'manifests/plugins/apps/kettle.yaml': manifest };
    const source = device.image({ plugins: { kettle: '1.0.0' } }, files);
    const error = await device.run('install', { source }).catch((thrown) => thrown);
    assert.deepEqual([error.code, error.details.rule], ['UPDATE_REFUSED', 'consent']);
    const { state, update } = (await device.status()) as unknown as Told;
    assert.equal(state, 'available');
    assert.deepEqual(
      update.claims.map(({ plugin, capability }) => `${plugin} ${capability}`),
      ['kettle network.outbound', 'kettle audio.capture'],
    );
    assert.equal(await codeOf(device.run('apply')), 'UPDATE_REFUSED');
    assert.equal(await codeOf(device.run('apply', { accept: '0123456789ab' })), 'UPDATE_REFUSED');
    // The blob of the manifest was fetched to be looked at, and nothing else.
    assert.equal(device.blobs.length, 1);
    await device.run('apply', { accept: update.digest });
    await device.restarts();
  });
});

describe('a manifest', () => {
  it('that is too long to be looked at is refused, and nothing is fetched', async () => {
    await using device = await new Device().start();
    const manifest = `id: kettle\ncapabilities: [audio.capture]\n#${'x'.repeat(LONGEST_MANIFEST)}\n`;
    const files = { ...FILES, 'manifests/plugins/apps/kettle.yaml': manifest };
    const source = device.image({ plugins: { kettle: '1.0.0' } }, files);
    const error = await device.run('install', { source }).catch((thrown) => thrown);
    assert.equal(error.code, 'SYSTEM_IMAGE_INVALID');
    assert.match(error.message, /kettle\.yaml has \d+ bytes/);
    assert.deepEqual(device.blobs, []);
    assert.equal((await device.status()).state, 'idle');
  });
});

describe('the disk', () => {
  it('that refuses the history or the record does not end an update that works', async () => {
    if (process.getuid?.() === 0) return;
    await using device = await at('probation');
    chmodSync(device.folder, 0o500);
    try {
      await device.reaches('good');
    } finally {
      chmodSync(device.folder, 0o700);
    }
  });

  it('that is full while it stages leaves the slot empty, and says so', async () => {
    await using device = await new Device().start();
    device.slots.failing.stage = new CoreError('STORAGE_FULL', { file: '/slots/b', reason: 'no space left' });
    await device.run('install', { source: device.image() });
    const failed = await device.becomes('failed');
    assert.match(failed.reason ?? '', /the disk is full/);
    await device.run('install', { source: device.image() });
    await device.restarts();
  });

  it('helper that is silent is asked again, and a slot that cannot be activated is a failure', async () => {
    await using device = await at('staged');
    device.slots.failing.activate = new CoreError('SLOTS_UNAVAILABLE', { verb: 'activate it', reason: 'no helper' });
    await device.run('apply');
    assert.match((await device.becomes('failed')).reason ?? '', /no helper/);
    await eventually(() => device.slots.calls.includes('activate b'), 'the call');
  });
});
