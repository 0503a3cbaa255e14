/** Serial lines of the host on pseudo terminals, by the calls of the kernel itself, and the errors that those do not have. */
import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { after, describe, it } from 'node:test';
import { uart } from '@device-core/plugin-api/services/uart';
import { leakCheck } from '@device-core/plugin-api/testing';
import { hostUart } from '../../../plugins/hardware/host-uart/plugin.ts';
import { differs, errorBits, formatIn, TTY, termios } from '../../../plugins/hardware/host-uart/structs.ts';
import { configureBody } from '../../../plugins/hardware/uart/messages.ts';
import { uartBusContract } from '../../contracts/uart-bus.ts';
import { eventually, startBuses } from '../../fixtures/bus-core.ts';
import { ERRNO, FakeKernel, type FakeNode } from '../../fixtures/fake-kernel.ts';
import { startHostPlugin } from '../../fixtures/host-buses.ts';
import { openPty } from '../../fixtures/pty.ts';

after(leakCheck());

const lineOf = (path: string) => ({ version: '^1.0.0', config: { lines: [{ name: 'serial', path }] } });

describe('a serial line of the simulated bridge', () => uartBusContract({ start: startBuses, endpoint: 'uart0' }));

describe('a serial line of the host, which its handle moves to by one line of the SKU', () =>
  uartBusContract({
    async start(plugins) {
      const pty = openPty();
      pty.echo();
      const device = await startBuses({ ...plugins, 'host-uart': lineOf(pty.path) });
      const stop = device[Symbol.asyncDispose].bind(device);
      return {
        ...device,
        async [Symbol.asyncDispose]() {
          await stop();
          pty.hangUp();
        },
      };
    },
    endpoint: 'serial',
  }));

describe('host-uart on a pseudo terminal', () => {
  const handles = [{ name: 'line', endpoint: 'serial', baud: 115_200 }];
  const start = (path: string) =>
    startBuses({ uart: { version: '^1.0.0', config: { handles } }, 'host-uart': lineOf(path) });

  it('keeps the Core alive while the line is full, and tells the caller', async () => {
    using pty = openPty();
    pty.pause();
    await using device = await start(pty.path);
    const tx = Buffer.alloc(4_096).toString('base64');
    const outcomes: string[] = [];
    // A terminal holds some thousand bytes; no reader takes them.
    for (let count = 0; count < 10 && !outcomes.includes('TIMEOUT'); count++)
      outcomes.push(
        await device.call('uart.write', { handle: 'line', tx }, undefined, 300).then(
          () => 'written',
          ({ code }) => code,
        ),
      );
    assert.ok(outcomes.includes('TIMEOUT'), outcomes.join());
    assert.equal((await device.health('uart')).status, 'okay', 'the Core answers');
    pty.resume();
    await eventually('a line that is free again', () =>
      device.call('uart.write', { handle: 'line', tx: 'AA==' }).then(
        () => true,
        () => false,
      ),
    );
  });

  it('says that the other end hung up', async () => {
    using pty = openPty();
    await using device = await start(pty.path);
    pty.hangUp();
    const told = await eventually('its health', async () => {
      const { status, message } = await device.health('host-uart.serial');
      return status === 'waiting' ? message : undefined;
    });
    assert.match(told, /hung up|failed|no such device node|no device/);
    assert.equal((await device.health('uart')).status, 'waiting');
  });

  it('names a format that the driver does not have', async () => {
    using pty = openPty();
    await using device = await start(pty.path);
    const error = await device.refusal('uart.configure', { handle: 'line', bits: 7, parity: 'even' });
    assert.match(error.message, /UNSUPPORTED \(the driver does not have this format\)/);
    const nine = await device.refusal('uart.configure', { handle: 'line', bits: 9 });
    assert.match(nine.message, /the kernel has no lines of nine bits/);
    await device.call('uart.configure', { handle: 'line', baud: 4_000_000 });
  });

  it('carries a megabyte in pieces, whole and in order', async () => {
    using pty = openPty();
    await using device = await start(pty.path);
    const service = device.core.service(uart);
    let received = 0;
    let wrong = 0;
    using _heard = service.onReceive('line', ({ data }) => {
      for (const byte of data) if (byte !== received++ % 251) wrong++;
    });
    const bytes = Buffer.from(Array.from({ length: 1_048_576 }, (_, index) => index % 251));
    for (let at = 0; at < bytes.length; at += 65_536) pty.say(bytes.subarray(at, at + 65_536));
    await eventually('all of it', () => received === bytes.length);
    assert.equal(wrong, 0);
  });
});

