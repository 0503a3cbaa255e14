/** Answer of the Core about its start. Without a boot loader there are `loader`, `why`, `safe` and `acts`. */
export interface Slot {
  readonly state: 'empty' | 'trial' | 'good' | 'bad';
  readonly version?: string;
  readonly image?: string;
  /** Starts of a slot on trial. */
  readonly tries: number;
  readonly reason?: string;
}

export type SlotName = 'a' | 'b';

export interface Status {
  readonly loader: boolean;
  readonly why: string;
  readonly safe: boolean;
  readonly slot?: SlotName;
  readonly primary?: SlotName;
  readonly version?: string;
  readonly rung?: 'normal' | 'safe' | 'other' | 'other-safe';
  readonly cause?: string;
  readonly slots?: Readonly<Record<SlotName, Slot>>;
  readonly repaired?: readonly string[];
  readonly problems?: readonly string[];
  readonly verify?: 'full' | 'quick' | 'measured';
  /** Milliseconds of each step. */
  readonly ms?: Readonly<Record<string, number>>;
  /** Seconds that the start was held back. */
  readonly waited?: number;
  /** Seconds after which a safe mode that nobody uses ends. */
  readonly pause?: number;
  /** Acts that the device offers. */
  readonly acts: readonly ('restart' | 'reboot' | 'powerOff')[];
  /** Why not all of that. */
  readonly actsReason?: string;
  /** How the start before this one ended. */
  readonly before?: string;
}

export interface Reset {
  readonly restarts: boolean;
  readonly reason?: string;
}
