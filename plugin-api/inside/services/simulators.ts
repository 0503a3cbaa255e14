/** Simulators of services of the device. */
import { serviceRef } from '../../contract/service-ref.ts';
import type { NetworkState } from '../../services/network.ts';
import type { PowerState } from '../../services/power.ts';
import type { WallTimeState } from '../../services/wall-time.ts';

/** The hand on a simulated one: the state set here holds until the next. Throws UNAVAILABLE where it is a real one. */
export interface NetworkSimulator {
  simulate(state: NetworkState): Promise<void>;
}

export const networkSimulator = serviceRef<NetworkSimulator>('network-simulator', '1.0.0', 'tree');

/** The hand on a simulated one: the state set here holds until the next. Throws UNAVAILABLE where it is a real one. */
export interface PowerSimulator {
  simulate(state: PowerState): Promise<void>;
}

export const powerSimulator = serviceRef<PowerSimulator>('power-simulator', '1.0.0', 'tree');

/** The hand on a simulated one: the state set here holds until the next. Throws UNAVAILABLE where it is a real one. */
export interface WallTimeSimulator {
  simulate(state: WallTimeState): Promise<void>;
}

export const wallTimeSimulator = serviceRef<WallTimeSimulator>('wall-time-simulator', '1.0.0', 'tree');
