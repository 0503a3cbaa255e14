import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import { hostI2c } from '../../../plugins/hardware/host-i2c/plugin.ts';
import { ERRNO, FakeI2c, FakeKernel } from '../../fixtures/fake-kernel.ts';
import { startHostPlugin } from '../../fixtures/host-buses.ts';

after(leakCheck());

const BUS = { name: 'sensors', path: '/dev/i2c-1' };
/** Read one byte of register 3 of the chip at 0x50. */
const READ = Buffer.from('5000020001000180' + '03', 'hex');

async function start(kernel: FakeKernel | Error, bus: object = BUS, sys = '/nowhere') {
  const plugin = hostI2c(async () => {
    if (kernel instanceof Error) throw kernel;
    return kernel;
  });
  const device = await startHostPlugin(plugin, { id: 'host-i2c', config: { buses: [bus], sys }, endpoint: 'sensors' });
  return {
    ...device,
    ask: (body = READ, op = 1, deadlineMs = 100) => device.ask(op, body, deadlineMs),
    refusal: (body = READ, op = 1) => device.refusal(op, body),
  };
}

function adapter(kernel = new FakeKernel()) {
  const chips = new FakeI2c(0x50);
  kernel.nodes.set(BUS.path, chips);
  return { kernel, chips };
}

