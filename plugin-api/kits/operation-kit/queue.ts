/** Ordered queue of one reader. It has no bound: the writer knows what to do when much waits. */
export class Queue<T> implements AsyncIterable<T> {
  readonly #waiting: T[] = [];
  readonly #taken: (item: T) => void;
  #ended = false;
  #wake: (() => void) | undefined;

  /** `taken` hears of each item that leaves, for the reader or dropped. */
  constructor(taken: (item: T) => void = () => undefined) {
    this.#taken = taken;
  }

  get size(): number {
    return this.#waiting.length;
  }

  get ended(): boolean {
    return this.#ended;
  }

  push(item: T): void {
    this.#waiting.push(item);
    this.#wake?.();
  }

  /** Takes the oldest; undefined where none waits. */
  shift(): T | undefined {
    if (this.#waiting.length === 0) return undefined;
    const item = this.#waiting.shift()!;
    this.#taken(item);
    return item;
  }

  /** The reader gets what waits, and then the end. */
  end(): void {
    this.#ended = true;
    this.#wake?.();
  }

  clear(): void {
    this.#waiting.length = 0;
  }

  async *[Symbol.asyncIterator](): AsyncIterator<T, undefined> {
    for (;;) {
      if (this.#waiting.length > 0) yield this.shift()!;
      else if (this.#ended) return undefined;
      else {
        const { promise, resolve } = Promise.withResolvers<void>();
        this.#wake = resolve;
        await promise;
        this.#wake = undefined;
      }
    }
  }
}
