/** Decoders are dear: a few of them serve one stream after the other. */
import { CoreError, type Scope } from '@device-core/plugin-api';
import { type Decoder, ENGINE, failed } from './decoder.ts';

const WAIT_MS = 3_000;

interface Waiter {
  readonly take: (decoder: Decoder) => void;
  readonly leave: (error: CoreError) => void;
}

export class Pool {
  readonly #make: () => Decoder;
  readonly #limit: number;
  readonly #scope: Scope;
  readonly #idle: Decoder[];
  readonly #waiting = new Set<Waiter>();
  #made = 1;

  constructor(scope: Scope, limit: number, make: () => Decoder, first: Decoder) {
    this.#scope = scope;
    this.#limit = limit;
    this.#make = make;
    this.#idle = [first];
    // Decoders in use are freed by their users, which end with the scope.
    scope.defer('decoders', () => {
      for (const decoder of this.#idle.splice(0)) decoder[Symbol.dispose]();
      for (const { leave } of this.#waiting) leave(cancelled('it stops'));
    });
  }

  /** Rejects with SPEECH_FAILED (none has become free), CANCELLED. */
  async use<T>(signal: AbortSignal, work: (decoder: Decoder) => Promise<T>): Promise<T> {
    const { decoder, release } = await this.lend(signal);
    try {
      return await work(decoder);
    } finally {
      release();
    }
  }

  /** For who cannot hand over what to do with it; release() must follow. */
  async lend(signal: AbortSignal): Promise<{ readonly decoder: Decoder; readonly release: () => void }> {
    const decoder = await this.#take(signal);
    return { decoder, release: () => this.#release(decoder) };
  }

  async #take(signal: AbortSignal): Promise<Decoder> {
    if (signal.aborted || this.#scope.signal.aborted) throw cancelled('the caller no longer waits');
    const idle = this.#idle.pop();
    if (idle) return idle;
    if (this.#made < this.#limit) {
      const decoder = this.#make();
      this.#made++;
      return decoder;
    }
    const { promise, resolve, reject } = Promise.withResolvers<Decoder>();
    const waiter: Waiter = { take: resolve, leave: reject };
    const stop = () => reject(cancelled('the caller no longer waits'));
    const late = () => reject(failed(`all of its ${this.#limit} decoders are at work`));
    using _timer = this.#scope.timeout('free decoder', WAIT_MS, late);
    signal.addEventListener('abort', stop, { once: true });
    this.#waiting.add(waiter);
    try {
      return await promise;
    } finally {
      this.#waiting.delete(waiter);
      signal.removeEventListener('abort', stop);
    }
  }

  #release(decoder: Decoder): void {
    decoder.stop();
    const [next] = this.#waiting;
    if (this.#scope.signal.aborted) decoder[Symbol.dispose]();
    else if (next) {
      this.#waiting.delete(next);
      next.take(decoder);
    } else this.#idle.push(decoder);
  }
}

export function cancelled(reason: string): CoreError {
  return new CoreError('CANCELLED', { what: ENGINE, reason });
}
