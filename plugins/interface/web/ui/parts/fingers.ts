/** Fingers, pens and mice on a picture of the panel, told to the Core one event after the other. */
import { api } from '../core/api.ts';

/** Most fingers of one panel: `display.touch` names fingers 0 to 9. */
const MOST_FINGERS = 10;
/** Events that wait; moves beyond it are left out, for the last one says where the finger is. */
const MOST_WAITING = 32;
/** Panel units along the shorter side. */
export const UNITS = 720;

interface Touch {
  readonly finger: number;
  readonly phase: 'down' | 'move' | 'up' | 'cancel';
  readonly x: number;
  readonly y: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** A place on the picture, 0..1 each way, in panel units: the square of 720 lies in the middle of the panel. */
export function unitsOf(alongX: number, alongY: number, { width, height }: Size): { x: number; y: number } {
  const scale = Math.min(width, height) / UNITS;
  const unit = (share: number, side: number) =>
    Math.round(Math.min(UNITS, Math.max(0, (share * side - (side - UNITS * scale) / 2) / scale)) * 10) / 10;
  return { x: unit(alongX, width), y: unit(alongY, height) };
}

export class Fingers {
  readonly #failed: (error: unknown) => void;
  readonly #path: string;
  /** By pointer of the browser: which finger it is, and where it was last. */
  readonly #down = new Map<number, { readonly finger: number; x: number; y: number }>();
  #waiting: Touch[] = [];
  #telling = false;

  /** `path` is the operation that takes what `display.touch` takes. */
  constructor(failed: (error: unknown) => void, path = '/display/input') {
    this.#failed = failed;
    this.#path = path;
  }

  down(pointer: number, x: number, y: number): void {
    const taken = new Set([...this.#down.values()].map(({ finger }) => finger));
    const finger = Array.from({ length: MOST_FINGERS }, (_, index) => index).find((index) => !taken.has(index));
    if (finger === undefined) return;
    this.#down.set(pointer, { finger, x, y });
    this.#tell({ finger, phase: 'down', x, y });
  }

  move(pointer: number, x: number, y: number): void {
    const held = this.#down.get(pointer);
    if (held === undefined || (held.x === x && held.y === y)) return;
    Object.assign(held, { x, y });
    const { finger } = held;
    const touch: Touch = { finger, phase: 'move', x, y };
    // Only where it is now counts, unless something else happened since.
    const last = this.#waiting.at(-1);
    if (last?.phase === 'move' && last.finger === finger) this.#waiting[this.#waiting.length - 1] = touch;
    else if (this.#waiting.length < MOST_WAITING) this.#tell(touch);
  }

  end(pointer: number, phase: 'up' | 'cancel'): void {
    const held = this.#down.get(pointer);
    if (held === undefined) return;
    this.#down.delete(pointer);
    const { finger, x, y } = held;
    this.#tell({ finger, phase, x, y });
  }

  /** The page is left, or the picture is gone. */
  cancel(): void {
    for (const pointer of [...this.#down.keys()]) this.end(pointer, 'cancel');
  }

  #tell(touch: Touch): void {
    this.#waiting.push(touch);
    if (!this.#telling) void this.#run();
  }

  async #run(): Promise<void> {
    this.#telling = true;
    for (let touch = this.#waiting.shift(); touch !== undefined; touch = this.#waiting.shift()) {
      try {
        await api.post(this.#path, touch);
      } catch (error) {
        // Later touches mean nothing without the lost one, but a finger that is down has to be lifted.
        this.#waiting = this.#waiting.filter(({ phase }) => phase === 'up' || phase === 'cancel');
        this.#failed(error);
      }
    }
    this.#telling = false;
  }
}
