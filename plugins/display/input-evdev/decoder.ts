/** From records of a device to touches, keys and knobs: a state machine without a clock and without I/O. */

import { PANEL_UNITS } from '@device-core/plugin-api/scene';
import type { InputEvent } from '@device-core/plugin-api/services/input';
import { ABS, EV, SYN } from './codes.ts';
import type { InputRecord } from './records.ts';

export interface Axis {
  readonly min: number;
  readonly max: number;
}

/** How a device tells fingers. `slots`: several, protocol B of the kernel. `single`: one, down while this button is. */
export type TouchShape =
  | { readonly kind: 'slots'; readonly slots: number; readonly x: Axis; readonly y: Axis }
  | { readonly kind: 'single'; readonly button: number; readonly x: Axis; readonly y: Axis };

/** How its glass lies on the panel. */
export interface Orientation {
  /** Degrees by which the picture has to be turned clockwise until it lies as the glass does. */
  readonly rotate: 0 | 90 | 180 | 270;
  /** Before it is turned. */
  readonly flipX: boolean;
  readonly flipY: boolean;
}

export interface Meaning {
  readonly touch?: { readonly shape: TouchShape; readonly orientation: Orientation };
  /** Names of keys by their codes. */
  readonly keys: ReadonlyMap<number, string>;
  readonly knobs: ReadonlyMap<number, { readonly name: string; readonly reverse: boolean }>;
}

/** Present state of a device, as the kernel answers it. */
export interface DeviceState {
  /** Time of the question, by the clock of the records: earlier records are part of the state. */
  readonly at: number;
  /** Slot of the next records. */
  readonly slot: number;
  /** Tracking id of each slot, -1 without a finger. `single` has one slot. */
  readonly fingers: readonly { readonly tracking: number; readonly x: number; readonly y: number }[];
  /** Codes of keys that are down. */
  readonly keys: ReadonlySet<number>;
}

interface Finger {
  tracking: number;
  x: number;
  y: number;
  /** Finger as last reported; undefined: it is not reported as down. */
  told?: { readonly tracking: number; readonly x: number; readonly y: number } | undefined;
}

/** Beyond so many no device has fingers. */
const MOST_FINGERS = 64;

export class Decoder {
  readonly #meaning: Meaning;
  readonly #ask: () => DeviceState | undefined;
  readonly #fingers: Finger[];
  readonly #down = new Set<number>();
  #slot = 0;
  /** Events of this report. */
  #events: InputEvent[] = [];
  #at = 0;
  /** Records were lost: nothing up to the next report counts. */
  #lost = false;
  /** Older records are part of a state that was taken over. */
  #from = Number.NEGATIVE_INFINITY;

  /** `ask` is called after a loss of records; undefined: the state is unknown. */
  constructor(meaning: Meaning, ask: () => DeviceState | undefined) {
    this.#meaning = meaning;
    this.#ask = ask;
    const shape = meaning.touch?.shape;
    const count = !shape ? 0 : shape.kind === 'single' ? 1 : Math.min(shape.slots, MOST_FINGERS);
    this.#fingers = Array.from({ length: count }, () => ({ tracking: -1, x: 0, y: 0 }));
  }

