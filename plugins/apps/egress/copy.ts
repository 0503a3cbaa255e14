/** Bytes from one socket to another, no faster than these are taken, and never for long without a turn for others. */
import type { Readable, Writable } from 'node:stream';

/** Most bytes that all open connections together copy in one turn of the event loop. */
const TURN_BYTES = 1024 * 1024;

/** One share for all in each turn of the event loop. Who comes when it is used up goes on in the next. */
export class Turns {
  #left = TURN_BYTES;
  #renewed = false;
  #row: (() => void)[] = [];

  /** False where the share is used up: `goOn` is called in the next turn. */
  take(bytes: number, goOn: () => void): boolean {
    this.#left -= bytes;
    if (!this.#renewed) {
      this.#renewed = true;
      setImmediate(this.#renew);
    }
    if (this.#left > 0) return true;
    this.#row.push(goOn);
    return false;
  }

  readonly #renew = (): void => {
    this.#renewed = false;
    this.#left = TURN_BYTES;
    const row = this.#row;
    this.#row = [];
    for (const goOn of row) goOn();
  };
}

/** Its end is handed on; errors are for whoever owns the two. */
export function copy(from: Readable, to: Writable, turns: Turns, count: (bytes: number) => void): void {
  let holds = 0;
  const goOn = () => {
    if (--holds === 0 && !from.destroyed) from.resume();
  };
  const hold = () => {
    holds++;
    from.pause();
  };
  from.on('data', (bytes: Buffer) => {
    count(bytes.length);
    if (!to.write(bytes)) {
      hold();
      to.once('drain', goOn);
    }
    if (!turns.take(bytes.length, goOn)) hold();
  });
  from.once('end', () => to.end());
}
