/** How often the readers are looked at, on the virtual clock. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { type NfcTag, nfc } from '@device-core/plugin-api/services/nfc';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, given, leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/hardware/nfc/index.ts';

after(leakCheck());

const MANIFEST = join(import.meta.dirname, '../../../manifests/plugins/hardware/nfc.yaml');
const TAG: NfcTag = { uid: '04a1', technology: 'nfc-forum-type-2', atqa: 0x44, sak: 0 };
const nothing = { [Symbol.dispose]: () => undefined };

async function start(config: object = {}) {
  const clock = virtualClock();
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    clock,
    config,
    services: [given(operations, { add: () => nothing })],
  });
  const field: { tag: NfcTag | undefined; looks: number } = { tag: undefined, looks: 0 };
  const source = {
    async poll() {
      field.looks++;
      return field.tag;
    },
    read: async () => new Uint8Array(0),
    write: async () => undefined,
  };
  const register = () => host.service(nfc).register({ name: 'front', chip: 'fake' }, source, 'plugin.fake');
  /** Looks within so many seconds. */
  const looks = async (seconds: number) => {
    const before = field.looks;
    await clock.advance(seconds * 1_000);
    return field.looks - before;
  };
  return { clock, host, field, register, looks, [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() };
}

describe('readers', () => {
  it('are looked at often at first, once a second when nothing has happened for ten seconds, and never where there are none', async () => {
    await using device = await start();
    assert.equal(await device.looks(60), 0);
    assert.equal(device.clock.pending, 0);
    const registered = await device.register();
    assert.equal(await device.looks(9), 30);
    await device.looks(2);
    assert.equal(await device.looks(60), 60);
    await registered[Symbol.asyncDispose]();
    await device.looks(5);
    assert.deepEqual([await device.looks(60), device.clock.pending], [0, 0]);
  });

  it('are looked at often for ten seconds after a tag came or went', async () => {
    await using device = await start();
    await device.register();
    await device.looks(40);
    device.field.tag = TAG;
    assert.ok((await device.looks(1)) >= 1, 'it is noticed within a second');
    assert.equal((await device.host.service(nfc).readers())[0]!.tag, TAG);
    assert.equal(await device.looks(7.5), 25);
    await device.looks(5);
    assert.equal(await device.looks(60), 60, 'it lies there, and nothing happens');
    device.field.tag = undefined;
    await device.looks(1);
    assert.equal((await device.host.service(nfc).readers())[0]!.tag, undefined);
    assert.equal(await device.looks(7.5), 25);
    await device.looks(5);
    assert.equal(await device.looks(10), 10);
  });

  it('are looked at as often as ever where the SKU says so', async () => {
    await using device = await start({ pollMs: 500, idlePollMs: 500 });
    await device.register();
    await device.looks(60);
    assert.equal(await device.looks(10), 20);
  });
});
