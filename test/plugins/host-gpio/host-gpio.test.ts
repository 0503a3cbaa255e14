import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { EndpointEvent } from '@device-core/plugin-api/services/endpoints';
import { leakCheck } from '@device-core/plugin-api/testing';
import { configureBody } from '../../../plugins/hardware/gpio/messages.ts';
import { hostGpio } from '../../../plugins/hardware/host-gpio/plugin.ts';
import { linesOf } from '../../../plugins/hardware/host-gpio/program/bus-scan.ts';
import { scanHost } from '../../../plugins/hardware/host-gpio/program/scan.ts';
import { GPIO, requestBytes } from '../../../plugins/hardware/host-gpio/structs.ts';
import { FakeGpio } from '../../fixtures/fake-gpio.ts';
import { FakeKernel } from '../../fixtures/fake-kernel.ts';
import { startHostPlugin } from '../../fixtures/host-buses.ts';
import { buildFolder, noCompiler } from '../../fixtures/responder.ts';

after(leakCheck());

const PATH = '/dev/gpiochip0';
const OUT = { line: 0, direction: 'out' } as const;
const IN = { line: 3, direction: 'in', edge: 'both' } as const;

async function start(more: object = {}, kernel = new FakeKernel(), chip = new FakeGpio(kernel, 20)) {
  kernel.nodes.set(PATH, chip);
  const config = { chips: [{ name: 'pins', path: PATH, ...more }], sys: '/nowhere' };
  const device = await startHostPlugin(
    hostGpio(async () => kernel),
    { id: 'host-gpio', config, endpoint: 'pins' },
  );
  return { ...device, kernel, chip };
}

const mask = (bits: number, values?: number) => {
  const body = Buffer.alloc(values === undefined ? 4 : 8);
  body.writeUInt32LE(bits);
  if (values !== undefined) body.writeUInt32LE(values, 4);
  return body;
};

