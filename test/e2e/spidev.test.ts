/** A device with a real spidev as its users see it: the whole Core over the addon of spi-device, the simulated bridge at the other end of the wire. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { type Answer, CoreProcess, TemporaryRoot } from '../fixtures/core-process.ts';
import { eventually as until } from '../fixtures/eventually.ts';
import { SimControl } from '../fixtures/sim-control.ts';
import { noSpidev, SpidevLab } from '../fixtures/spidev.ts';

const SKU = fileURLToPath(new URL('../../manifests/skus/device.yaml', import.meta.url));
const EIO = 5;
const JEDEC = { handle: 'flash', tx: 'nw==', rxLen: 4 };

describe('a device with a spidev', { skip: noSpidev }, () => {
  let lab: SpidevLab;
  let root: TemporaryRoot;
  let core: CoreProcess;

  before(async () => {
    lab = await SpidevLab.open();
    root = new TemporaryRoot();
    core = await CoreProcess.startIn(lab.environment, root.path, '--sku', SKU, '--no-tcp');
  });
  after(async () => {
    await core?.[Symbol.asyncDispose]();
    root?.[Symbol.dispose]();
    await lab?.[Symbol.asyncDispose]();
  });

  const transfer = (): Promise<Answer> => core.post('/SPI_transfer_txrx', JEDEC);
  const heals = () =>
    until(async () => {
      const { status, body } = await transfer();
      return status === 200 ? body : undefined;
    }, 'the transfer works again');

  test('reads the flash behind the bridge, and a sensor, and tells what it runs on', async () => {
    assert.deepEqual((await transfer()).body, { ok: true, rx: '/+9AFA==' });
    const climate = await core.get('/sensors/environment');
    assert.equal(climate.status, 200, JSON.stringify(climate.body));
    const { body } = await core.get('/health');
    assert.equal(body.components['port-spidev'].status, 'okay');
    assert.equal(body.bridge.link, 'up');
  });

  test('carries more than a message of the driver holds', async () => {
    const bytes = Buffer.alloc(4096, 0xa5);
    const { status, body } = await core.post('/SPI_transfer_txrx', {
      handle: 'flash',
      tx: Buffer.concat([Buffer.from([0x03, 0, 0, 0]), bytes.subarray(4)]).toString('base64'),
      rxLen: 4096,
    });
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(Buffer.from(body.rx, 'base64').length, 4096);
  });

  test('a bridge without power is told as such, and the transfers come back with it', async () => {
    await lab.disconnect();
    const refused = await until(async () => {
      const { status, body } = await transfer();
      return status === 500 && body.error.startsWith('NOT_INITIALIZED') ? body.error : undefined;
    }, 'the refusal');
    assert.match(refused, /no (valid packet|HELLO_ACK)|PING/);
    await lab.connect();
    assert.deepEqual(await heals(), { ok: true, rx: '/+9AFA==' });
  });

  test('a driver that fails is opened again when the cause is gone', async () => {
    lab.fail('message', EIO);
    const { body } = await until(async () => {
      const answer = await core.get('/health');
      return answer.body.bridge.link === 'up' ? undefined : answer;
    }, 'the link is down');
    assert.match(JSON.stringify(body.bridge), /EIO/);
    lab.fail('message', undefined);
    assert.deepEqual(await heals(), { ok: true, rx: '/+9AFA==' });
  });

  test('a bridge that restarts costs no more than the operations in flight', async () => {
    using control = await SimControl.open(lab.folder);
    await control.ask({ crash: { transactions: 1, ms: 50 } });
    assert.deepEqual(await heals(), { ok: true, rx: '/+9AFA==' });
  });
});
