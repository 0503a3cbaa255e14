/** Values for one reader who may be slow: when too many wait, the oldest goes and is counted. */
export class Latest<T> implements AsyncIterable<T> {
  readonly #limit: number;
  readonly #onDrop: ((value: T) => void) | undefined;
  readonly #waiting: T[] = [];
  #wake = Promise.withResolvers<void>();
  #over = false;
  #error: unknown;
  #dropped = 0;

  constructor(limit: number, onDrop?: (value: T) => void) {
    this.#limit = limit;
    this.#onDrop = onDrop;
  }

  get waiting(): number {
    return this.#waiting.length;
  }

  get dropped(): number {
    return this.#dropped;
  }

  push(value: T): void {
    if (this.#over) return;
    this.#waiting.push(value);
    if (this.#waiting.length > this.#limit) {
      const oldest = this.#waiting.shift()!;
      this.#dropped++;
      this.#onDrop?.(oldest);
    }
    this.#wake.resolve();
  }

  /** Forgets what waits. */
  clear(): void {
    this.#waiting.length = 0;
  }

  /** The reader gets what waits, and then the end. */
  close(): void {
    this.#over = true;
    this.#wake.resolve();
  }

  /** The reader gets what waits, and then the error. */
  fail(error: unknown): void {
    if (this.#over) return;
    this.#error = error;
    this.close();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    try {
      for (;;) {
        if (this.#waiting.length > 0) {
          yield this.#waiting.shift()!;
        } else if (this.#over) {
          if (this.#error !== undefined) throw this.#error;
          return;
        } else {
          this.#wake = Promise.withResolvers();
          await this.#wake.promise;
        }
      }
    } finally {
      this.#over = true;
      this.clear();
    }
  }
}
