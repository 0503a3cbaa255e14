import { serviceRef } from '../contract/service-ref.ts';

/** Payload of `system.time`. */
export interface WallTimeState {
  /** Clock was set by a reliable source since the device was switched on, so the time can be believed. */
  readonly set: boolean;
  /** `Europe/Berlin` */
  readonly zone: string;
}

export interface WallTimeStatus extends WallTimeState {
  /** `timedated`, `files`, `sim` */
  readonly provider: string;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
}

/** Whether the clock on the wall can be believed, and where the device is. Tells `system.time` by itself. */
export interface WallTime {
  status(): Promise<WallTimeStatus>;
  /** Throws PARAMS_INVALID for an unknown zone, UNAVAILABLE where it cannot be set. */
  setZone(zone: string): Promise<void>;
}

export const wallTime = serviceRef<WallTime>('wall-time', '1.0.0', 'powerful', 'sets the time zone of the device');
