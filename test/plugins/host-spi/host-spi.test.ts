/** A chip select of the host over a kernel in memory: what is sent comes back, each byte upside down. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { hostSpi } from '../../../plugins/hardware/host-spi/plugin.ts';
import { type SpixTransfer, transferBody } from '../../../plugins/hardware/spi/messages.ts';
import { ERRNO, FakeKernel, type FakeNode } from '../../fixtures/fake-kernel.ts';
import { startHostPlugin } from '../../fixtures/host-buses.ts';

after(leakCheck());

const TRANSFER: SpixTransfer = { cs: 1, mode: 3, speedHz: 8_000_000, tx: Uint8Array.of(1, 2, 3), rxLength: 4 };

async function start(sys = '/nowhere', node: FakeNode | undefined = undefined) {
  const kernel = new FakeKernel();
  const modes: number[] = [];
  const heads: string[] = [];
  const own: FakeNode = {
    ioctl(request, argument) {
      const bytes = argument as Buffer;
      if (request === 0x80046b05) return 0;
      if (request === 0x40046b05) {
        modes.push(bytes.readUInt32LE());
        return bytes.readUInt32LE() & 8 ? -ERRNO.EINVAL : 0;
      }
      if (request !== 0x40206b00) return -ERRNO.ENOTTY;
      heads.push(bytes.toString('hex', 0, 32));
      const length = bytes.readUInt32LE(16);
      const [from, to] = [kernel.offset(bytes, 0), kernel.offset(bytes, 8)];
      for (let at = 0; at < length; at++) bytes[to + at] = ~bytes[from + at]! & 0xff;
      return length;
    },
  };
  kernel.nodes.set('/dev/spidev0.1', node ?? own);
  const config = { buses: [{ name: 'flash', path: '/dev/spidev0.1' }], sys };
  const device = await startHostPlugin(
    hostSpi(async () => kernel),
    { id: 'host-spi', config, endpoint: 'flash' },
  );
  const transfer = (more: Partial<SpixTransfer> = {}) => transferBody({ ...TRANSFER, ...more });
  return { ...device, kernel, modes, heads, transfer };
}

describe('host-spi', () => {
  it('clocks bytes out and in, with zeros behind those to send', async () => {
    await using device = await start();
    assert.deepEqual([...(await device.ask(1, device.transfer()))], [0xfe, 0xfd, 0xfc, 0xff]);
    // tx_buf, rx_buf, len, speed_hz, delay, bits_per_word, cs_change, the rest
    assert.deepEqual(device.heads, [`2010000000000000${'2410000000000000'}04000000${'00127a00'}000008000000${'0000'}`]);
    await device.ask(1, device.transfer({ keepCs: true, csHigh: true }));
    assert.equal(device.heads[1]!.slice(52, 56), '0801');
    await device.ask(1, device.transfer({ csHigh: true }));
    assert.deepEqual(device.modes, [3, 7], 'a mode is set where it is another one');
  });

  it('refuses transfers that the node cannot do, before anything is clocked', async () => {
    await using device = await start();
    const refused = async (body: Buffer, op = 1) => (await device.refusal(op, body)).details;
    const cs = await refused(device.transfer({ cs: 0 }));
    assert.deepEqual([cs.status, cs.reason], ['INVALID', '/dev/spidev0.1 is chip select 1, and not 0']);
    const long = await refused(device.transfer({ tx: new Uint8Array(4_097) }));
    assert.deepEqual([long.status, long.reason], ['TOO_BIG', 'the parameter bufsiz of the module spidev is 4096']);
    assert.equal((await refused(device.transfer({ lsbFirst: true }))).status, 'BAD_MODE');
    assert.equal((await refused(Buffer.alloc(15))).status, 'INVALID');
    assert.equal((await refused(device.transfer(), 2)).status, 'UNSUPPORTED');
    assert.deepEqual(device.heads, []);
  });

  it('takes as many bytes as the module of the kernel was told', async () => {
    const sys = mkdtempSync(join(tmpdir(), 'sys-'));
    mkdirSync(join(sys, 'module/spidev/parameters'), { recursive: true });
    writeFileSync(join(sys, 'module/spidev/parameters/bufsiz'), '65536\n');
    await using device = await start(sys);
    assert.equal(
      (await device.ask(1, device.transfer({ tx: new Uint8Array(65_536), rxLength: 65_536 }))).length,
      65_536,
    );
    rmSync(sys, { recursive: true });
  });

  it('refuses a node of another kind', async () => {
    await using device = await start('/nowhere', {});
    assert.match(
      (await device.health()).message ?? '',
      /cannot open \/dev\/spidev0.1: the node belongs to another kind/,
    );
    assert.equal(device.kernel.descriptors, 0);
  });
});
