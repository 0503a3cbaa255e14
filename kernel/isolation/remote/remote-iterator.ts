import { LIMITS } from './protocol.ts';

type Item = IteratorResult<unknown>;

/**
 * Reads ahead by credit: one item at first, twice as many each time the reader has to wait for one that was not asked
 * for yet, up to LIMITS.ahead. A slow reader so holds its writer back, and a fast one does not wait a round trip for
 * each item.
 */
export class RemoteIterator implements AsyncIterator<unknown> {
  readonly #next: () => Promise<Item>;
  readonly #close: () => Promise<unknown>;
  readonly #onOver: () => void;
  readonly #asked: Promise<Item>[] = [];
  #ahead = 0;
  #over = false;

  /** `next` and `close` are calls of the other side; after `onOver` nothing more is asked for. */
  constructor(next: () => Promise<Item>, close: () => Promise<unknown>, onOver: () => void) {
    this.#next = next;
    this.#close = close;
    this.#onOver = onOver;
  }

  async next(): Promise<Item> {
    if (this.#over) return { done: true, value: undefined };
    const waiting = this.#asked.shift();
    const item = waiting ?? this.#next();
    if (!waiting) this.#ahead = Math.min(Math.max(1, this.#ahead * 2), LIMITS.ahead);
    try {
      const result = await item;
      if (result.done) this.#finish();
      else while (!this.#over && this.#asked.length < this.#ahead - 1) this.#ask();
      return result;
    } catch (error) {
      this.#finish();
      throw error;
    }
  }

  async return(value?: unknown): Promise<Item> {
    if (!this.#over) {
      this.#over = true;
      await this.#close();
      this.#onOver();
    }
    return { done: true, value };
  }

  #ask(): void {
    const item = this.#next();
    item.catch(() => undefined); // the reader learns of it when it comes to that item
    this.#asked.push(item);
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#onOver();
  }
}
