/** The plugin gpio over three kinds of lines: the simulated bridge, the bridge in C, a controller of the host. */
import { after, describe } from 'node:test';
import { ENDPOINT_CLASS } from '@device-core/plugin-api/buses';
import { leakCheck } from '@device-core/plugin-api/testing';
import { openChip } from '../../../plugins/hardware/host-gpio/chip.ts';
import { gpioBusContract } from '../../contracts/gpio-bus.ts';
import { startBuses } from '../../fixtures/bus-core.ts';
import { FakeGpio } from '../../fixtures/fake-gpio.ts';
import { FakeKernel } from '../../fixtures/fake-kernel.ts';
import { startWithHostBus } from '../../fixtures/host-buses.ts';
import { buildResponder, noCompiler } from '../../fixtures/responder.ts';

after(leakCheck());

describe('lines of the simulated bridge', () => gpioBusContract({ start: startBuses, endpoint: 'gpio0' }));

describe('lines of the bridge in C', () =>
  gpioBusContract(
    {
      start: (plugins) =>
        startBuses({ ...plugins, 'port-sim': { version: '^1.0.0', config: { command: buildResponder().program } } }),
      endpoint: 'gpio0',
    },
    noCompiler,
  ));

describe('lines of a controller of the host', () =>
  gpioBusContract({
    start(plugins) {
      const kernel = new FakeKernel();
      const path = '/dev/gpiochip0';
      kernel.nodes.set(
        path,
        new FakeGpio(kernel, 54, [
          [0, 8],
          [1, 9],
        ]),
      );
      const chip = { name: 'pins', path, first: 0 };
      return startWithHostBus(plugins, {
        plugin: 'host-gpio',
        endpoint: 'pins',
        path,
        class: ENDPOINT_CLASS.gpio,
        maxTransfer: 8,
        open: (ears) => openChip(chip, kernel, ears, '/nowhere'),
      });
    },
    endpoint: 'pins',
  }));
