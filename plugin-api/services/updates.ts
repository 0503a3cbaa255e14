import { serviceRef } from '../contract/service-ref.ts';

/** States of an update. `waiting`: it is staged, and a rule forbids activation now. */
export const UPDATE_STATES = [
  ...['idle', 'checking', 'available', 'downloading', 'verifying', 'staged', 'waiting', 'activating', 'probation'],
  ...['good', 'rolled-back', 'failed'],
] as const;
export type UpdateState =
  | ('idle' | 'checking' | 'available' | 'downloading' | 'verifying' | 'staged' | 'waiting' | 'activating')
  | ('probation' | 'good' | 'rolled-back' | 'failed');

/** Payload of `update.state`. */
export interface UpdateTold {
  readonly state: UpdateState;
  /** The image that it is about. */
  readonly version?: string;
  /** Version that runs. */
  readonly from?: string;
  readonly slot?: 'a' | 'b';
  /** 0 to 100, of the state that takes its time. */
  readonly percent?: number;
  readonly reason?: string;
}

export interface InhibitLease {
  readonly id: string;
  readonly holder: string;
  readonly reason: string;
  /** Milliseconds since the Unix epoch; 24 hours from its beginning at most. */
  readonly until: number;
}

/** Service of the updater for plugins: `voice` and apps hold an update back. */
export interface Updates {
  state(): Promise<UpdateTold>;
  /** Nothing is activated while it is held. Throws BUSY beyond 16 leases. */
  inhibit(holder: string, reason: string, ms: number): Promise<InhibitLease>;
  release(id: string): Promise<void>;
}

export const updates = serviceRef<Updates>('updates', '1.0.0', 'tree');
