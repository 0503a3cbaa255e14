/** The plugin can over a controller of the simulated bridge and an interface of the host. */
import { after, describe } from 'node:test';
import { ENDPOINT_CLASS } from '@device-core/plugin-api/buses';
import { leakCheck } from '@device-core/plugin-api/testing';
import { openInterface } from '../../../plugins/hardware/host-can/controller.ts';
import { canBusContract } from '../../contracts/can-bus.ts';
import { startBuses } from '../../fixtures/bus-core.ts';
import { FakeCan } from '../../fixtures/fake-can.ts';
import { FakeKernel } from '../../fixtures/fake-kernel.ts';
import { startWithHostBus } from '../../fixtures/host-buses.ts';

after(leakCheck());

describe('a CAN bus of the simulated bridge', () =>
  canBusContract({
    start: startBuses,
    endpoint: 'can0',
    short: async ({ sim }, broken) => void (await sim.ask({ short: { endpoint: 'can0', broken } })),
  }));

describe('a CAN bus of the host', () => {
  let bus: FakeCan;
  canBusContract({
    start(plugins) {
      const kernel = new FakeKernel();
      bus = new FakeCan(kernel);
      kernel.nodes.set('can0', bus);
      const named = { plugin: 'host-can', endpoint: 'vehicle', path: 'can0' };
      const about = { class: ENDPOINT_CLASS.can, maxTransfer: 72 };
      const one = { name: 'vehicle', path: 'can0', nominal: 500_000, data: 2_000_000 };
      return startWithHostBus(plugins, { ...named, ...about, open: (ears) => openInterface(one, kernel, ears) });
    },
    endpoint: 'vehicle',
    short: async (_, broken) => bus.short(broken),
  });
});
