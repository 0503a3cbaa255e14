import { join } from 'node:path';
import { bridgePort, definePlugin, device } from '@device-core/plugin-api';
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

export const plugin = definePlugin<{ device: typeof device }, PortSimConfig>({
  requires: { device },
  async setup(host, services) {
    const { scope, config, log, clock } = host;
    const { paths } = await services.device.info();
    const socket = join(paths.run, 'cbp-sim.sock');
    const board = boardFile(config.board);
    const port = scope.use('port', new SimPort(socket, config.transactTimeoutMs, clock));
    const state = join(paths.var, 'port-sim');
    const simulator = scope.use(
      'simulator',
      new Simulator({ socket, board, state, port, clock, log, ...(config.command ? { command: config.command } : {}) }),
    );
    try {
      await simulator.start();
    } catch (error) {
      if (isBadBoard(error)) throw error;
      simulator.retry(error);
    }
    host.provide(bridgePort, port);
  },
});
