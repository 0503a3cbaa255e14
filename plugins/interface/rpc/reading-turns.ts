import { LoopShare, threadMs } from '../shared/loop-share.ts';

export interface ReadingTurnsParts {
  /** Milliseconds that never go back. */
  readonly monotonic: () => number;
  readonly after: (ms: number, fn: () => void) => unknown;
  /** Milliseconds of the processor; for tests. */
  readonly spent?: () => number;
}

/** Reads, and answers how many messages there were. */
type Read = () => number;

interface Waiting {
  readonly share: LoopShare;
  readonly readOn: Read;
}

/** A chunk below this holds a few plain requests: of so many one is measured, for to measure costs, too. */
const SMALL = 1_024;
const SAMPLED = 8;

/**
 * Sessions that had their share and have more to read: one of them goes on in a turn of the event loop, so that a flood
 * costs others one share a turn. A turn is measured with the promises that follow, and charged to the app.
 */
export class ReadingTurns {
  readonly #parts: ReadingTurnsParts;
  readonly #spent: () => number;
  /** As long as there are sessions at most: each waits once. */
  readonly #row: Waiting[] = [];
  /** By app; as many as there are sockets. */
  readonly #shares = new Map<string, LoopShare>();
  #began = 0;
  #messages = 0;

  constructor(parts: ReadingTurnsParts) {
    this.#parts = parts;
    this.#spent = parts.spent ?? threadMs;
  }

  /** All sessions of an app have one. */
  share(app: string): LoopShare {
    const share = this.#shares.get(app) ?? new LoopShare(() => this.#parts.monotonic());
    this.#shares.set(app, share);
    return share;
  }

  wait(share: LoopShare, readOn: Read): void {
    const ms = share.owedMs;
    if (ms > 0) this.#parts.after(ms, () => this.#queue({ share, readOn }));
    else this.#queue({ share, readOn });
  }

  /** Reads what came, and has it charged with what follows from it. `owes` is called where others come first now. */
  read(share: LoopShare, bytes: number, read: Read, owes: () => void): void {
    const isSmall = bytes < SMALL;
    if (isSmall && Math.random() * SAMPLED >= 1) {
      read();
      return;
    }
    const began = this.#spent();
    const messages = read();
    const charge = (): void => {
      share.charge(this.#spent() - began, messages, isSmall ? SAMPLED : 1);
      if (share.owedMs > 0) owes();
    };
    // A tick that a promise puts off comes when no promise is left.
    queueMicrotask(() => process.nextTick(charge));
  }

  #queue(waiting: Waiting): void {
    if (this.#row.push(waiting) === 1) setImmediate(this.#next);
  }

  readonly #next = (): void => {
    // It stays in the row while it reads: whoever comes meanwhile starts no second round.
    const { share, readOn } = this.#row[0]!;
    this.#began = this.#spent();
    this.#messages = 0;
    if (share.owedMs > 0) this.wait(share, readOn);
    else this.#messages = readOn();
    // Nothing but promises that follow runs between the two.
    setImmediate(this.#read);
  };

  readonly #read = (): void => {
    this.#row.shift()?.share.charge(this.#spent() - this.#began, this.#messages);
    if (this.#row.length > 0) setImmediate(this.#next);
  };
}
