/** The table of a language: sentences of the device's own intents, and its answers. */
import type { SlotType } from '@device-core/plugin-api/services/intents';
import type { AlarmIntent, AlarmTexts } from './alarm-texts.ts';
import type { Forgiven } from './forgiven.ts';

/** Intents of the device itself. */
export type DeviceIntent =
  | 'volume-set'
  | 'volume-up'
  | 'volume-down'
  | 'volume-tell'
  | 'mute'
  | 'stop'
  | 'timer-set'
  | 'timer-cancel'
  | 'timer-left'
  | 'time'
  | 'help'
  | AlarmIntent;

export interface DeviceTexts {
  readonly language: string;
  readonly forgiven: Forgiven;
  readonly rules: Readonly<Record<string, string>>;
  readonly slots: Readonly<Record<string, SlotType>>;
  /**
   * `volume-set` sets `percent`; `volume-up` and `volume-down` may set `by`, in percent; `timer-set` sets any of `hours`,
   * `minutes`, `seconds`, and `length` and `half` in seconds.
   */
  readonly intents: Readonly<Record<DeviceIntent, { readonly title: string; readonly sentences: readonly string[] }>>;
  readonly say: {
    volume(percent: number): string;
    muted(): string;
    timerSet(seconds: number): string;
    timersFull(most: number): string;
    timerTooLong(seconds: number): string;
    timersCancelled(count: number): string;
    timersLeft(seconds: readonly number[]): string;
    time(hour: number, minute: number): string;
    help(examples: readonly string[]): string;
    readonly alarms: AlarmTexts['say'];
  };
}
