/** Latest states of network, power, clock and voice. */
import type { Bus } from '@device-core/plugin-api';
import type { NetworkState } from '@device-core/plugin-api/services/network';
import type { PowerState } from '@device-core/plugin-api/services/power';
import type { WallTimeState } from '@device-core/plugin-api/services/wall-time';

const TURNS = ['listening', 'thinking', 'speaking'];

export class Senses {
  network: NetworkState | undefined;
  power: PowerState | undefined;
  time: WallTimeState | undefined;
  turn = false;

  /** `changed` is called after each event that may change what a rule says. */
  constructor(bus: Bus, changed: () => void) {
    bus.subscribe('system.network', ({ payload }) => {
      this.network = payload as NetworkState;
      changed();
    });
    bus.subscribe('system.power', ({ payload }) => {
      this.power = payload as PowerState;
      changed();
    });
    bus.subscribe('system.time', ({ payload }) => {
      this.time = payload as WallTimeState;
      changed();
    });
    bus.subscribe('audio.state', ({ payload }) => {
      const turn = TURNS.includes((payload as { readonly state: string }).state);
      if (turn === this.turn) return;
      this.turn = turn;
      changed();
    });
  }
}
