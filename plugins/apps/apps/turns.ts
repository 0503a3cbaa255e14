import { reasonOf } from '@device-core/plugin-api';

/** The one queue in which everything that changes the state of an app happens. */
export class Turns {
  readonly #failed: (reason: string) => void;
  #queue: Promise<unknown> = Promise.resolve();
  #cancel = new AbortController();
  /** Stops that were asked for and have not begun: a start in front of one of them is not worth beginning. */
  #stops = 0;

  /** `failed` is told of changes that nobody asked for. */
  constructor(failed: (reason: string) => void) {
    this.#failed = failed;
  }

  /** Aborted while a stop waits for its turn. */
  get signal(): AbortSignal {
    return this.#cancel.signal;
  }

  take(change: () => Promise<void>): Promise<void> {
    const turn = this.#queue.then(change);
    // The next change does not care how this one ended; whoever asked for it is told.
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  /** For changes that nobody asked for. */
  takeQuietly(change: () => Promise<void>): Promise<void> {
    return this.take(change).catch((thrown) => this.#failed(reasonOf(thrown)));
  }

  /** As take(), and a start that is under way is given up. */
  takeToStop(change: () => Promise<void>): Promise<void> {
    this.#cancel.abort();
    this.#stops += 1;
    return this.take(async () => {
      this.#stops -= 1;
      if (this.#stops === 0) this.#cancel = new AbortController();
      await change();
    });
  }
}
