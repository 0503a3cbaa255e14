/**
 * Shares the room of a packet (cbp.md section 8). Classes come in order, each leaving a quarter free while a lower one waits. Inside a
 * class it goes round robin, with one cursor for each class: a common cursor let bulk endpoints set back the interactive ones.
 */
import type { PayloadWriter } from './frame.ts';

/** 1 interactive, 2 normal, 3 bulk; class 0, control, never comes here. */
export type Priority = 1 | 2 | 3;
const PRIORITIES: readonly Priority[] = [1, 2, 3];
const LEAST_TURN = 64;

export interface Source {
  readonly ready: boolean;
  /** Writes one frame of at most `room` bytes and returns its length, 0 when none fits. */
  cut(out: PayloadWriter, room: number): number;
}

export class Scheduler {
  readonly #classes: Readonly<Record<Priority, Source[]>> = { 1: [], 2: [], 3: [] };
  readonly #cursors: Record<Priority, number> = { 1: 0, 2: 0, 3: 0 };

  add(priority: Priority, source: Source): void {
    this.#classes[priority].push(source);
  }

  get ready(): boolean {
    return PRIORITIES.some((priority) => this.#waiting(priority));
  }

  /** Fills what the control frames have left of the packet. */
  fill(out: PayloadWriter): void {
    const reserve = Math.floor(out.capacity / 4);
    for (const priority of PRIORITIES) {
      const lower = PRIORITIES.some((other) => other > priority && this.#waiting(other));
      this.#serve(priority, out, lower ? out.room - reserve : out.room);
    }
    for (const priority of PRIORITIES) this.#serve(priority, out, out.room);
  }

  #waiting(priority: Priority): boolean {
    return this.#classes[priority].some((source) => source.ready);
  }

  #serve(priority: Priority, out: PayloadWriter, budget: number): void {
    const sources = this.#classes[priority];
    const ready = sources.reduce((count, source) => count + (source.ready ? 1 : 0), 0);
    if (ready === 0) return;
    const turn = Math.max(LEAST_TURN, Math.floor(out.capacity / ready));
    let left = budget;
    let progress = true;
    while (progress && left > 0) {
      progress = false;
      const start = this.#cursors[priority];
      let refused: number | undefined;
      for (let step = 0; step < sources.length; step++) {
        const index = (start + step) % sources.length;
        const source = sources[index]!;
        if (!source.ready) continue;
        const took = takeTurn(source, out, Math.min(turn, left));
        left -= took;
        if (took > 0) {
          progress = true;
          if (refused === undefined) this.#cursors[priority] = (index + 1) % sources.length;
        } else refused ??= index;
      }
      // A source without room comes first in the next packet, else two endpoints that fill a packet between them would starve a third.
      if (refused !== undefined) this.#cursors[priority] = refused;
    }
  }
}

function takeTurn(source: Source, out: PayloadWriter, allowance: number): number {
  let used = 0;
  while (used < allowance && source.ready) {
    const took = source.cut(out, allowance - used);
    if (took === 0) break;
    used += took;
  }
  return used;
}
