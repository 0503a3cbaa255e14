/** Run by port.test.ts in a process in which /dev/spidev0.0 is there. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, describe, it } from 'node:test';
import { bridgePort } from '@device-core/plugin-api/services/bridge-port';
import { createTestHost, leakCheck, type TestHost } from '@device-core/plugin-api/testing';
import type { SpiAddon } from '../../../../plugins/hardware/port-spidev/addon.ts';
import { plugin } from '../../../../plugins/hardware/port-spidev/index.ts';
import { bridgePortContract } from '../../../contracts/bridge-port.ts';
import { eventually as looked } from '../../../fixtures/eventually.ts';
import { SimControl } from '../../../fixtures/sim-control.ts';
import { SpidevLab } from '../../../fixtures/spidev.ts';

const MANIFEST = new URL('../../../../manifests/plugins/hardware/port-spidev.yaml', import.meta.url).pathname;
const EACCES = 13;
const EIO = 5;

// The shim reads where its socket is at each connection: every test has a bridge of its own.
let lab: SpidevLab;

function start(config: object = {}): Promise<TestHost> {
  return createTestHost(plugin, { manifest: MANIFEST, config: { device: '/dev/spidev0.0', ...config } });
}

const eventually = (what: string, ask: () => Promise<boolean> | boolean) => looked(ask, what);

/** What the plugin says of itself. */
async function health(host: TestHost) {
  const told: { components: Record<string, { status: string; message?: string }>; warnings: string[] } = {
    components: {},
    warnings: [],
  };
  await host.hook('health.collect').promise({
    add: (id, component) => {
      told.components[id] = component as { status: string; message?: string };
    },
    bridge: () => undefined,
    warn: (code) => void told.warnings.push(code),
  });
  return { ...told.components['port-spidev']!, warnings: told.warnings };
}

before(async () => {
  lab = await SpidevLab.open();
  process.env.SPIDEV_SHIM_SOCKET = lab.socket;
});
after(() => lab[Symbol.asyncDispose]());
after(leakCheck());

describe('port of a spidev, contract', () => {
  bridgePortContract(async () => {
    const host = await start({ transactTimeoutMs: 100 });
    const control = await SimControl.open(lab.folder);
    return {
      port: host.service(bridgePort),
      mute: async () => void (await control.ask({ mute: { muted: true } })),
      unplug: async () => {
        lab.fail('open', 2);
        lab.fail('message', 108);
        await eventually('the port notices', () =>
          host
            .service(bridgePort)
            .transact(new Uint8Array(64))
            .then(
              () => false,
              ({ code }) => code === 'NOT_INITIALIZED',
            ),
        );
      },
      [Symbol.asyncDispose]: async () => {
        await control.ask({ mute: { muted: false } });
        lab.fail('open', undefined);
        lab.fail('message', undefined);
        control[Symbol.dispose]();
        await host.stop();
        assert.deepEqual(host.leaks(), []);
      },
    };
  });
});

