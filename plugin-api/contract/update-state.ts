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
