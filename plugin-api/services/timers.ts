/** The timers of the device: kept by one plugin, shown and ended by any. */
import { serviceRef } from '../contract/service-ref.ts';

export interface Timer {
  readonly id: string;
  /** Milliseconds since the Unix epoch at which it rings, or rang. */
  readonly at: number;
  /** Its whole length. */
  readonly seconds: number;
}

export interface TimersState {
  /** Soonest first. */
  readonly running: readonly Timer[];
  /** Those whose alarm sounds now, the first that rang first. */
  readonly ringing: readonly Timer[];
}

/** Provided by plugin `intent`. A timer outlives its plugin and the Core. */
export interface Timers {
  state(): Promise<TimersState>;
  /** `kept`: it survives a loss of power. Rejects with QUEUE_FULL, PARAMS_INVALID (not 1 s to 24 h). */
  set(seconds: number): Promise<Timer & { readonly kept: boolean }>;
  /** One that runs, or one that rings. False where there is none of this id. */
  cancel(id: string): Promise<boolean>;
  /** Ends the alarm. False where nothing rang. */
  silence(): Promise<boolean>;
  /** Called with the new state after each change. */
  onChange(listener: (state: TimersState) => void): Disposable;
}

export const timers = serviceRef<Timers>('timers', '1.0.0', 'powerful', 'sets and silences timers');
