/** Costs a simulated bridge as a process of its own for each case. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { type Bridge, bridge, type LinkState } from '@device-core/plugin-api/services/bridge';
import { bridgePort } from '@device-core/plugin-api/services/bridge-port';
import { endpoints } from '@device-core/plugin-api/services/endpoints';
import type { BridgeHealth, ComponentHealth } from '@device-core/plugin-api/services/health';
import { createTestHost, type TestHost } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/hardware/cbp/index.ts';
import { plugin as endpointsPlugin } from '../../../plugins/hardware/endpoints/index.ts';
import { plugin as portSim } from '../../../plugins/hardware/port-sim/index.ts';
import { EndpointClient } from '../../fixtures/endpoint-client.ts';
import { pace } from '../../fixtures/eventually.ts';
import { deviceWithBoard } from '../../fixtures/kept-board.ts';
import { SimControl } from '../../fixtures/sim-control.ts';

const manifest = (id: string) => new URL(`../../../manifests/plugins/hardware/${id}.yaml`, import.meta.url).pathname;

class Device implements AsyncDisposable {
  readonly port: TestHost;
  readonly hub: TestHost;
  readonly cbp: TestHost;
  readonly io: EndpointClient;

  constructor(port: TestHost, hub: TestHost, cbp: TestHost) {
    this.port = port;
    this.hub = hub;
    this.cbp = cbp;
    this.io = new EndpointClient(hub.service(endpoints));
  }

  static async start(): Promise<Device> {
    const port = await createTestHost(portSim, { manifest: manifest('port-sim'), services: [deviceWithBoard()] });
    const hub = await createTestHost(endpointsPlugin, { manifest: manifest('endpoints') });
    const services = [
      [bridgePort, port.service(bridgePort)],
      [endpoints, hub.service(endpoints)],
    ] as const;
    return new Device(port, hub, await createTestHost(plugin, { manifest: manifest('cbp'), services }));
  }

  get bridge(): Bridge {
    return this.cbp.service(bridge);
  }

  control(): Promise<SimControl> {
    return SimControl.open(this.port.device.paths.run);
  }

  /** Resolves when the link reaches the state. */
  async reaches(wanted: LinkState): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    using _watch = this.bridge.onLink((state) => {
      if (state === wanted) resolve();
    });
    await promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cbp[Symbol.asyncDispose]();
    await this.hub[Symbol.asyncDispose]();
    await this.port[Symbol.asyncDispose]();
  }
}

const SLOW = { cs: 0, mode: 0, speedHz: 125_000, tx: new Uint8Array(20_000), rxLength: 20_000 } as const;

async function failure(work: Promise<unknown>): Promise<CoreError> {
  const error = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CoreError, 'it should have failed');
  return error;
}

