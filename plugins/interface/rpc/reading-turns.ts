/**
 * Sessions that had their share and have more to read: one of them goes on in a turn of the event loop, so that a flood
 * costs others one share a turn.
 */
export class ReadingTurns {
  /** As long as there are sessions at most: each waits once. */
  readonly #row: (() => void)[] = [];

  wait(readOn: () => void): void {
    if (this.#row.push(readOn) === 1) setImmediate(this.#next);
  }

  readonly #next = (): void => {
    // It stays in the row while it reads: whoever comes meanwhile starts no second round.
    this.#row[0]!();
    this.#row.shift();
    if (this.#row.length > 0) setImmediate(this.#next);
  };
}
