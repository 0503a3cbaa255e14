/** CAN interfaces of the host over a kernel in memory: a bus whose frames come to each socket but the one that sent them. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { EndpointEvent } from '@device-core/plugin-api/services/endpoints';
import { leakCheck } from '@device-core/plugin-api/testing';
import {
  configureBody,
  EVERYTHING,
  filterBody,
  frameBody,
  frameIn,
  NOTHING,
} from '../../../plugins/hardware/can/messages.ts';
import { hostCan } from '../../../plugins/hardware/host-can/plugin.ts';
import { ERRNO, FakeKernel, type FakeNode } from '../../fixtures/fake-kernel.ts';
import { startHostPlugin } from '../../fixtures/host-buses.ts';

after(leakCheck());

const BUS = { name: 'vehicle', path: 'can0', nominal: 500_000, data: 2_000_000 };
const HANDLE = { name: 'x', endpoint: 'vehicle', nominal: 500_000, data: 2_000_000 };
/** The id of a frame of eleven bits, its length, and its bytes in the place of the kernel. */
const CLASSIC = `23010000020000000032${'00'.repeat(6)}`;

async function start() {
  const kernel = new FakeKernel();
  const state: { fails?: number; silent?: boolean } = {};
  const options: string[] = [];
  const sent: string[] = [];
  const node: FakeNode = {
    option: (level, name, value) => void options.push(`${level}/${name} ${value.toString('hex')}`),
    write(bytes) {
      if (state.fails !== undefined) return -state.fails;
      sent.push(bytes.toString('hex'));
      // Its own socket gets no copy; the fake tells both, and the first passes nothing as yet.
      if (!state.silent) queueMicrotask(() => kernel.tell(node, bytes));
      return bytes.length;
    },
  };
  kernel.nodes.set('can0', node);
  const device = await startHostPlugin(
    hostCan(async () => kernel),
    {
      id: 'host-can',
      config: { interfaces: [BUS] },
      endpoint: 'vehicle',
    },
  );
  return { ...device, kernel, node, options, sent, state };
}

