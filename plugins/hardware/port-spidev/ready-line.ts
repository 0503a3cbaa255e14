/** The data-ready line of the bridge as the port shows it, whether it is wired or has to be guessed by asking. */
export interface ReadyLine extends AsyncDisposable {
  listen(listener: (level: boolean) => void): Disposable;
  /** A transaction is over. */
  transacted(): void;
  /** Something may have happened over there. */
  wake(): void;
  /** How it works, for /health: `gpiomon gpiochip0 25`, `polled`. */
  readonly source: string;
  /** Why the wired line is not used. */
  readonly problem: string | undefined;
}

/** A level with those who want to know it. */
export class Level {
  readonly #listeners = new Set<(level: boolean) => void>();
  #level = false;

  get level(): boolean {
    return this.#level;
  }

  listen(listener: (level: boolean) => void): Disposable {
    this.#listeners.add(listener);
    listener(this.#level);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  set(level: boolean): void {
    if (level === this.#level) return;
    this.#level = level;
    for (const listener of this.#listeners) listener(level);
  }
}