describe('port of a spidev', () => {
  it('says why it cannot open the device, and works as soon as it can', async () => {
    lab.fail('open', EACCES);
    await using host = await start();
    const port = host.service(bridgePort);
    await assert.rejects(port.transact(new Uint8Array(64)), {
      code: 'NOT_INITIALIZED',
      message: /no permission.*EACCES/,
    });
    const { status, message } = await health(host);
    assert.equal(status, 'waiting');
    assert.match(message ?? '', /spidev0\.0.*no permission/);
    lab.fail('open', undefined);
    assert.equal((await port.transact(new Uint8Array(64))).length, 64);
    assert.equal((await health(host)).status, 'okay');
  });

  it('names a device node that is not there', async () => {
    await using host = await start({ device: '/dev/spidev9.1' });
    await assert.rejects(host.service(bridgePort).transact(new Uint8Array(64)), {
      code: 'NOT_INITIALIZED',
      message: /spidev9\.1.*no such device node.*ENOENT/,
    });
  });

  it('opens the device again after a transaction that failed', async () => {
    await using host = await start();
    const port = host.service(bridgePort);
    lab.fail('message', EIO);
    await assert.rejects(port.transact(new Uint8Array(64)), { code: 'TRANSFER_FAILED', message: /EIO/ });
    lab.fail('message', undefined);
    assert.equal((await port.transact(new Uint8Array(64))).length, 64);
  });

  it('sends nothing of the transactions that were given up behind one that hangs', async () => {
    await using host = await start({ transactTimeoutMs: 50 });
    const port = host.service(bridgePort);
    using control = await SimControl.open(lab.folder);
    await port.transact(new Uint8Array(64));
    const transactions = async () => (await control.ask({ counts: {} })).wire as { readonly transactions: number };
    await control.ask({ mute: { muted: true } });
    for (let n = 0; n < 4; n++) await assert.rejects(port.transact(new Uint8Array(64)), { code: 'TIMEOUT' });
    await control.ask({ mute: { muted: false } });
    const before = (await transactions()).transactions;
    // The driver gives up after a second; the next transaction gets a device that works.
    await eventually('the next one', () =>
      port.transact(new Uint8Array(64)).then(
        () => true,
        () => false,
      ),
    );
    const sent = (await transactions()).transactions - before;
    // On a busy machine the answer to the one before may have come too late for it.
    assert.ok(sent === 1 || sent === 2, `${sent} were sent, of which 4 and more had been given up`);
  });

  it('shows a floating wire where no bridge is', async () => {
    await using host = await start();
    const port = host.service(bridgePort);
    await lab.disconnect();
    assert.ok((await port.transact(new Uint8Array(64))).every((byte) => byte === 0xff));
    await lab.connect();
    const rx = await port.transact(new Uint8Array(64));
    assert.equal(rx[0], 0xcb);
  });

  it('asks a bridge without data-ready line ever less often, and at once after the host has spoken', async () => {
    await using host = await start({ pollMs: 40 });
    const port = host.service(bridgePort);
    const asked: number[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    using _listener = port.onReady((level) => {
      if (!level) return;
      asked.push(performance.now());
      if (asked.length === 7) resolve();
      void port.transact(new Uint8Array(64));
    });
    await promise;
    const gaps = asked.slice(1).map((at, index) => at - asked[index]!);
    assert.ok(gaps.at(-1)! > 30, `the last question came after ${gaps.at(-1)} ms`);
    assert.match((await health(host)).message ?? '', /polled/);
  });

  it('follows the data-ready line through gpiomon, pulls reset through gpioset, and asks when gpiomon is gone', async () => {
    const pin = { chip: 'gpiochip0', line: 7 };
    await using host = await start({ dataReady: pin, reset: pin, tools: lab.tools() });
    const port = host.service(bridgePort);
    const levels: boolean[] = [];
    using _listener = port.onReady((level) => void levels.push(level));
    await port.reset();
    // A bridge in BOOT has its line up.
    await eventually('the level', () => levels.at(-1) === true);
    assert.match((await health(host)).message ?? '', /gpiomon gpiochip0 7/);
    await lab.disconnect();
    await eventually('the warning', async () => (await health(host)).warnings.includes('DATA_READY_POLLED'));
    await lab.connect();
    await eventually('the line is watched again', async () => (await health(host)).warnings.length === 0);
  });

  it('asks where gpiomon is not there or knows no such line, and says so', async () => {
    for (const config of [
      { dataReady: { chip: 'gpiochip0', line: 7 }, tools: '/nowhere' },
      { dataReady: { chip: 'gpiochip0', line: 8 }, tools: lab.tools() },
    ]) {
      await using host = await start(config);
      const port = host.service(bridgePort);
      assert.ok((await health(host)).warnings.includes('DATA_READY_POLLED'));
      let asked = false;
      using _listener = port.onReady((level) => {
        asked ||= level;
      });
      await eventually('it asks', () => asked);
    }
  });
});

describe("spi-device's addon", () => {
  it('refuses more than 4096 bytes a message, and knows four modes', async () => {
    const addon = createRequire(import.meta.url)('spi-device') as SpiAddon & {
      openSync(
        bus: number,
        device: number,
        options: object,
      ): {
        getOptionsSync(): { readonly mode: number };
        transferSync(messages: readonly object[]): void;
        closeSync(): void;
      };
    };
    for (const mode of [0, 1, 2, 3]) {
      const device = addon.openSync(0, 0, { mode });
      assert.equal(device.getOptionsSync().mode, mode);
      device.transferSync([{ byteLength: 64, sendBuffer: Buffer.alloc(64), receiveBuffer: Buffer.alloc(64) }]);
      assert.throws(() => device.transferSync([{ byteLength: 4097, sendBuffer: Buffer.alloc(4097) }]), /EMSGSIZE/);
      device.closeSync();
    }
  });
});