  /** Takes over what is so now, at the beginning or after a loss. What ended unseen is a `cancel`. */
  sync(at: number): readonly InputEvent[] {
    this.#now(at);
    const state: DeviceState = this.#ask() ?? { at, slot: this.#slot, fingers: [], keys: new Set() };
    this.#from = state.at;
    this.#slot = state.slot;
    for (const [index, finger] of this.#fingers.entries()) {
      const { tracking, x, y } = state.fingers[index] ?? { tracking: -1, x: finger.x, y: finger.y };
      Object.assign(finger, { tracking, x, y });
    }
    this.#report('cancel');
    for (const code of this.#meaning.keys.keys())
      if (state.keys.has(code) !== this.#down.has(code)) this.#key(code, state.keys.has(code) ? 1 : 0);
    return this.#taken();
  }

  /** Events of the report that this record ends; none for other records. */
  push({ at, type, code, value }: InputRecord): readonly InputEvent[] {
    if (type === EV.syn && code === SYN.dropped) {
      this.#lost = true;
      this.#events = [];
      return [];
    }
    if (!this.#lost && at < this.#from) return [];
    if (type === EV.syn && code === SYN.report) {
      if (this.#lost) {
        this.#lost = false;
        return this.sync(at);
      }
      this.#now(at);
      this.#report('up');
      return this.#taken();
    }
    if (this.#lost) return [];
    this.#now(at);
    if (type === EV.key) this.#key(code, value);
    else if (type === EV.rel) this.#turn(code, value);
    else if (type === EV.abs) this.#move(code, value);
    return [];
  }

  /** Time never runs back, even where a device says so. */
  #now(at: number): void {
    this.#at = Math.max(this.#at, at);
  }

  #taken(): readonly InputEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  #key(code: number, value: number): void {
    const { touch, keys } = this.#meaning;
    if (touch?.shape.kind === 'single' && code === touch.shape.button) {
      if (value !== 2) this.#fingers[0]!.tracking = value === 0 ? -1 : 0;
      return;
    }
    const name = keys.get(code);
    if (name === undefined) return;
    const down = this.#down.has(code);
    // Repeats of a key that is not down, and a second down, are left out.
    if (value === 0 ? !down : value === 1 ? down : value !== 2 || !down) return;
    if (value === 1) this.#down.add(code);
    if (value === 0) this.#down.delete(code);
    const phase = (['up', 'down', 'repeat'] as const)[value as 0 | 1 | 2];
    this.#events.push({ kind: 'key', name, phase, at: this.#at });
  }

  #turn(code: number, value: number): void {
    const knob = this.#meaning.knobs.get(code);
    if (!knob || value === 0) return;
    this.#events.push({ kind: 'rotary', name: knob.name, delta: knob.reverse ? -value : value, at: this.#at });
  }

  #move(code: number, value: number): void {
    const shape = this.#meaning.touch?.shape;
    if (!shape) return;
    if (shape.kind === 'slots' && code === ABS.slot) this.#slot = value;
    const finger = this.#fingers[shape.kind === 'slots' ? this.#slot : 0];
    if (!finger) return; // a slot that it did not announce
    const [x, y] = shape.kind === 'slots' ? [ABS.mtX, ABS.mtY] : [ABS.x, ABS.y];
    if (code === x) finger.x = value;
    else if (code === y) finger.y = value;
    else if (shape.kind === 'slots' && code === ABS.trackingId) finger.tracking = value;
  }

  /** Tells what changed of the fingers; `gone` is how those end that are there no more. */
  #report(gone: 'up' | 'cancel'): void {
    for (const [id, finger] of this.#fingers.entries()) {
      const { tracking, x, y, told } = finger;
      if (told && told.tracking !== tracking) {
        this.#touch(id, gone, told.x, told.y);
        finger.told = undefined;
      }
      if (tracking < 0) continue;
      const phase = finger.told ? 'move' : 'down';
      if (finger.told?.x === x && finger.told.y === y) continue;
      this.#touch(id, phase, x, y);
      finger.told = { tracking, x, y };
    }
  }

  #touch(id: number, phase: 'down' | 'move' | 'up' | 'cancel', x: number, y: number): void {
    const { shape, orientation } = this.#meaning.touch!;
    this.#events.push({ kind: 'touch', id, phase, ...place(shape, orientation, x, y), at: this.#at });
  }
}

/** The middle of a step of the device, in panel units. */
export function place(
  { x, y }: { readonly x: Axis; readonly y: Axis },
  { rotate, flipX, flipY }: Orientation,
  rawX: number,
  rawY: number,
): { readonly x: number; readonly y: number } {
  const across = share(x, rawX, flipX);
  const down = share(y, rawY, flipY);
  const [u, v] = (
    {
      0: [across, down],
      90: [down, 1 - across],
      180: [1 - across, 1 - down],
      270: [1 - down, across],
    } as const
  )[rotate];
  return { x: units(u), y: units(v) };
}

/** To a thousandth: no glass is finer, and fractions of machines are no places. */
const units = (part: number) => Math.round(part * PANEL_UNITS * 1_000) / 1_000;

/** Share 0..1, even for values outside of the axis. */
function share({ min, max }: Axis, value: number, flip: boolean): number {
  const part = Math.min(1, Math.max(0, (value - min + 0.5) / (max - min + 1)));
  return flip ? 1 - part : part;
}
