import { reasonOf } from '@device-core/plugin-api';
import { Serial } from '@device-core/plugin-api/inside/serial';

/** The one queue in which everything that changes the state of an app happens. */
export class Turns {
  readonly #failed: (reason: string) => void;
  readonly #queue = new Serial();
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
    return this.#queue.run(change);
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
