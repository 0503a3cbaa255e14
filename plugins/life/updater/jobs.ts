/** One job of the updater at a time, and between two of them the disk is tidied. */
import { CoreError, reasonOf } from '@device-core/plugin-api';
import type { Parts } from './parts.ts';
import { COMMITTED, OVER } from './states.ts';
import { Stopped } from './stopped.ts';
import { tidy } from './tidy.ts';
import type { Uploads } from './uploads.ts';

interface Job {
  readonly name: string;
  readonly abort: AbortController;
  readonly done: Promise<void>;
}

export class Jobs {
  readonly #parts: Parts;
  readonly #uploads: Uploads;
  #job: Job | undefined;
  #tidied: Promise<void> = Promise.resolve();

  constructor(parts: Parts, uploads: Uploads) {
    this.#parts = parts;
    this.#uploads = uploads;
    parts.scope.defer('the update', async () => {
      this.#job?.abort.abort(new CoreError('CANCELLED', { what: 'the update', reason: 'the Core ends' }));
      await this.#job?.done;
    });
  }

  get running(): Job | undefined {
    return this.#job;
  }

  /** Never rejects: what goes wrong is where the update ends. */
  run(name: string, work: (signal: AbortSignal) => Promise<void>): Promise<void> {
    if (this.#job) throw new CoreError('UPDATE_CONFLICT', { verb: name, state: this.#parts.journal.record.state });
    const abort = new AbortController();
    const done = this.#tidied
      .then(() => work(abort.signal))
      .catch((error) => this.#failed(abort.signal.aborted ? abort.signal.reason : error))
      .catch((err) => this.#parts.log.error({ err }, 'cannot record how the update ended'))
      .then(() => this.tidy())
      .finally(() => {
        this.#job = undefined;
      });
    this.#job = { name, abort, done };
    return done;
  }

  /** Nothing begins meanwhile. Never rejects. */
  tidy(): Promise<void> {
    // The next start does it.
    if (this.#parts.scope.signal.aborted) return Promise.resolve();
    this.#tidied = tidy(this.#parts, this.#uploads).catch((err) =>
      this.#parts.log.warn({ err }, 'cannot sweep what no update needs'),
    );
    return this.#tidied;
  }

  async #failed(error: unknown): Promise<void> {
    const { journal, scope, log } = this.#parts;
    // The next start of the Core goes on.
    if (scope.signal.aborted) return;
    const reason = reasonOf(error);
    if (error instanceof Stopped) {
      if (journal.can(error.step)) await journal.move(error.step, { reason });
      return;
    }
    log.warn({ err: error }, 'the update failed');
    if (journal.can('fail'))
      await journal.move('fail', { reason, order: undefined, anyway: undefined, flips: undefined });
    else await journal.note({ reason });
  }

  /** Resolves when what is under way has ended, for this reason. */
  async stop(why: Stopped): Promise<void> {
    this.#job?.abort.abort(why);
    await this.#job?.done;
  }

  /** Throws UPDATE_CONFLICT while something is under way. */
  async free(verb: string): Promise<void> {
    // A job in a final state has only to write its record.
    if (OVER.includes(this.#parts.journal.record.state)) await this.#job?.done;
    const { state } = this.#parts.journal.record;
    if (this.#job || COMMITTED.includes(state)) throw new CoreError('UPDATE_CONFLICT', { verb, state });
  }
}