describe('host-can', () => {
  it('sends a frame, and answers when a node has acknowledged it', async () => {
    await using device = await start();
    device.kernel.us = 2 ** 32 + 77;
    const answer = await device.ask(2, frameBody({ id: 0x123, data: Uint8Array.of(0, 50) }));
    assert.equal(Buffer.from(answer).readUInt32LE(), 77);
    assert.deepEqual(device.sent, [CLASSIC]);
    assert.ok(device.options.includes('101/1 23010000ffffffdf'), 'the witness looks for this id');
    const fd = frameBody({ id: 0x1234_5678, extended: true, fd: true, data: new Uint8Array(12).fill(9) });
    await device.ask(2, fd);
    assert.equal(device.sent[1], `78563492${'0c000000'}${'09'.repeat(12)}${'00'.repeat(52)}`);
  });

  it('ends a frame that no node acknowledges at its deadline', async () => {
    await using device = await start();
    device.state.silent = true;
    const refused = device.refusal(2, frameBody({ id: 1, data: Uint8Array.of(1) }));
    await device.clock.advance(100);
    const { code, details } = await refused;
    assert.deepEqual([code, details.executed], ['TIMEOUT', 'unknown']);
  });

  it('ends a frame whose controller leaves the bus, and takes the next one', async () => {
    await using device = await start();
    device.state.silent = true;
    const refused = device.refusal(2, frameBody({ id: 1, data: Uint8Array.of(1) }));
    device.kernel.tell(device.node, Buffer.from(`4000002008000000${'00'.repeat(8)}`, 'hex'));
    assert.deepEqual((await refused).details.status, 'BUS_OFF');
    device.state.silent = false;
    await device.ask(2, frameBody({ id: 1, data: Uint8Array.of(1) }));
  });

  const FAILURES: readonly (readonly [errno: number, status: string, executed: string])[] = [
    [ERRNO.ENETDOWN, 'BUS_OFF', 'no'],
    [ERRNO.ENOBUFS, 'BUSY', 'no'],
    [ERRNO.EINVAL, 'INVALID', 'no'],
  ];
  it('says why the kernel takes no frame', async () => {
    await using device = await start();
    for (const [errno, ...expected] of FAILURES) {
      device.state.fails = errno;
      const { details } = await device.refusal(2, frameBody({ id: 1, data: Uint8Array.of(1) }));
      assert.deepEqual([details.status, details.executed], expected);
    }
  });

  it('tells frames as the class has them, of both kinds of ids, remote and FD', async () => {
    await using device = await start();
    const events: EndpointEvent[] = [];
    using _heard = device.source.onEvent('vehicle', (event) => void events.push(event));
    device.kernel.tell(device.node, Buffer.from(CLASSIC, 'hex'), 3);
    const remote = Buffer.from(`785634d2${'08000000'}${'00'.repeat(8)}`, 'hex');
    device.kernel.tell(device.node, remote);
    device.kernel.tell(device.node, Buffer.from(`01000000${'40010000'}${'07'.repeat(64)}`, 'hex'));
    const frames = events.map((event) => frameIn(event)!);
    assert.deepEqual(
      frames.map(({ id, extended, rtr, fd, data, lost }) => [id, extended, rtr, fd, data.length, lost]),
      [
        [0x123, false, false, false, 2, 3],
        [0x1234_5678 | 0, true, true, false, 0, 0],
        [1, false, false, true, 64, 0],
      ],
    );
  });

  const ERRORS: readonly (readonly [what: string, word: string, control: string, state: number | undefined])[] = [
    ['a warning', '04000020', '08', 2],
    ['passive errors', '04000020', '20', 3],
    ['a controller that left the bus', '40000020', '00', 4],
    ['one that came back', '00010020', '00', 1],
    ['an error that changes nothing', '08000020', '00', undefined],
  ];
  it('tells states of the controller by the error frames of the kernel', async () => {
    await using device = await start();
    for (const [what, word, control, state] of ERRORS) {
      const events: EndpointEvent[] = [];
      using _heard = device.source.onEvent('vehicle', (event) => void events.push(event));
      device.kernel.tell(device.node, Buffer.from(`${word}08000000${'00'}${control}${'00'.repeat(4)}6080`, 'hex'));
      const expected = state === undefined ? [] : [[0x81, state, 0x60, 0x80, 0]];
      assert.deepEqual(
        events.map(({ op, data }) => [op, ...data]),
        expected,
        what,
      );
    }
  });

  it('gives the filters of its handles to the kernel', async () => {
    await using device = await start();
    await device.ask(3, filterBody(0, { id: 0x123, mask: 0x7ff }));
    await device.ask(3, filterBody(1, { id: 0x1234, mask: 0x1fff_ffff, extended: true }));
    assert.equal(device.options.at(-1), '101/1 23010000ff070080' + '34120080ffffff9f');
    await device.ask(3, EVERYTHING);
    assert.match(device.options.at(-1) ?? '', /^101\/1 0000000000000000/);
    await device.ask(3, NOTHING);
    assert.match(device.options.at(-1) ?? '', /^101\/1 ffffff1fffffff9f/);
  });

  it('takes the bit rates that the system has set, and names the line for others', async () => {
    await using device = await start();
    assert.equal((await device.ask(1, configureBody(HANDLE))).length, 0);
    const { details } = await device.refusal(1, configureBody({ ...HANDLE, nominal: 250_000 }));
    assert.equal(details.status, 'BAD_SPEED');
    const line = /ip link set can0 type can bitrate 250000 dbitrate 2000000 fd on$/;
    assert.match(String(details.reason), line);
    const mode = await device.refusal(1, configureBody({ ...HANDLE, mode: 'listen-only' }));
    assert.equal(mode.details.status, 'UNSUPPORTED');
  });

  it('says that an interface is absent or went, and opens it when it is back', async () => {
    await using device = await start();
    device.kernel.nodes.delete('can0');
    device.kernel.hangUp(device.node);
    assert.match((await device.health()).message ?? '', /can0: it hung up/);
    await device.clock.advance(1_000);
    assert.match((await device.health()).message ?? '', /cannot open can0: no device is behind the node/);
    device.kernel.nodes.set('can0', device.node);
    await device.clock.advance(1_000);
    await device.up();
    assert.equal((await device.health()).status, 'okay');
    assert.equal(device.kernel.descriptors, 4, 'two sockets, both watched');
  });
});
