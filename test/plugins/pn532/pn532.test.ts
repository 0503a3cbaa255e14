import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { decodeFrame, encodeFrame } from '../../../plugins/hardware/pn532/frame.ts';
import { APP, type BusCore, eventually, startBuses } from '../../fixtures/bus-core.ts';
import { FULL } from '../../fixtures/runs.ts';

after(leakCheck());

const start = (given?: readonly string[]) =>
  startBuses(
    {
      i2c: {
        version: '^1.0.0',
        config: { handles: [{ name: 'reader', endpoint: 'i2c0', address: 0x24 }], speeds: { i2c0: 400_000 } },
      },
      nfc: { version: '^1.0.0', config: { pollMs: 100 } },
      pn532: { version: '^1.0.0', config: { handle: 'reader' } },
    },
    given,
  );
const lay = (device: BusCore, tag: object | null) =>
  device.sim.ask({ chip: { endpoint: 'i2c0', address: 0x24, change: { tag } } });
const HELLO = { type: 'text', text: 'Hello', language: 'en' };
const HELLO_BYTES = 'd101085402656e48656c6c6f';
const UID = '04a1b2c3d4e5f6';

describe('pn532', () => {
  it('finds a tag, tells of its arrival and removal, and reads its records', async () => {
    await using device = await start();
    assert.deepEqual(await device.call('nfc.poll', {}), {});
    assert.equal((await device.refusal('nfc.read', {})).code, 'TAG_NOT_FOUND');
    await lay(device, { uid: UID, ndef: HELLO_BYTES });
    const tag = { uid: UID, technology: 'nfc-forum-type-2', atqa: 0x44, sak: 0 };
    assert.deepEqual(await device.call('nfc.read', {}), { tag, records: [HELLO] });
    const { readers } = await device.call<{ readers: object[] }>('nfc.readers', {});
    assert.deepEqual(readers, [{ name: 'front', chip: 'PN532', owner: 'plugin.pn532', tag }]);
    await lay(device, null);
    await eventually('its removal', async () => {
      const { readers: now } = await device.call<{ readers: { tag?: object }[] }>('nfc.readers', {});
      return now[0]!.tag === undefined ? true : undefined;
    });
  });

  it('writes records that are there when they are read, short and long', async () => {
    await using device = await start();
    // Each page of a tag is a transfer of its own: the long form begins at 255 bytes.
    for (const text of [...(FULL ? ['x', 'y'.repeat(400)] : ['y'.repeat(260)]), 'z'.repeat(255 - 7), '']) {
      await lay(device, { uid: UID, size: 504, ndef: HELLO_BYTES });
      const records =
        text === ''
          ? []
          : [
              { type: 'text', text, language: 'en' },
              { type: 'uri', uri: 'https://example.org/a' },
            ];
      await device.call('nfc.write', { records });
      assert.deepEqual((await device.call<{ records: object[] }>('nfc.read', {})).records, records);
    }
  });

  it('leaves an empty tag, or the old or new message, wherever a write is interrupted', async () => {
    await using device = await start();
    const records = [{ type: 'text', text: 'a longer text than there was before', language: 'en' }];
    let outcomes = '';
    for (let writes = 0; writes < 16; writes += FULL ? 1 : 3) {
      await lay(device, { uid: UID, ndef: HELLO_BYTES });
      await device.sim.ask({ chip: { endpoint: 'i2c0', address: 0x24, change: { removeAfterWrites: writes } } });
      const done = await device.call('nfc.write', { records }).then(
        () => true,
        (error) => {
          assert.equal(error.code, 'TAG_FAILED');
          return false;
        },
      );
      await device.sim.ask({ chip: { endpoint: 'i2c0', address: 0x24, change: { removeAfterWrites: 1_000 } } });
      const { records: found } = await device.call<{ records: { text?: string }[] }>('nfc.read', {});
      if (done) assert.deepEqual(found, records);
      else assert.ok(found.length === 0 || found[0]!.text === 'Hello', JSON.stringify(found));
      outcomes += done ? 'd' : found.length === 0 ? 'e' : 'o';
    }
    assert.match(outcomes, /^oe+d+$/);
  });

  it('refuses what cannot be done, and says why', async () => {
    await using device = await start(['sensors.nfc']);
    const write = { records: [HELLO] };
    await lay(device, { uid: UID, locked: true, ndef: HELLO_BYTES });
    assert.match((await device.refusal('nfc.write', write)).message, /locked/);
    await lay(device, { uid: UID, size: 48 });
    const large = { records: [{ ...HELLO, text: 'x'.repeat(100) }] };
    assert.match((await device.refusal('nfc.write', large)).message, /room for 46 bytes/);
    await lay(device, { uid: '01020304', sak: 0x08 });
    assert.match((await device.refusal('nfc.read', {})).message, /no NFC Forum Type 2 tag/);
    await lay(device, { uid: UID, ndef: 'd101ff54' });
    assert.match((await device.refusal('nfc.read', {})).message, /malformed/);
    assert.equal((await device.refusal('nfc.read', { reader: 'back' })).code, 'READER_NOT_FOUND');
    assert.equal((await device.refusal('nfc.write', { records: [{ type: 'song' }] })).code, 'PARAMS_INVALID');
    await device.call('nfc.poll', {}, APP);
    assert.equal(
      (await device.refusal('nfc.poll', {}, { kind: 'app', id: 'com.example.other' })).details.capability,
      'sensors.nfc',
    );
  });

  it('is named in health while the chip is away, and is set up again when it is back', async () => {
    await using device = await start();
    await lay(device, { uid: UID, ndef: HELLO_BYTES });
    await device.call('nfc.read', {});
    await device.sim.ask({ plug: { endpoint: 'i2c0', address: 0x24, there: false } });
    await eventually('the trouble', async () =>
      (await device.health('nfc')).code === 'READER_FAILED' ? true : undefined,
    );
    await device.sim.ask({ plug: { endpoint: 'i2c0', address: 0x24, there: true } });
    await eventually('the recovery', async () => ((await device.health('nfc')).status === 'okay' ? true : undefined));
    assert.deepEqual((await device.call<{ records: object[] }>('nfc.read', {})).records, [HELLO]);
  });
});

describe('frames of the PN532', () => {
  it('are as the user manual shows them, and refused when they are damaged', () => {
    assert.equal(Buffer.from(encodeFrame(0x02, new Uint8Array(0))).toString('hex'), '0000ff02fed4022a00');
    const answer = Buffer.from('0000ff06fad50332010607e800', 'hex');
    assert.deepEqual([...decodeFrame(answer, 0x02)], [0x32, 1, 6, 7]);
    for (let byte = 0; byte < answer.length - 1; byte++) {
      const damaged = Buffer.from(answer);
      damaged[byte]! ^= 0x10;
      assert.throws(() => decodeFrame(damaged, 0x02), { code: 'TAG_FAILED' }, `byte ${byte}`);
    }
    assert.throws(() => decodeFrame(Buffer.from('0000ff01ff7f8100', 'hex'), 0x02), /does not know the command/);
  });
});
