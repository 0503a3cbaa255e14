import type { WallTimeState } from '@device-core/plugin-api/services/wall-time';
import type { Provider } from './provider.ts';

/** A time that is what somebody says; the clock itself stays that of the machine. */
export class SimulatedTime implements Provider {
  readonly name = 'sim';
  #state: WallTimeState = { set: true, zone: Intl.DateTimeFormat().resolvedOptions().timeZone };

  simulate(state: WallTimeState): void {
    this.#state = state;
  }

  async look(): Promise<WallTimeState> {
    return this.#state;
  }

  async setZone(zone: string): Promise<void> {
    this.#state = { ...this.#state, zone };
  }
}
