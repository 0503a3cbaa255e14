import type { Clock } from '@device-core/plugin-api';
import { sleep } from '../clock.ts';

/** Steps that a promise, the Event Bus and what follows from them may need until they have had their effects. */
const TURNS = 5;

export interface VirtualClockOptions {
  /** Wall time at the start, milliseconds since the Unix epoch; 0 if absent. */
  readonly now?: number;
  /** Turns of the event loop between two timers; five if absent. One is enough where only promises follow from a timer. */
  readonly turns?: number;
}

interface Timer {
  readonly time: number;
  readonly order: number;
  fn: (() => void) | undefined;
}

/**
 * A clock that a test moves on: hours pass in milliseconds, the same way in each run. Timers run in the order of their
 * times, and of their making where the times are equal; everything that follows from one by promises and events is done
 * before the next. Files, sockets and processes do not keep to it, and are not waited for.
 */
export class VirtualClock implements Clock {
  readonly #turns: number;
  readonly #heap: Timer[] = [];
  #monotonic = 0;
  #taken = 0;
  /** Share of the passing time in which the event loop is busy with other work, 0 to 1. */
  busy = 0;
  /** Wall time minus monotonic time. */
  #offset: number;
  /** Wall time at the start. */
  readonly #origin: number;
  #order = 0;

  constructor({ now = 0, turns = TURNS }: VirtualClockOptions = {}) {
    this.#offset = now;
    this.#origin = now;
    this.#turns = turns;
  }

  now(): number {
    return this.#monotonic + this.#offset;
  }

  steady(): number {
    return this.#monotonic + this.#origin;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  taken(): number {
    return this.#taken;
  }

  after(ms: number, fn: () => void): Disposable {
    return this.at(this.#monotonic + ms, fn);
  }

  at(time: number, fn: () => void): Disposable {
    const timer: Timer = { time: Math.max(time, this.#monotonic), order: this.#order++, fn };
    this.#push(timer);
    return {
      [Symbol.dispose]: () => {
        timer.fn = undefined;
      },
    };
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return sleep(this, ms, signal);
  }

  /** How many timers are pending. */
  get pending(): number {
    return this.#heap.filter(({ fn }) => fn).length;
  }

  /** The system's time is set: wall time jumps, monotonic time does not. */
  set(now: number): void {
    this.#offset = now - this.#monotonic;
  }

  /** The board is busy for `ms` milliseconds: they pass, no timer runs in them, and those that were due are late. */
  starve(ms: number): void {
    this.#taken += ms;
    this.#monotonic += ms;
  }

  /** Moves on by `ms` milliseconds and runs what is due on the way. */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await this.settle();
    while (this.#step(end)) await this.settle();
    this.#move(end);
    await this.settle();
  }

  /** Moves on to the next timer and runs it. False: there is none. */
  async next(): Promise<boolean> {
    await this.settle();
    const ran = this.#step(Number.POSITIVE_INFINITY);
    await this.settle();
    return ran;
  }

  /** Moves on until the promise settles. Rejects when no timer is left or `limitMs` have passed before. */
  async until<T>(promise: Promise<T>, limitMs = 3_600_000): Promise<T> {
    let settled = false;
    const done = () => {
      settled = true;
    };
    promise.then(done, done);
    const limit = this.#monotonic + limitMs;
    await this.settle();
    while (!settled) {
      if (!this.#step(limit)) throw new Error(`nothing settles it by ${limit} ms of virtual time`);
      await this.settle();
    }
    return promise;
  }

  /** Resolves when everything that promises and events still have to do at this moment is done. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < this.#turns; turn++) await new Promise((resolve) => setImmediate(resolve));
  }

  #step(limit: number): boolean {
    let next = this.#heap[0];
    while (next && !next.fn) {
      this.#pop();
      next = this.#heap[0];
    }
    if (!next?.fn || next.time > limit) return false;
    const { fn } = next;
    this.#pop();
    this.#move(next.time);
    next.fn = undefined;
    fn();
    return true;
  }

  #move(time: number): void {
    if (time <= this.#monotonic) return;
    this.#taken += (time - this.#monotonic) * this.busy;
    this.#monotonic = time;
  }

  #push(timer: Timer): void {
    const heap = this.#heap;
    let index = heap.push(timer) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!earlier(heap[index]!, heap[parent]!)) break;
      [heap[index], heap[parent]] = [heap[parent]!, heap[index]!];
      index = parent;
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop()!;
    if (heap.length === 0) return;
    heap[0] = last;
    for (let index = 0; ; ) {
      const left = 2 * index + 1;
      let least = index;
      if (left < heap.length && earlier(heap[left]!, heap[least]!)) least = left;
      if (left + 1 < heap.length && earlier(heap[left + 1]!, heap[least]!)) least = left + 1;
      if (least === index) return;
      [heap[index], heap[least]] = [heap[least]!, heap[index]!];
      index = least;
    }
  }
}

function earlier(a: Timer, b: Timer): boolean {
  return a.time < b.time || (a.time === b.time && a.order < b.order);
}

export const virtualClock = (options?: VirtualClockOptions): VirtualClock => new VirtualClock(options);