describe('host-gpio', () => {
  it('asks for a line of the controller with all of its settings', async () => {
    await using device = await start({ first: 10 });
    await device.ask(3, configureBody({ line: 2, direction: 'in', pull: 'up', edge: 'rising', debounceUs: 5_000 }));
    const { flags } = device.chip.held.get(12)!;
    assert.deepEqual([flags, device.chip.debounceUs], [BigInt(4 | 256 | 16), 5_000]);
    await device.ask(3, configureBody({ line: 3, direction: 'open-drain', initial: 1 }));
    assert.deepEqual([device.chip.held.get(13)!.flags, device.chip.levels[13]], [BigInt(8 | 64 | 1024), 1]);
    assert.deepEqual([...(await device.ask(1, mask(8)))], [8, 0, 0, 0]);
  });

  it('writes several lines of one mask', async () => {
    await using device = await start();
    for (const line of [0, 1]) await device.ask(3, configureBody({ line, direction: 'out' }));
    await device.ask(2, mask(3, 2));
    assert.deepEqual(device.chip.levels.slice(0, 2), [0, 1]);
  });

  const REFUSED: readonly (readonly [what: string, op: number, body: Buffer, status: string, reason: RegExp])[] = [
    ['a line that is used', 3, configureBody({ line: 5, direction: 'out' }), 'BUSY', /^line 5 is used by sysfs$/],
    ['a line that the controller lacks', 3, configureBody({ line: 30, direction: 'out' }), 'INVALID', /has 20 lines/],
    [
      'edges of an output',
      3,
      configureBody({ line: 1, direction: 'out', edge: 'both' }),
      'INVALID',
      /no edges of an output/,
    ],
    ['a line without settings', 1, mask(16), 'NOT_READY', /line 4 is not configured/],
    ['a level of an input', 2, mask(8, 8), 'INVALID', /line 3 is an input/],
    ['settings of a wrong form', 3, Buffer.alloc(7), 'INVALID', /undefined/],
    ['an operation that is not there', 9, Buffer.alloc(0), 'UNSUPPORTED', /undefined/],
  ];
  it('refuses requests with their reason, and changes nothing', async () => {
    await using device = await start();
    device.chip.used.set(5, 'sysfs');
    await device.ask(3, configureBody(IN));
    for (const [what, op, body, status, reason] of REFUSED) {
      const { details } = await device.refusal(op, body);
      assert.deepEqual([details.status, details.executed], [status, 'no'], what);
      assert.match(String(details.reason), reason, what);
    }
    assert.deepEqual([...device.chip.held.keys()], [3]);
  });

  it('tells edges with the time that the kernel gave them, and counts those that it dropped', async () => {
    await using device = await start();
    await device.ask(3, configureBody(IN));
    const events: EndpointEvent[] = [];
    using _heard = device.source.onEvent('pins', (event) => void events.push(event));
    device.chip.drive(3, 1);
    device.chip.drops = 7;
    device.chip.drive(3, 0);
    assert.deepEqual(
      events.map(({ op, data, lost }) => [op, ...data, lost]),
      [
        [0x80, 3, 1, 0, 0, 0],
        [0x80, 3, 0, 0, 0, 7],
      ],
    );
    assert.equal(Math.round(device.clock.now() * 1_000 - events[0]!.atUs), 250);
    await device.ask(3, configureBody({ ...IN, edge: 'none' }));
    device.chip.drive(3, 1);
    assert.equal(events.length, 2);
  });

  it('gives lines back when it stops, at the level that is safe', async () => {
    const device = await start();
    await device.ask(3, configureBody({ ...OUT, initial: 1, safe: 0 }));
    await device.ask(3, configureBody({ line: 1, direction: 'out', initial: 1 }));
    await device[Symbol.asyncDispose]();
    assert.deepEqual(
      [device.chip.levels.slice(0, 2), device.chip.held.size, device.kernel.descriptors],
      [[0, 1], 0, 0],
    );
  });

  describe('over another process of the Core', () => {
    const LAMP = configureBody({ line: 1, direction: 'out', initial: 0 });
    const GUARD = configureBody({ line: 2, direction: 'out', initial: 1, safe: 0 });
    const again = ({ kernel, chip }: Awaited<ReturnType<typeof start>>) => {
      kernel.nextProcess();
      kernel.requests.length = 0;
      return start({}, kernel, chip);
    };

    it('keeps the level of an output that it finds with its settings, without a call that would set it', async () => {
      const former = await start();
      await former.ask(3, LAMP);
      await former.ask(2, mask(2, 2));
      former.kernel.store.end();
      await former[Symbol.asyncDispose]();
      assert.deepEqual([former.chip.levels[1], former.kernel.held.size], [1, 1]);
      await using device = await again(former);
      await device.ask(3, LAMP);
      assert.deepEqual(device.kernel.requests, [GPIO.chipInfo, GPIO.lineInfo]);
      assert.deepEqual([...(await device.ask(1, mask(2)))], [2, 0, 0, 0]);
      await device.ask(3, configureBody({ line: 1, direction: 'out', initial: 0 }));
      assert.equal(device.chip.levels[1], 0, 'settings of later have their level');
    });

    it('keeps the level where the settings are others now', async () => {
      const former = await start();
      await former.ask(3, LAMP);
      await former.ask(2, mask(2, 2));
      former.kernel.store.end();
      await former[Symbol.asyncDispose]();
      await using device = await again(former);
      await device.ask(3, configureBody({ line: 1, direction: 'open-drain', initial: 0 }));
      assert.deepEqual([device.chip.held.get(1)!.flags, device.chip.levels[1]], [BigInt(8 | 64 | 1024), 1]);
    });

    it('holds a line at its safe level meanwhile, and gives it its first level again', async () => {
      const former = await start();
      await former.ask(3, GUARD);
      former.kernel.store.end();
      await former[Symbol.asyncDispose]();
      assert.deepEqual([former.chip.levels[2], former.chip.held.size, former.kernel.held.size], [0, 1, 1]);
      await using device = await again(former);
      await device.ask(3, GUARD);
      assert.equal(device.chip.levels[2], 1);
    });

    it('tells the last edge of a line that no process listened to, and counts those before it', async () => {
      await using former = await start();
      await former.ask(3, configureBody(IN));
      former.chip.drive(3, 1);
      former.kernel.nextProcess(); // killed: it closes nothing
      for (const level of [0, 1, 0] as const) former.chip.drive(3, level);
      await using device = await start({}, former.kernel, former.chip);
      const events: EndpointEvent[] = [];
      using _heard = device.source.onEvent('pins', (event) => void events.push(event));
      await device.ask(3, configureBody(IN));
      device.chip.drive(3, 1);
      assert.deepEqual(
        events.map(({ data, lost }) => [...data, lost]),
        [
          [3, 0, 0, 0, 2],
          [3, 1, 0, 0, 0],
        ],
      );
    });

    it('gives up lines that no handle names, when it is told to', async () => {
      const former = await start();
      await former.ask(3, LAMP);
      former.kernel.store.end();
      await former[Symbol.asyncDispose]();
      former.kernel.nextProcess();
      for (const [, fd] of former.kernel.store.release()) former.kernel.close(fd);
      assert.deepEqual([former.chip.held.size, former.kernel.descriptors], [0, 0]);
    });
  });

  it('begins anew when its controller went: lines have to be configured again', async () => {
    await using device = await start();
    await device.ask(3, configureBody(IN));
    const boots: string[] = [];
    using _told = device.source.onState((state) => {
      boots.push(state.state === 'up' ? state.endpoints[0]!.boot : state.reason);
    });
    device.kernel.us += 5;
    device.kernel.hangUp(device.chip.held.get(3)!);
    await device.clock.advance(1_000);
    await device.up();
    assert.equal(boots[1], '/dev/gpiochip0: it hung up');
    assert.notEqual(boots[0], boots[2]);
    assert.equal((await device.refusal(1, mask(8))).details.status, 'NOT_READY');
  });

  it('refuses a controller of another label', async () => {
    await using device = await start({ label: 'pinctrl-bcm2711' });
    assert.match((await device.health()).message ?? '', /is the controller "pinctrl-fake" and not "pinctrl-bcm2711"/);
  });

  it('proposes lines for a SKU of what the kernel shows, and names the users', () => {
    const root = mkdtempSync(join(tmpdir(), 'dc-scan-'));
    const files: readonly (readonly [path: string, text: string])[] = [
      ['sys/bus/i2c/devices/i2c-1/name', 'bcm2835 (i2c@7e804000)\n'],
      ['sys/bus/i2c/devices/1-0068/name', 'ds1307'],
      ['sys/bus/i2c/devices/1-0050/name', 'a chip without a driver'],
      ['sys/bus/gpio/devices/gpiochip0/dev', '254:0'],
      ['sys/bus/gpio/devices/gpiochip4/dev', '254:4'],
      ['sys/class/tty/ttyS0/device/x', ''],
      ['sys/class/tty/ttyS0/type', '0\n'],
      ['sys/devices/usb1/ttyUSB0/device/x', ''],
      ['sys/class/net/can0/type', '280\n'],
      ['sys/class/net/can0/operstate', 'down\n'],
      ['sys/class/net/eth0/type', '1\n'],
      ['sys/bus/spi/devices/spi0.0/x', ''],
      ['sys/bus/spi/devices/spi0.1/x', ''],
      ['dev/serial/by-id/.keep', ''],
      ['proc/77/comm', 'agetty\n'],
      ['proc/77/fd/.keep', ''],
    ];
    const links: readonly (readonly [path: string, to: string])[] = [
      ['sys/bus/i2c/devices/1-0068/driver', '../../drivers/rtc-ds1307'],
      ['sys/bus/spi/devices/spi0.0/driver', '../../drivers/spidev'],
      ['sys/bus/spi/devices/spi0.1/driver', '../../drivers/m25p80'],
      ['sys/class/tty/ttyS0/device/driver', '../drivers/serial8250'],
      ['sys/devices/usb1/ttyUSB0/device/driver', '../drivers/pl2303'],
      ['sys/class/tty/ttyUSB0', '../../devices/usb1/ttyUSB0'],
      ['dev/serial/by-id/usb-Prolific-port0', '../../ttyUSB0'],
      ['proc/77/fd/0', '/dev/ttyUSB0'],
      ['proc/77/fd/1', '/dev/ttyUSB0'],
    ];
    for (const [path, text] of files) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), text);
    }
    for (const [path, to] of links) symlinkSync(to, join(root, path));
    const kernel = new FakeKernel();
    const chip = new FakeGpio(kernel, 8);
    chip.used.set(5, 'sysfs');
    kernel.nodes.set(PATH, chip);
    const expected = `  host-i2c:
    version: ^1.0.0
    config:
      buses:
        - { name: "i2c-1", path: "/dev/i2c-1", adapter: "bcm2835 (i2c@7e804000)" }
          # address 0x68 by the driver rtc-ds1307
  host-spi:
    version: ^1.0.0
    config:
      buses:
        - { name: "spi0-0", path: "/dev/spidev0.0" }
        - { name: "spi0-1", path: "/dev/spidev0.1" }
          # the driver m25p80
  host-gpio:
    version: ^1.0.0
    config:
      chips:
        - { name: "gpiochip0", path: "/dev/gpiochip0", label: "pinctrl-fake" }
          # line 5 by sysfs
        - { name: "gpiochip4", path: "/dev/gpiochip4" }
          # cannot open /dev/gpiochip4: there is no such device node
  host-uart:
    version: ^1.0.0
    config:
      lines:
        - { name: "ttyUSB0", path: "/dev/serial/by-id/usb-Prolific-port0" }
          # the process agetty (77)
  host-can:
    version: ^1.0.0
    config:
      interfaces:
        - { name: "can0", path: "can0", nominal: 500000 }
          # it is down; the bit rate of "ip -details link show can0" is to be its nominal`;
    assert.equal(linesOf(scanHost(root, kernel)).join('\n'), expected);
    assert.equal(kernel.descriptors, 0);
    assert.match(linesOf([]).join(), /the kernel shows no I2C/);
    rmSync(root, { recursive: true });
  });

  it('has the numbers and sizes of the headers of this machine', { skip: noCompiler }, () => {
    const folder = buildFolder();
    const source = join(folder, 'golden.c');
    const members = ['config', 'num_lines', 'event_buffer_size', 'fd', 'consumer'];
    writeFileSync(
      source,
      `#include <stddef.h>
#include <stdio.h>
#include <linux/gpio.h>
int main(void) {
  printf("%u %u %u ", (unsigned)GPIO_GET_CHIPINFO_IOCTL, (unsigned)GPIO_V2_GET_LINEINFO_IOCTL, (unsigned)GPIO_V2_GET_LINE_IOCTL);
  printf("%u %u %u\\n", (unsigned)GPIO_V2_LINE_SET_CONFIG_IOCTL, (unsigned)GPIO_V2_LINE_GET_VALUES_IOCTL, (unsigned)GPIO_V2_LINE_SET_VALUES_IOCTL);
  ${members.map((name) => `printf("%zu ", offsetof(struct gpio_v2_line_request, ${name}));`).join('\n  ')}
  printf("%zu\\n", sizeof(struct gpio_v2_line_event));
  return 0;
}
`,
    );
    execFileSync('cc', ['-o', join(folder, 'golden'), source]);
    const [numbers, offsets] = execFileSync(join(folder, 'golden'), { encoding: 'utf8' }).trim().split('\n');
    assert.equal(numbers, Object.values(GPIO).join(' '));
    assert.equal(offsets, '288 560 564 588 256 48');
    const bytes = requestBytes(
      4,
      { ...OUT, direction: 1, pull: 0, edge: 0, debounceUs: 0, initial: 1, safe: 255 },
      'x',
    );
    assert.equal(
      bytes.subarray(288, 344).toString('hex'),
      `0804${'00'.repeat(6)}01${'00'.repeat(23)}02${'00'.repeat(7)}01${'00'.repeat(7)}01${'00'.repeat(7)}`,
    );
  });
});