describe('host-uart over a kernel in memory', () => {
  const CONFIGURE = configureBody({ baud: 9_600, bits: 7, parity: 'odd', stop: 2, flow: 'rts-cts' });

  async function start(more: Partial<FakeNode> = {}) {
    const kernel = new FakeKernel();
    const stream = new PassThrough();
    const counts = Buffer.alloc(80);
    const calls: { readonly request: number; readonly argument: Buffer | number }[] = [];
    let settings = Buffer.alloc(44);
    const node: FakeNode = {
      stream: () => stream,
      ioctl(request, argument) {
        calls.push({ request, argument });
        if (request === TTY.set) settings = Buffer.from(argument as Buffer);
        else if (request === TTY.get) settings.copy(argument as Buffer);
        else if (request === TTY.counts) counts.copy(argument as Buffer);
        else if (request !== TTY.exclusive && request !== TTY.shared && request !== TTY.drain) return -ERRNO.ENOTTY;
        return 0;
      },
      ...more,
    };
    kernel.nodes.set('/dev/ttyS1', node);
    const config = { lines: [{ name: 'serial', path: '/dev/ttyS1' }] };
    const device = await startHostPlugin(
      hostUart(async () => kernel),
      { id: 'host-uart', config, endpoint: 'serial' },
    );
    return { ...device, kernel, stream, counts, calls };
  }

  it('sets raw bytes at any speed, in the form of the kernel', async () => {
    await using device = await start();
    await device.ask(1, CONFIGURE);
    const { argument } = device.calls.find(({ request }) => request === TTY.set)!;
    // iflag, oflag, cflag: CRTSCTS, CLOCAL, PARODD, PARENB, CREAD, CSTOPB, CS7, BOTHER; lflag; line, VMIN; both speeds
    const golden = `01000000${'00000000'}${'e01b0080'}${'00000000'}${'00'.repeat(7)}01${'00'.repeat(12)}8025000080250000`;
    assert.equal((argument as Buffer).toString('hex'), golden);
    assert.equal((await device.ask(3)).length, 0);
    assert.ok(device.calls.some(({ request, argument: value }) => request === TTY.drain && value === 1));
  });

  it('tells bytes, and the errors that the driver counted with them', async () => {
    await using device = await start();
    const events: (readonly number[])[] = [];
    using _heard = device.source.onEvent('serial', ({ op, data }) => void events.push([op, ...data]));
    await device.ask(1, CONFIGURE);
    const said = () => new Promise((resolve) => setImmediate(resolve));
    device.stream.write(Buffer.from([7]));
    await said();
    device.counts.writeInt32LE(1, 6 * 4); // frame
    device.counts.writeInt32LE(2, 9 * 4); // break
    device.stream.write(Buffer.from([8]));
    await said();
    assert.deepEqual(events, [
      [0x80, 7],
      [0x80, 8],
      [0x81, 4 | 8],
    ]);
  });

  const REFUSED: readonly (readonly [what: string, op: number, body: Buffer, status: string])[] = [
    ['nine bits', 1, configureBody({ baud: 9_600, bits: 9 }), 'UNSUPPORTED'],
    ['settings of a wrong form', 1, Buffer.alloc(3), 'INVALID'],
    ['4,097 bytes', 2, Buffer.alloc(4_097), 'TOO_BIG'],
    ['an operation that is not there', 9, Buffer.alloc(0), 'UNSUPPORTED'],
  ];
  it('refuses requests without a form', async () => {
    await using device = await start();
    for (const [what, op, body, status] of REFUSED)
      assert.deepEqual((await device.refusal(op, body)).details.status, status, what);
  });

  it('refuses a node that is no serial line', async () => {
    await using device = await start({ ioctl: () => -ERRNO.ENOTTY });
    assert.match((await device.health()).message ?? '', /cannot open \/dev\/ttyS1: the node belongs to another kind/);
    assert.equal(device.kernel.descriptors, 0);
  });

  it('sees a speed that the driver took otherwise', () => {
    const wanted = termios(formatIn(configureBody({ baud: 500_000 }))!);
    const taken = Buffer.from(wanted);
    assert.equal(differs(wanted, taken), undefined);
    taken.writeUInt32LE(460_800, 40);
    assert.equal(differs(wanted, taken), 'speed');
    assert.equal(errorBits(Buffer.alloc(80), Buffer.alloc(80, 1)), 15);
  });
});