describe('plugin cbp over the simulator process', () => {
  it('is up when its start is over, and says so as an event and in the health report', async () => {
    await using device = await Device.start();
    const [event] = device.cbp.published;
    assert.equal(event?.topic, 'bridge.link');
    assert.equal((event.payload as { state: string }).state, 'up');

    const components = new Map<string, ComponentHealth>();
    let health: BridgeHealth | undefined;
    await device.cbp.hook('health.collect').promise({
      add: (name, component) => void components.set(name, component),
      bridge: (object) => {
        health = object;
      },
      warn: () => undefined,
    });
    assert.deepEqual(components.get('cbp'), { status: 'okay' });
    assert.equal(health?.link, 'up');
  });

  it('reads the flash of the demo board and its loops of GPIO', async () => {
    await using device = await Device.start();
    const { io } = device;
    const spi = { cs: 0, mode: 0, speedHz: 8_000_000 } as const;
    const id = await io.spixTransfer('spi0', { ...spi, tx: Uint8Array.of(0x9f), rxLength: 4 });
    assert.deepEqual([...id.subarray(1)], [0xef, 0x40, 0x14]);
    await io.gpioConfigure('gpio0', { line: 0, direction: 'out', initial: 1 });
    assert.equal(await io.gpioRead('gpio0', 0x100), 0x100);
  });

  it('answers GPIO within the time of a transfer that takes its real time on a slow bus', async () => {
    await using device = await Device.start();
    const from = performance.now();
    let over = false;
    const transfer = device.io.spixTransfer('spi1', { ...SLOW, tx: SLOW.tx.subarray(0, 8000), rxLength: 8000 });
    void transfer.then(() => {
      over = true;
    });
    let answers = 0;
    while (!over) {
      await device.io.gpioRead('gpio0', 1);
      answers++;
      await pace(5);
    }
    assert.ok(performance.now() - from >= 500, '8000 bytes at 125 kHz are 512 ms');
    assert.ok(answers > 10, `${answers} answers meanwhile`);
  });

  it('ends a transfer with LINK_RESET when the simulator is killed in the middle, and recovers', async () => {
    await using device = await Device.start();
    using control = await device.control();
    await control.ask({ die: { transactions: 40 } });
    const up = device.reaches('up');
    const error = await failure(device.io.spixTransfer('spi1', SLOW));
    assert.deepEqual([error.code, error.details.status], ['BRIDGE_FAILED', 'LINK_RESET']);
    const refused = await failure(device.io.gpioRead('gpio0', 1));
    assert.equal(refused.code, 'NOT_INITIALIZED');
    await up;
    assert.equal(await device.io.gpioRead('gpio0', 1), 0);
    const states = device.cbp.published.map(({ payload }) => (payload as { state: string }).state);
    assert.deepEqual(states, ['up', 'down', 'up']);
  });

  it('goes on through faults on the wire', async () => {
    await using device = await Device.start();
    using control = await device.control();
    await control.ask({ faults: { bitErrorRate: 1e-4, stale: 0.02, zeroed: 0.02, slipped: 0.02, truncated: 0.02 } });
    const tx = Buffer.alloc(3000, 'noise ');
    // What is lost is sent again, which takes its time on a busy machine.
    const rx = await device.io.spixTransfer('spi1', { ...SLOW, tx, rxLength: 3000 }, { deadlineMs: 10_000 });
    assert.ok(tx.equals(rx));
  });

  it('times out a slow answer and takes the next request', async () => {
    await using device = await Device.start();
    using control = await device.control();
    await control.ask({ slow: { endpoint: 'gpio0', ms: 300 } });
    assert.equal((await failure(device.io.gpioRead('gpio0', 1, { deadlineMs: 30 }))).code, 'TIMEOUT');
    await control.ask({ slow: { endpoint: 'gpio0', ms: 0 } });
    assert.equal(await device.io.gpioRead('gpio0', 1), 0);
  });

  it('starts without a bridge, refuses requests with the reason, and leaves nothing behind', async () => {
    const absent = {
      info: async () => ({ driver: 'none', device: 'none', maxTransfer: 1024 }),
      transact: async () => {
        throw new CoreError('NOT_INITIALIZED', { reason: 'no device path is set' });
      },
      onReady: (listener: (level: boolean) => void) => {
        listener(false);
        return { [Symbol.dispose]: () => undefined };
      },
      reset: async () => undefined,
    };
    const host = await createTestHost(plugin, { manifest: manifest('cbp'), services: [[bridgePort, absent]] });
    const error = await failure(host.service(bridge).statistics());
    assert.equal(error.code, 'NOT_INITIALIZED');
    assert.match(error.message, /no device path is set/);
    await host.stop();
    assert.deepEqual(host.leaks(), []);
  });

  it('ends requests in flight when it stops', async () => {
    await using device = await Device.start();
    const transfer = failure(device.io.spixTransfer('spi1', SLOW));
    await pace(50);
    await device.cbp.stop();
    assert.equal((await transfer).details.status, 'LINK_RESET');
    assert.deepEqual(device.cbp.leaks(), []);
  });
});
