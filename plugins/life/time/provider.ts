import type { WallTimeState } from '@device-core/plugin-api/services/wall-time';

/** Whoever can be asked on this device: each in a file of its own, and one suite for all of them. */
export interface Provider {
  readonly name: 'timedated' | 'files' | 'sim';
  look(): Promise<WallTimeState>;
  /** Throws UNAVAILABLE where nobody may. */
  setZone(zone: string): Promise<void>;
}
