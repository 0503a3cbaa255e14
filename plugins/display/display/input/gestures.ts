/**
 * Gestures of one source, pure: touches and time go in, gestures come out. A gesture is one finger from `down` to `up`. A
 * second finger ends it, and no gesture follows before all fingers are lifted.
 */
import { PANEL_UNITS } from '@device-core/plugin-api/scene';

export const GESTURES = {
  /** Units that a finger may move and still be a tap. */
  slop: 16,
  longPressMs: 500,
  /** Units from where a finger came to where it was lifted. */
  swipe: 64,
  /** Height of the strip from which the panel is swept home, and how far. */
  edge: 24,
  sweep: 96,
  /** Maximum fingers that are told apart. More are ignored, and no gesture begins while one of them may be down. */
  fingers: 10,
  /** Silent time after which a finger is dropped: its `up` was lost. */
  forgottenMs: 10_000,
} as const;

export type Direction = 'left' | 'right' | 'up' | 'down';

/** `key` tells fingers apart. */
export interface Touch {
  readonly key: string;
  readonly phase: 'down' | 'move' | 'up' | 'cancel';
  /** Panel units. */
  readonly x: number;
  readonly y: number;
  /** Monotonic milliseconds, as the source says. */
  readonly at: number;
}

export type Gesture =
  /** First finger came down: the router remembers its target and sends no event. */
  | { readonly kind: 'begin'; readonly x: number; readonly y: number; readonly key: string }
  | { readonly kind: 'tap' | 'long-press'; readonly x: number; readonly y: number; readonly key: string }
  | {
      readonly kind: 'swipe';
      readonly x: number;
      readonly y: number;
      readonly key: string;
      readonly direction: Direction;
    }
  | { readonly kind: 'home'; readonly key: string };

interface Finger {
  x: number;
  y: number;
  /** When it was last heard of. */
  heard: number;
}

interface Stroke {
  readonly key: string;
  readonly x: number;
  readonly y: number;
  readonly since: number;
  /** `held`: told as long press, or as home. */
  state: 'still' | 'moving' | 'held';
}

export class Gestures {
  readonly #fingers = new Map<string, Finger>();
  #stroke: Stroke | undefined;
  /** More than one finger was there since the last time that none was. */
  #several = false;
  #last = Number.NEGATIVE_INFINITY;

  /** Fingers that are down. */
  get fingers(): number {
    return this.#fingers.size;
  }

  /** Coordinates are finite. `now` is the monotonic time: what a source says of it is believed as far as it neither runs ahead nor back. */
  touch(touch: Touch, now: number): readonly Gesture[] {
    const at = this.#time(touch.at, now);
    const told = this.tick(at);
    const more = this.#apply(touch, at);
    return told.length === 0 ? more : [...told, ...more];
  }

  /** A finger was held for long enough. */
  tick(now: number): readonly Gesture[] {
    const due = this.next();
    const stroke = this.#stroke;
    if (due === undefined || !stroke || now < due) return [];
    stroke.state = 'held';
    return [{ kind: 'long-press', x: stroke.x, y: stroke.y, key: stroke.key }];
  }

  /** When tick() has something to tell; undefined: only a touch can. */
  next(): number | undefined {
    return this.#stroke?.state === 'still' ? this.#stroke.since + GESTURES.longPressMs : undefined;
  }

  /** Drops the gesture in progress without an event. The next one begins after all fingers are lifted. */
  drop(): void {
    this.#stroke = undefined;
    this.#several = this.#fingers.size > 0;
  }

  /** All fingers are gone: their device is. */
  reset(): void {
    this.#fingers.clear();
    this.drop();
  }

  #time(at: number, now: number): number {
    const believed = Number.isFinite(at) && at <= now ? at : now;
    this.#last = Math.max(this.#last, believed);
    return this.#last;
  }

  #apply({ key, phase, x, y }: Touch, at: number): readonly Gesture[] {
    if (phase === 'down') return this.#down(key, x, y, at);
    const finger = this.#fingers.get(key);
    // Its `down` was lost, or it was one finger too many.
    if (!finger) return [];
    finger.heard = at;
    if (phase === 'move') {
      finger.x = x;
      finger.y = y;
      return this.#move(key, x, y);
    }
    // A device may tell of the last movement with the lifting only.
    const moved = phase === 'up' ? this.#move(key, x, y) : [];
    this.#fingers.delete(key);
    const ended = phase === 'up' ? this.#up(key, x, y) : [];
    if (this.#stroke?.key === key) this.#stroke = undefined;
    if (this.#fingers.size === 0) this.#several = false;
    return [...moved, ...ended];
  }

  #down(key: string, x: number, y: number, at: number): readonly Gesture[] {
    // A repeated finger, or a silent one, lost its `up`.
    for (const [known, { heard }] of this.#fingers)
      if (known === key || at - heard >= GESTURES.forgottenMs) this.#forget(known);
    if (this.#fingers.size >= GESTURES.fingers) return [];
    this.#fingers.set(key, { x, y, heard: at });
    if (this.#fingers.size > 1 || this.#several) {
      this.#several = true;
      this.#stroke = undefined;
      return [];
    }
    this.#stroke = { key, x, y, since: at, state: 'still' };
    return [{ kind: 'begin', x, y, key }];
  }

  #forget(key: string): void {
    this.#fingers.delete(key);
    if (this.#stroke?.key === key) this.#stroke = undefined;
    if (this.#fingers.size === 0) this.#several = false;
  }

  #move(key: string, x: number, y: number): readonly Gesture[] {
    const stroke = this.#stroke;
    if (stroke?.key !== key || stroke.state === 'held') return [];
    if (Math.hypot(x - stroke.x, y - stroke.y) > GESTURES.slop) stroke.state = 'moving';
    if (!fromEdge(stroke) || directionOf(stroke, x, y) !== 'up' || stroke.y - y < GESTURES.sweep) return [];
    stroke.state = 'held';
    return [{ kind: 'home', key }];
  }

  #up(key: string, x: number, y: number): readonly Gesture[] {
    const stroke = this.#stroke;
    if (stroke?.key !== key || stroke.state === 'held') return [];
    if (stroke.state === 'still') return [{ kind: 'tap', x: stroke.x, y: stroke.y, key }];
    const direction = directionOf(stroke, x, y);
    const far = Math.max(Math.abs(x - stroke.x), Math.abs(y - stroke.y)) >= GESTURES.swipe;
    // A sweep from the edge that stopped on its way is not the app's either.
    if (!far || (fromEdge(stroke) && direction === 'up')) return [];
    return [{ kind: 'swipe', x: stroke.x, y: stroke.y, key, direction }];
  }
}

function fromEdge({ y }: Stroke): boolean {
  return y >= PANEL_UNITS - GESTURES.edge;
}

function directionOf(from: Stroke, x: number, y: number): Direction {
  const [across, along] = [x - from.x, y - from.y];
  if (Math.abs(across) > Math.abs(along)) return across < 0 ? 'left' : 'right';
  return along < 0 ? 'up' : 'down';
}
