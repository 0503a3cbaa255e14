/**
 * Polling of a bridge without a wired data-ready line: soon after the host sent something, for an answer is likely then, and
 * ever less often while nothing happens.
 */
import type { Clock } from '@device-core/plugin-api';
import { Level, type ReadyLine } from './ready-line.ts';

const SHORTEST_MS = 1;

export class PolledLine implements ReadyLine {
  readonly source = 'polled';
  readonly problem: string | undefined;
  readonly #clock: Clock;
  readonly #longestMs: number;
  readonly #level = new Level();
  #waitMs = SHORTEST_MS;
  #timer: Disposable | undefined;
  #closed = false;

  /** `longestMs` is the longest time between two questions. */
  constructor(clock: Clock, longestMs: number, problem?: string) {
    this.#clock = clock;
    this.#longestMs = longestMs;
    this.problem = problem;
    this.#schedule();
  }

  listen(listener: (level: boolean) => void): Disposable {
    return this.#level.listen(listener);
  }

  transacted(): void {
    // One that we did not ask for is the host's own: something goes on.
    this.#waitMs = this.#level.level ? Math.min(this.#longestMs, 2 * this.#waitMs) : SHORTEST_MS;
    this.#level.set(false);
    this.#schedule();
  }

  wake(): void {
    this.#level.set(true);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#timer?.[Symbol.dispose]();
  }

  #schedule(): void {
    this.#timer?.[Symbol.dispose]();
    if (this.#closed) return;
    this.#timer = this.#clock.after(this.#waitMs, () => this.#level.set(true));
  }
}
