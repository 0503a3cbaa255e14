import type { InputDescription, InputEvent, InputSource, Inputs } from '../../services/input.ts';
import { maybe } from '../maybe.ts';

export const FEED_LIMITS = {
  /** Events of one push. */
  batch: 64,
  /** Events that wait while a push is under way. */
  queue: 256,
  /** Fingers and keys that are down at the same time. */
  held: 32,
} as const;

export interface FeedReport {
  /** Touches and keys that were left out, as too many waited. */
  readonly lost: number;
  /** Why the latest push failed. */
  readonly problem?: string;
}

/**
 * Events of a device on their way to `inputs`, in order, one push at a time. While one is under way, moves of a finger
 * and turns of a knob become one. When too many wait, what begins is left out with all that follows from it; an end is
 * never left out. So the registry sees no end without a beginning.
 */
export class InputFeed implements AsyncDisposable {
  readonly #source: InputSource;
  /** Fingers and keys whose beginning was taken, oldest first, each with what would end it. */
  readonly #held = new Map<string, InputEvent>();
  #queue: InputEvent[] = [];
  #pushing: Promise<void> | undefined;
  #lost = 0;
  #problem: string | undefined;

  private constructor(source: InputSource) {
    this.#source = source;
  }

  /** Rejects with PARAMS_INVALID (a second source of this id). */
  static async open(inputs: Inputs, description: InputDescription): Promise<InputFeed> {
    // A registry behind a border answers with a promise.
    return new InputFeed(await inputs.register(description));
  }

  get report(): FeedReport {
    return { lost: this.#lost, ...maybe({ problem: this.#problem }) };
  }

  /** Never waits and never throws. */
  add(event: InputEvent): void {
    if (this.#admit(event)) this.#queue.push(event);
    this.#flow();
  }

  /** Resolves when everything that was added is routed, or could not be. */
  async settled(): Promise<void> {
    while (this.#pushing) await this.#pushing;
  }

  /** The device is gone, or is back: what was down before is over. */
  async problem(reason: string | undefined): Promise<void> {
    this.#held.clear();
    this.#queue = [];
    await this.settled();
    await this.#source.problem(reason);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#queue = [];
    await this.#source[Symbol.asyncDispose]();
  }

  /** Whether it goes to the end of the queue. */
  #admit(event: InputEvent): boolean {
    if (event.kind === 'rotary') return this.#turn(event);
    const held = event.kind === 'touch' ? `finger ${event.id}` : `key ${event.name}`;
    if (event.phase === 'down') return this.#begin(held, event);
    if (!this.#held.has(held)) return false;
    if (event.phase === 'up' || event.phase === 'cancel') return this.#held.delete(held);
    const waiting = this.#queue.findLastIndex((other) => other.kind === event.kind && same(other, event));
    const before = this.#queue[waiting];
    if (before && before.kind !== 'rotary' && before.phase === event.phase) this.#queue.splice(waiting, 1);
    return true;
  }

  #begin(held: string, event: InputEvent): boolean {
    if (this.#queue.length >= FEED_LIMITS.queue) {
      this.#lost += 1;
      return false;
    }
    const [oldest] = this.#held;
    if (oldest && this.#held.size >= FEED_LIMITS.held && !this.#held.has(held)) {
      this.#held.delete(oldest[0]);
      this.#queue.push(oldest[1]);
    }
    this.#held.set(held, ended(event));
    return true;
  }

  #turn(event: Extract<InputEvent, { kind: 'rotary' }>): boolean {
    const full = this.#queue.length >= FEED_LIMITS.queue;
    const alike = (other: InputEvent | undefined) => other?.kind === 'rotary' && other.name === event.name;
    // Only where too many wait it overtakes what came between.
    const waiting = full ? this.#queue.findLastIndex(alike) : alike(this.#queue.at(-1)) ? this.#queue.length - 1 : -1;
    const before = this.#queue[waiting];
    if (before?.kind === 'rotary') this.#queue[waiting] = { ...before, delta: before.delta + event.delta };
    else if (full) this.#lost += 1;
    else return true;
    return false;
  }

  #flow(): void {
    if (this.#pushing || this.#queue.length === 0) return;
    this.#pushing = this.#push();
  }

  async #push(): Promise<void> {
    while (this.#queue.length > 0) {
      // There and back again is nothing.
      const events = this.#queue
        .splice(0, FEED_LIMITS.batch)
        .filter((event) => event.kind !== 'rotary' || event.delta !== 0);
      if (events.length === 0) continue;
      try {
        await this.#source.push(events);
        this.#problem = undefined;
      } catch (error) {
        // The registry is gone or refuses: the next touch may be welcome again.
        this.#problem = error instanceof Error ? error.message : String(error);
        this.#lost += events.length;
      }
    }
    this.#pushing = undefined;
  }
}

function same(a: InputEvent, b: InputEvent): boolean {
  return a.kind === 'touch' && b.kind === 'touch' ? a.id === b.id : 'name' in a && 'name' in b && a.name === b.name;
}

function ended(event: InputEvent): InputEvent {
  if (event.kind === 'touch') return { ...event, phase: 'cancel' };
  return event.kind === 'key' ? { ...event, phase: 'up' } : event;
}
