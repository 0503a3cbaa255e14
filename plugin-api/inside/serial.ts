/** Runs work one after the other. A failure is the caller's alone: the next work begins all the same. */
export class Serial {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(work: () => T | Promise<T>): Promise<T> {
    const turn = this.#last.then(work);
    this.#last = turn.catch(() => undefined); // the caller gets the error
    return turn;
  }
}
