import { type Clock, reasonOf } from '@device-core/plugin-api';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { journalEntry } from './entry.ts';
import type { Datagrams, OpenDatagrams } from './socket.ts';

/** A journal that is gone is looked for again after so long. */
const AGAIN_MS = 1_000;
const WARN = 40;

export interface JournalOptions {
  readonly path: string;
  readonly identifier: string;
  readonly open: OpenDatagrams;
  readonly clock: Clock;
}

/**
 * Lines of the log on their way to the journal. It never waits: what the journal has no room for is lost, counted, and
 * told there and in /health.
 */
export class Journal implements Disposable {
  readonly #options: JournalOptions;
  #socket: Datagrams | undefined;
  #reason = '';
  #askedAt = Number.NEGATIVE_INFINITY;
  #untold = 0;
  #lost = 0;

  constructor(options: JournalOptions) {
    this.#options = options;
  }

  /** False: there is no journal now, and the file is to take the line. */
  readonly write = (line: string, level: number): boolean => {
    const socket = this.#connected();
    if (!socket) return false;
    if (this.#untold > 0) {
      const msg = `${this.#untold} lines of the log were lost: the journal had no room`;
      if (this.#send(socket, JSON.stringify({ lost: this.#untold, msg }), WARN) === 'sent') this.#untold = 0;
    }
    const sent = this.#send(socket, line, level);
    if (sent === 'full') {
      this.#lost++;
      this.#untold++;
    }
    return sent !== 'gone';
  };

  tell(report: HealthReport): void {
    if (!this.#connected())
      report.warn('JOURNAL_GONE', `the log goes into its file, because there is no journal: ${this.#reason}`);
    if (this.#untold > 0)
      report.warn('JOURNAL_FULL', `the journal has no room: ${this.#untold} lines are lost now, ${this.#lost} in all`);
  }

  [Symbol.dispose](): void {
    this.#socket?.[Symbol.dispose]();
    this.#socket = undefined;
  }

  #send(socket: Datagrams, line: string, level: number) {
    const sent = socket.send(journalEntry(line, level, this.#options.identifier));
    if (sent === 'gone') {
      this.#reason = 'it went';
      this[Symbol.dispose]();
    }
    return sent;
  }

  #connected(): Datagrams | undefined {
    const { open, path, clock } = this.#options;
    if (this.#socket) return this.#socket;
    const now = clock.monotonic();
    if (now - this.#askedAt < AGAIN_MS) return undefined;
    this.#askedAt = now;
    try {
      this.#socket = open(path);
    } catch (error) {
      this.#reason = reasonOf(error);
    }
    return this.#socket;
  }
}
