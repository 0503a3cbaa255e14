import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { ReceiveBuffer } from '../../../plugins/hardware/uart/receive-buffer.ts';
import { APP, base64, eventually, startBuses } from '../../fixtures/bus-core.ts';
import { runs } from '../../fixtures/runs.ts';

fc.configureGlobal({ numRuns: runs(100) });

after(leakCheck());

const HANDLES = [
  { name: 'loop', endpoint: 'uart0', baud: 1_000_000 },
  { name: 'gps', endpoint: 'uart1', baud: 9_600 },
];
const start = (grants?: readonly string[], config: object = {}) =>
  startBuses({ uart: { version: '^1.0.0', config: { handles: HANDLES, ...config } } }, grants);
type Read = { rx: string; lost: number };
const text = ({ rx }: Read) => Buffer.from(rx, 'base64').toString('latin1');

describe('uart', () => {
  it('writes and reads, and waits for the first byte as long as it was told', async () => {
    await using device = await start();
    const waiting = device.call<Read>('uart.read', { handle: 'loop', timeoutMs: 2_000 });
    const hello = Buffer.from('hello').toString('base64');
    assert.deepEqual(await device.call('uart.write', { handle: 'loop', tx: hello }), { written: 5 });
    assert.equal(text(await waiting), 'hello');
    assert.deepEqual(await device.call('uart.read', { handle: 'loop', timeoutMs: 20 }), {
      rx: '',
      lost: 0,
      lostPackets: 0,
    });
  });

  it('carries more than one request of the bridge holds, whole and in order', async () => {
    await using device = await start();
    // Slow enough for a host that is busy with something else: a UART does not wait, and the bridge holds but a few hundred bytes.
    await device.call('uart.configure', { handle: 'loop', baud: 115_200 });
    const bytes = Buffer.from(Array.from({ length: 10_000 }, (_, n) => n % 251));
    const stream = await device.open('uart.receive', { handle: 'loop' });
    assert.deepEqual(await device.call('uart.write', { handle: 'loop', tx: bytes.toString('base64') }), {
      written: 10_000,
    });
    const lost = async () => {
      type Counts = { name: string; lost: number; lostPackets: number };
      const { handles } = await device.call<{ handles: Counts[] }>('uart.handles', {});
      const loop = handles.find(({ name }) => name === 'loop')!;
      return loop.lost + loop.lostPackets;
    };
    // What was lost all the same was told.
    await eventually('all of it', async () => {
      const got = Buffer.concat(stream.chunks).length;
      assert.ok(got >= 10_000 || (await lost()) > 0, `${got} bytes, and none is lost`);
      return true;
    });
    if ((await lost()) === 0) assert.deepEqual(Buffer.concat(stream.chunks), bytes);
    stream.stop();
    await stream.ended;
  });

  it('drops the newest bytes without a reader, and tells how many', async () => {
    await using device = await start([], { bufferBytes: 256 });
    await device.call('uart.write', { handle: 'loop', tx: Buffer.alloc(300, 65).toString('base64') });
    const got = await eventually('the first 256', async () => {
      const { handles } = await device.call<{ handles: { name: string; lost: number }[] }>('uart.handles', {});
      return (
        handles.find(({ name, lost }) => name === 'loop' && lost === 44) &&
        device.call<Read>('uart.read', { handle: 'loop' })
      );
    });
    assert.deepEqual([text(got).length, got.lost], [256, 44]);
    assert.equal((await device.call<Read>('uart.read', { handle: 'loop' })).lost, 0);
  });

  it('names errors of the line in health, and overruns of the bridge', async () => {
    await using device = await start();
    await eventually('the error', async () => {
      await device.sim.ask({ garble: { endpoint: 'uart0', bits: 5 } });
      return (await device.health('uart')).code === 'UART_OVERRUN' ? true : undefined;
    });
    assert.match((await device.health('uart')).message!, /loop: overrun, framing/);
  });

  it('refuses wrong requests, and names the fault', async () => {
    await using device = await start(['bridges.uart:gps']);
    const REFUSED = [
      ['uart.write', { handle: 'loop', tx: '!' }, 'PARAMS_INVALID', /base64/],
      ['uart.write', { handle: 'none', tx: base64(1) }, 'HANDLE_NOT_FOUND', /UART handle none/],
      ['uart.read', { handle: 'loop', maxLen: 0 }, 'PARAMS_INVALID', /maxLen/],
      ['uart.configure', { handle: 'loop', baud: 19_000_000 }, 'TRANSFER_FAILED', /BAD_SPEED/],
      ['uart.configure', { handle: 'loop', parity: 'perhaps' }, 'PARAMS_INVALID', /parity/],
    ] as const;
    for (const [name, params, code, message] of REFUSED) {
      const error = await device.refusal(name, params);
      assert.equal(error.code, code);
      assert.match(error.message, message);
    }
    await device.call('uart.configure', { handle: 'gps', baud: 4_800, parity: 'even' }, APP);
    assert.equal((await device.refusal('uart.read', { handle: 'loop' }, APP)).code, 'CAPABILITY_DENIED');
  });
});

describe('the receive buffer', () => {
  it('gives back what it took, in order, and counts what it did not', () => {
    const step = fc.oneof(
      fc.uint8Array({ maxLength: 40 }).map((data) => ({ data })),
      fc.nat(30).map((most) => ({ most })),
      fc.nat(3).map((packets) => ({ packets })),
    );
    fc.assert(
      fc.property(fc.array(step), fc.integer({ min: 1, max: 64 }), (steps, limit) => {
        const buffer = new ReceiveBuffer(limit);
        const model: number[] = [];
        let lost = 0;
        let lostPackets = 0;
        for (const one of steps) {
          if ('data' in one) {
            const room = Math.max(0, limit - model.length);
            model.push(...one.data.subarray(0, room));
            lost += Math.max(0, one.data.length - room);
            buffer.push(one.data);
          } else if ('packets' in one) {
            lostPackets += one.packets;
            buffer.miss(one.packets);
          } else {
            const taken = buffer.take(one.most);
            assert.deepEqual([...taken.data], model.splice(0, one.most));
            assert.deepEqual([taken.lost, taken.lostPackets], [lost, lostPackets]);
            lost = 0;
            lostPackets = 0;
          }
        }
        assert.equal(buffer.empty, model.length === 0);
      }),
    );
  });
});
