import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bridgePort, definePlugin, device } from '@device-core/plugin-api';
import { SimPort } from './port.ts';
import { isBadBoard, Simulator } from './simulator.ts';

export interface PortSimConfig {
  /** Name of a file in `boards/`, or a path that ends in `.yaml`. */
  readonly board: string;
  /** Another program in the place of cbp-sim.ts, told the same things on its command line. */
  readonly command?: string;
  readonly transactTimeoutMs: number;
}

export const plugin = definePlugin<{ device: typeof device }, PortSimConfig>({
  requires: { device },
  async setup(host, services) {
    const { scope, config, log } = host;
    const { paths } = await services.device.info();
    const socket = join(paths.run, 'cbp-sim.sock');
    const board = config.board.endsWith('.yaml')
      ? config.board
      : fileURLToPath(new URL(`./boards/${config.board}.yaml`, import.meta.url));
    const port = scope.use('port', new SimPort(socket, config.transactTimeoutMs));
    const state = join(paths.var, 'port-sim');
    const simulator = scope.use(
      'simulator',
      new Simulator({ socket, board, state, port, log, ...(config.command ? { command: config.command } : {}) }),
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
