import type { PowerState } from '@device-core/plugin-api/services/power';
import type { Provider } from './provider.ts';

/** Power that is what somebody says. */
export class SimulatedPower implements Provider {
  readonly name = 'sim';
  #state: PowerState = { source: 'mains', state: 'ok' };

  simulate(state: PowerState): void {
    this.#state = state;
  }

  async look(): Promise<PowerState> {
    return this.#state;
  }
}
