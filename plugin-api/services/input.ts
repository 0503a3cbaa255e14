import { serviceRef } from '../contract/service-ref.ts';

/** Finger position in panel units 0..720, independent of the glass. `id` tells fingers apart until `up` or `cancel`. */
export interface TouchInput {
  readonly kind: 'touch';
  readonly id: number;
  readonly phase: 'down' | 'move' | 'up' | 'cancel';
  readonly x: number;
  readonly y: number;
  /** `monotonicMs()` of the event. */
  readonly at: number;
}

export interface KeyInput {
  readonly kind: 'key';
  /** Name of the key in the SKU: `home`, `mute`, `ok`. */
  readonly name: string;
  readonly phase: 'down' | 'up' | 'repeat';
  readonly at: number;
}

export interface RotaryInput {
  readonly kind: 'rotary';
  readonly name: string;
  /** Detents, clockwise is positive. */
  readonly delta: number;
  readonly at: number;
}

export type InputEvent = TouchInput | KeyInput | RotaryInput;

export interface InputSource extends AsyncDisposable {
  /** In the order in which it happened, at most 64 at a time. Resolves when it was routed; a source that is faster merges moves. */
  push(events: readonly InputEvent[]): Promise<void>;
  /** Its device is gone, or is back: fingers that were down are lifted (`cancel`). */
  problem(reason: string | undefined): Promise<void>;
}

export interface InputDescription {
  /** `evdev:touchscreen`, unique. */
  readonly id: string;
  readonly touch: boolean;
  /** Names of keys and knobs that it may send. */
  readonly keys: readonly string[];
  /** True: it comes from software, and reaches the layers of prompts and system in SKUs with `simulated: true` alone. */
  readonly injected: boolean;
}

/** Registry for sources of touch and keys (plugin `display`); several at once. */
export interface Inputs {
  /** Throws PARAMS_INVALID (a second one of this id). */
  register(description: InputDescription): InputSource;
}

export const inputs = serviceRef<Inputs>('inputs', '1.0.0', 'powerful', 'brings touches and keys of its own');
