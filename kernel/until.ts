import type { Clock } from '@device-core/plugin-api';
import { outcome } from './deadline.ts';

/** How long the end of a source is waited for. */
const RETURN_MS = 1_000;
const DONE = { done: true, value: undefined } as const;

export interface UntilOptions {
  readonly clock: Clock;
  readonly ends: readonly AbortSignal[];
  /** The source did not end within `ms`. */
  readonly onHang: (ms: number) => void;
  /** The end of a source failed and no caller waited for it. */
  readonly onFailure: (error: unknown) => void;
}

/** The iterator of `until()` of a scope. */
export class UntilIterator<T> implements AsyncIterableIterator<T, undefined> {
  readonly #source: AsyncIterable<T>;
  readonly #options: UntilOptions;
  /** Iterator of the source, while it has to be ended. */
  #items: AsyncIterator<T> | undefined;
  /** The loop waits for an item; one at a time. */
  #waiting: PromiseWithResolvers<IteratorResult<T, undefined>> | undefined;
  #begun = false;
  #over = false;

  constructor(source: AsyncIterable<T>, options: UntilOptions) {
    this.#source = source;
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<T, undefined>> {
    if (this.#waiting) return Promise.reject(new TypeError('the loop waits for an item already'));
    this.#begin();
    const items = this.#items;
    if (this.#over || !items) return this.return();
    const waiting = Promise.withResolvers<IteratorResult<T, undefined>>();
    this.#waiting = waiting;
    void (async () => items.next())().then(
      (item) => {
        if (this.#waiting !== waiting) return; // it came too late
        this.#waiting = undefined;
        if (item.done) this.#close();
        waiting.resolve(item.done ? DONE : item);
      },
      (error) => {
        if (this.#waiting !== waiting) return;
        this.#waiting = undefined;
        this.#close();
        waiting.reject(error);
      },
    );
    return waiting.promise;
  }

  async return(): Promise<IteratorReturnResult<undefined>> {
    const items = this.#close();
    const ended = await outcome(this.#options.clock, items?.return?.(), RETURN_MS);
    if (ended.kind !== 'done') this.#options.onHang(RETURN_MS);
    return DONE;
  }

  #begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    const { ends } = this.#options;
    this.#over = ends.some(({ aborted }) => aborted);
    if (this.#over) return;
    this.#items = this.#source[Symbol.asyncIterator]();
    for (const end of ends) end.addEventListener('abort', this.#onAbort);
  }

  /** Between two items the loop notices by itself, at the next one. */
  readonly #onAbort = (): void => {
    this.#over = true;
    for (const end of this.#options.ends) end.removeEventListener('abort', this.#onAbort);
    const waiting = this.#waiting;
    if (!waiting) return;
    this.#waiting = undefined;
    // The source may be asleep, and would end when it has the item that it was asked for.
    const items = this.#close();
    void (async () => items?.return?.())().catch(this.#options.onFailure);
    waiting.resolve(DONE);
  };

  /** The loop is over; the result is what has to be ended. */
  #close(): AsyncIterator<T> | undefined {
    const items = this.#items;
    this.#items = undefined;
    this.#over = true;
    this.#begun = true;
    for (const end of this.#options.ends) end.removeEventListener('abort', this.#onAbort);
    return items;
  }
}
