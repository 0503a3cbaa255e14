/** The plugin i2c over three kinds of buses: the simulated bridge, the bridge in C, an adapter of the host. */
import { after, describe } from 'node:test';
import { ENDPOINT_CLASS } from '@device-core/plugin-api/buses';
import { leakCheck } from '@device-core/plugin-api/testing';
import { MAX_BYTES, openAdapter } from '../../../plugins/hardware/host-i2c/adapter.ts';
import { i2cBusContract } from '../../contracts/i2c-bus.ts';
import { startBuses } from '../../fixtures/bus-core.ts';
import { FakeI2c, FakeKernel } from '../../fixtures/fake-kernel.ts';
import { startWithHostBus } from '../../fixtures/host-buses.ts';
import { buildResponder, noCompiler } from '../../fixtures/responder.ts';

after(leakCheck());

describe('an I2C bus of the simulated bridge', () =>
  i2cBusContract({
    start: startBuses,
    endpoint: 'i2c0',
    async slow({ sim }) {
      await sim.ask({ slow: { endpoint: 'i2c0', ms: 200 } });
      return async () => void (await sim.ask({ slow: { endpoint: 'i2c0', ms: 0 } }));
    },
  }));

describe('an I2C bus of the bridge in C', () =>
  i2cBusContract(
    {
      start: (plugins) =>
        startBuses({ ...plugins, 'port-sim': { version: '^1.0.0', config: { command: buildResponder().program } } }),
      endpoint: 'i2c0',
    },
    noCompiler,
  ));

for (const pointerBytes of [8, 4] as const)
  describe(`an I2C bus of the host, with pointers of ${pointerBytes} bytes`, () => {
    let chips: FakeI2c;
    i2cBusContract({
      start(plugins) {
        const kernel = new FakeKernel(pointerBytes);
        chips = new FakeI2c(0x50);
        kernel.nodes.set('/dev/i2c-1', chips);
        const named = { plugin: 'host-i2c', endpoint: 'i2c-1', path: '/dev/i2c-1' };
        const about = { class: ENDPOINT_CLASS.i2c, maxTransfer: MAX_BYTES };
        const open = () => openAdapter({ name: 'i2c-1', path: '/dev/i2c-1' }, kernel, '/nowhere');
        return startWithHostBus(plugins, { ...named, ...about, open });
      },
      endpoint: 'i2c-1',
      async slow() {
        const { promise, resolve } = Promise.withResolvers<void>();
        chips.gate = promise;
        return async () => resolve();
      },
    });
  });