describe('host-i2c', () => {
  it('reads a register of a chip', async () => {
    const { kernel, chips } = adapter();
    chips.chips.get(0x50)!.memory[3] = 0x60;
    await using device = await start(kernel);
    assert.deepEqual([...(await device.ask())], [0x60]);
    assert.deepEqual(await device.health(), { status: 'okay', message: '/dev/i2c-1 of the host' });
    assert.equal(chips.timeout, 10, 'the kernel has the deadline, in units of 10 ms');
  });

  const OPENING: readonly (readonly [what: string, error: number | undefined, message: RegExp])[] = [
    ['no node', undefined, /^cannot open \/dev\/i2c-1: there is no such device node$/],
    [
      'no permission',
      ERRNO.EACCES,
      /: no permission; the group of the node and the groups of the user of the Core decide$/,
    ],
    ['a node without a device', ERRNO.ENXIO, /: no device is behind the node$/],
    ['another program', ERRNO.EBUSY, /: another program has it$/],
  ];
  for (const [what, refuses, message] of OPENING)
    it(`says why it cannot open a bus and opens it later: ${what}`, async () => {
      const { kernel, chips } = adapter();
      if (refuses === undefined) kernel.nodes.delete(BUS.path);
      else Object.assign(chips, { refuses });
      await using device = await start(kernel);
      const { status, code, message: said } = await device.health();
      assert.deepEqual([status, code], ['waiting', 'NOT_INITIALIZED']);
      assert.match(said ?? '', message);
      const error = await device.refusal();
      assert.deepEqual([error.code, error.details.executed], ['NOT_INITIALIZED', 'no']);
      assert.match(error.message, message.source.startsWith('^') ? /there is no such device node/ : message);
      Object.assign(chips, { refuses: undefined });
      kernel.nodes.set(BUS.path, chips);
      await device.clock.advance(1_000);
      await device.up();
      assert.equal((await device.ask()).length, 1);
      assert.equal((await device.health()).status, 'okay');
    });

  it('refuses a device of another kind, and an adapter of another name', async () => {
    const { kernel } = adapter();
    kernel.nodes.set('/dev/null', {});
    await using other = await start(kernel, { name: 'sensors', path: '/dev/null' });
    assert.match(
      (await other.health()).message ?? '',
      /cannot open \/dev\/null: the node belongs to another kind of device/,
    );
    const sys = mkdtempSync(join(tmpdir(), 'sys-'));
    mkdirSync(join(sys, 'class/i2c-dev/i2c-1'), { recursive: true });
    writeFileSync(join(sys, 'class/i2c-dev/i2c-1/name'), 'bcm2835 (i2c@7e205000)\n');
    await using named = await start(kernel, { ...BUS, adapter: 'bcm2835 (i2c@7e804000)' }, sys);
    const { message } = await named.health();
    assert.match(
      message ?? '',
      /\/dev\/i2c-1 is the adapter "bcm2835 \(i2c@7e205000\)" and not "bcm2835 \(i2c@7e804000\)"/,
    );
    assert.equal(kernel.descriptors, 0, 'nothing stays open');
    await using same = await start(kernel, { ...BUS, adapter: 'bcm2835 (i2c@7e205000)' }, sys);
    assert.equal((await same.health()).status, 'okay');
    rmSync(sys, { recursive: true });
  });

  const FAILURES: readonly (readonly [errno: number, code: string, status: string, executed: string])[] = [
    [ERRNO.EREMOTEIO, 'BRIDGE_FAILED', 'NACK', 'unknown'],
    [ERRNO.ENXIO, 'BRIDGE_FAILED', 'NACK', 'unknown'],
    [ERRNO.ETIMEDOUT, 'BRIDGE_FAILED', 'TIMEOUT', 'unknown'],
    [ERRNO.EBUSY, 'BRIDGE_FAILED', 'BUSY', 'no'],
    [ERRNO.EAGAIN, 'BRIDGE_FAILED', 'BUSY', 'unknown'],
    [ERRNO.EINVAL, 'BRIDGE_FAILED', 'INVALID', 'no'],
    [ERRNO.EOPNOTSUPP, 'BRIDGE_FAILED', 'UNSUPPORTED', 'no'],
    [ERRNO.EIO, 'BRIDGE_FAILED', 'IO_ERROR', 'unknown'],
  ];
  it('has a word for what the kernel refuses, and goes on', async () => {
    const { kernel, chips } = adapter();
    await using device = await start(kernel);
    for (const [errno, ...expected] of FAILURES) {
      chips.fails = errno;
      const { code, details } = await device.refusal();
      assert.deepEqual([code, details.status, details.executed], expected, String(errno));
    }
    chips.fails = undefined;
    assert.equal((await device.ask()).length, 1);
  });

  it('tells that a device went in the middle of a transfer, and takes another one in its place', async () => {
    const { kernel, chips } = adapter();
    await using device = await start(kernel);
    const states: string[] = [];
    using _told = device.source.onState((state) => {
      states.push(state.state === 'up' ? (state.endpoints[0]?.boot ?? '') : state.reason);
    });
    chips.fails = ERRNO.ENODEV;
    kernel.nodes.delete(BUS.path);
    const { details } = await device.refusal();
    assert.deepEqual([details.status, details.executed], ['NOT_READY', 'unknown']);
    const another = new FakeI2c(0x50);
    another.identity = 'second';
    kernel.nodes.set(BUS.path, another);
    await device.clock.advance(1_000);
    await device.up();
    assert.deepEqual(states, ['first', '/dev/i2c-1 is gone', 'second']);
    assert.equal((await device.ask()).length, 1);
  });

  it('answers a caller in its time while the kernel does not return, and says so of the bus', async () => {
    const { kernel, chips } = adapter();
    const { promise, resolve } = Promise.withResolvers<void>();
    chips.gate = promise;
    await using device = await start(kernel);
    const first = device.refusal();
    const second = device.source
      .request('sensors', 1, READ, { callerMs: 500 })
      .catch((error: CoreError) => error.details);
    await device.clock.advance(100);
    const { code, details } = await first;
    assert.deepEqual([code, details.clock, details.executed], ['TIMEOUT', 'transfer', 'unknown']);
    await device.clock.advance(400);
    const { clock, executed } = (await second) as CoreError['details'];
    assert.deepEqual([clock, executed], ['caller', 'no']);
    assert.equal(chips.transfers, 1, 'one request is with the kernel');
    const waiting = Array.from({ length: 16 }, () => device.ask().catch((error: CoreError) => error.details.status));
    assert.equal(await waiting[15], 'BUSY');
    await device.clock.advance(4_600);
    assert.deepEqual(await device.health(), {
      status: 'error',
      code: 'HOST_BUS_HANGS',
      message: 'the driver of sensors (/dev/i2c-1) does not return',
    });
    resolve();
    await Promise.all(waiting);
    assert.equal((await device.health()).status, 'okay');
    assert.equal(chips.transfers, 16);
  });

  it('stops while the kernel has a transfer, and closes the descriptor once it returns', async () => {
    const { kernel, chips } = adapter();
    const { promise, resolve } = Promise.withResolvers<void>();
    chips.gate = promise;
    const device = await start(kernel);
    const refused = device.refusal();
    await device[Symbol.asyncDispose]();
    assert.equal((await refused).details.executed, 'unknown');
    assert.equal(kernel.descriptors, 1);
    resolve();
    await new Promise((done) => setImmediate(done));
    assert.equal(kernel.descriptors, 0);
  });

  it('uses SMBus where an adapter has nothing else, and says where that has no form', async () => {
    const { kernel, chips } = adapter();
    chips.funcs = 0x0eff_0000 & ~1;
    await using device = await start(kernel);
    await device.ask(Buffer.from('50000100' + '0400' + '10010203', 'hex'));
    assert.deepEqual([...(await device.ask(Buffer.from('50000200' + '01000380' + '10', 'hex')))], [1, 2, 3]);
    assert.deepEqual([...(await device.ask(Buffer.from('50000200' + '01000180' + '11', 'hex')))], [2]);
    const { details } = await device.refusal(Buffer.from('50000300' + '010001800180' + '10', 'hex'));
    assert.deepEqual([details.status, details.executed], ['UNSUPPORTED', 'no']);
    const long = await device.refusal(Buffer.from('50000200' + '01002180' + '10', 'hex'));
    assert.match(String(long.details.reason), /knows SMBus alone/);
  });

  const BODIES: readonly (readonly [what: string, op: number, body: string, status: string])[] = [
    ['a speed', 2, '801a0600', 'UNSUPPORTED'],
    ['a recovery', 3, '', 'UNSUPPORTED'],
    ['an operation that is not there', 0x55, '', 'UNSUPPORTED'],
    ['no segments', 1, '50000000', 'INVALID'],
    ['17 segments', 1, `50001100${'0180'.repeat(17)}`, 'INVALID'],
    ['a body that ends too early', 1, '5000010004000102', 'INVALID'],
    ['4,097 bytes', 1, '500001000190', 'TOO_BIG'],
    ['ten bits', 1, '508001000180', 'UNSUPPORTED'],
  ];
  it('refuses requests without a form, before anything is clocked', async () => {
    const { kernel, chips } = adapter();
    chips.funcs = 1;
    await using device = await start(kernel);
    for (const [what, op, body, status] of BODIES) {
      const { details } = await device.refusal(Buffer.from(body, 'hex'), op);
      assert.deepEqual([details.status, details.executed], [status, 'no'], what);
    }
    assert.equal(chips.transfers, 0);
  });

  it('takes the speed that the device tree sets', async () => {
    const { kernel } = adapter();
    const sys = mkdtempSync(join(tmpdir(), 'sys-'));
    mkdirSync(join(sys, 'class/i2c-dev/i2c-1/device/of_node'), { recursive: true });
    writeFileSync(join(sys, 'class/i2c-dev/i2c-1/device/of_node/clock-frequency'), Buffer.from('00061a80', 'hex'));
    await using device = await start(kernel, BUS, sys);
    assert.equal((await device.ask(Buffer.from('801a0600', 'hex'), 2)).length, 0);
    assert.match(String((await device.refusal(Buffer.from('a0860100', 'hex'), 2)).details.reason), /to 400000 Hz$/);
    rmSync(sys, { recursive: true });
  });

  it('waits with the reason where koffi is absent', async () => {
    const reason = 'the package koffi cannot be loaded (no such module)';
    await using device = await start(new CoreError('NOT_INITIALIZED', { reason }));
    assert.match((await device.health()).message ?? '', /koffi cannot be loaded/);
    assert.equal((await device.refusal()).code, 'NOT_INITIALIZED');
  });
});
