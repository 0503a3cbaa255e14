/** The plugin spi over a chip select of the simulated bridge and one of the host. */
import { after, describe } from 'node:test';
import { ENDPOINT_CLASS } from '@device-core/plugin-api/buses';
import { leakCheck } from '@device-core/plugin-api/testing';
import { MAX_BYTES, openNode } from '../../../plugins/hardware/host-spi/device.ts';
import { spiBusContract } from '../../contracts/spi-bus.ts';
import { startBuses } from '../../fixtures/bus-core.ts';
import { ERRNO, FakeKernel } from '../../fixtures/fake-kernel.ts';
import { startWithHostBus } from '../../fixtures/host-buses.ts';

after(leakCheck());

describe('a chip select of the simulated bridge', () =>
  spiBusContract({
    start: startBuses,
    endpoint: 'spi1',
    async slow({ sim }) {
      await sim.ask({ slow: { endpoint: 'spi1', ms: 200 } });
      return async () => void (await sim.ask({ slow: { endpoint: 'spi1', ms: 0 } }));
    },
  }));

describe('a chip select of the host', () => {
  let gate: Promise<void> | undefined;
  spiBusContract({
    start(plugins) {
      const kernel = new FakeKernel();
      gate = undefined;
      const loop = async (bytes: Buffer) => {
        await gate;
        const [from, to] = [kernel.offset(bytes, 0), kernel.offset(bytes, 8)];
        const length = bytes.readUInt32LE(16);
        bytes.copy(bytes, to, from, from + length);
        return length;
      };
      kernel.nodes.set('/dev/spidev0.0', {
        ioctl(request, argument) {
          if (request === 0x40206b00) return loop(argument as Buffer);
          return request === 0x80046b05 || request === 0x40046b05 ? 0 : -ERRNO.ENOTTY;
        },
      });
      const named = { plugin: 'host-spi', endpoint: 'wire', path: '/dev/spidev0.0' };
      const about = { class: ENDPOINT_CLASS.spix, maxTransfer: MAX_BYTES };
      const open = () => openNode({ name: 'wire', path: '/dev/spidev0.0' }, kernel, '/nowhere');
      return startWithHostBus(plugins, { ...named, ...about, open });
    },
    endpoint: 'wire',
    async slow() {
      const { promise, resolve } = Promise.withResolvers<void>();
      gate = promise;
      return async () => resolve();
    },
  });
});
