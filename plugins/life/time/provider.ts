import type { WallTimeState } from '@device-core/plugin-api/services/wall-time';

/** A source of the state on this device: each in a separate file, and one suite for all of them. */
export interface Provider {
  readonly name: 'timedated' | 'files' | 'sim';
  look(): Promise<WallTimeState>;
  /** Throws UNAVAILABLE where nobody may. */
  setZone(zone: string): Promise<void>;
}
