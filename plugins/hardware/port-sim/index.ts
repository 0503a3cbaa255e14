import { join } from 'node:path';
import { definePlugin } from '@device-core/plugin-api';
import { bridgeSimulator } from '@device-core/plugin-api/inside/services/bridge-simulator';
import { identity } from '@device-core/plugin-api/inside/services/identity';
import { processes } from '@device-core/plugin-api/inside/services/processes';
import { bridgePort } from '@device-core/plugin-api/services/bridge-port';
import { device } from '@device-core/plugin-api/services/device';
import { Door } from './door.ts';
import { Hand } from './hand.ts';
import { SimPort } from './port.ts';
import { boardFile } from './sim/index.ts';
import { isBadBoard, Simulator } from './simulator.ts';

export interface PortSimConfig {
  /** Name of a file in `sim/boards/`, or a path that ends in `.yaml`. */
  readonly board: string;
  /** Another program in the place of the simulator, told the same things on its command line. */
  readonly command?: string;
  readonly transactTimeoutMs: number;
}

const CONTROL_MS = 5_000;

export const plugin = definePlugin<{ device: typeof device; processes: typeof processes }, PortSimConfig>({
  requires: { device, processes },
  async setup(host, services) {
    const { scope, config, log, clock } = host;
    const { paths } = await services.device.info();
    const socket = join(paths.run, 'cbp-sim.sock');
    const board = boardFile(config.board);
    // Another program may know nothing of controls.
    const ours = config.command === undefined;
    const hand = new Hand(clock, CONTROL_MS);
    const port = scope.use('port', new SimPort(socket, config.transactTimeoutMs, clock, ours ? hand : undefined));
    const state = join(paths.var, 'port-sim');
    const simulator = scope.use(
      'simulator',
      new Simulator({ socket, board, state, port, clock, log, ...(config.command ? { command: config.command } : {}) }),
    );
    // Another program listens itself.
    if (ours) {
      const give = simulator.hand.bind(simulator);
      const door = scope.use('door', new Door({ path: socket, processes: services.processes, log, hand: give }));
      host.when(identity, (service, while_) => {
        door.use(service);
        while_.defer('door', () => door.use(undefined));
      });
      await door.open();
    }
    try {
      await simulator.start();
    } catch (error) {
      if (isBadBoard(error)) throw error;
      simulator.retry(error);
    }
    host.provide(bridgePort, port);
    host.provide(bridgeSimulator, hand);
  },
});
