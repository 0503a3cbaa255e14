import { LoopShare, type Means, threadMs } from './loop-share.ts';

export interface LoopTurnsParts {
  /** Milliseconds that never go back. */
  readonly monotonic: () => number;
  readonly after: (ms: number, fn: () => void) => unknown;
  /** Milliseconds of the processor; for tests. */
  readonly spent?: () => number;
}

/** Goes on, and answers how many messages there were. */
type Go = () => number;

interface Waiting {
  readonly share: LoopShare;
  readonly go: Go;
}

/** A chunk below this holds a few plain messages: of so many one is measured, for to measure costs, too. */
const SMALL = 1_024;
const SAMPLED = 8;
/** Callers that are remembered. */
const MOST_SHARES = 512;

/**
 * Callers that had their share and have more to ask: one of them goes on in a turn of the event loop, so that a flood
 * costs others one share a turn. A turn is measured with the promises that follow, and charged to its caller.
 */
export class LoopTurns {
  readonly #parts: LoopTurnsParts;
  readonly #spent: () => number;
  /** As long as there are connections at most: each waits once. */
  readonly #row: Waiting[] = [];
  readonly #shares = new Map<string, LoopShare>();

  constructor(parts: LoopTurnsParts) {
    this.#parts = parts;
    this.#spent = parts.spent ?? threadMs;
  }

  /** All connections of a caller have one. */
  share(caller: string, means?: Means): LoopShare {
    const known = this.#shares.get(caller);
    if (known) return known;
    if (this.#shares.size >= MOST_SHARES) this.#forget();
    const share = new LoopShare(() => this.#parts.monotonic(), means);
    this.#shares.set(caller, share);
    return share;
  }

  /** `go` is called in a turn of the share. */
  wait(share: LoopShare, go: Go): void {
    const ms = share.owedMs;
    if (ms > 0) this.#parts.after(ms, () => this.#queue({ share, go }));
    else this.#queue({ share, go });
  }

  /** Resolves in a turn of the share, which is charged with it; undefined where it may have it now. */
  turn(share: LoopShare): Promise<void> | undefined {
    if (share.owedMs === 0) return undefined;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.wait(share, () => {
      resolve();
      return 1;
    });
    return promise;
  }

  /** Has a share charged with what runs from now to the last promise. `shareOf` is asked at the end. */
  follow(shareOf: () => LoopShare): void {
    this.#measure(shareOf, () => 1);
  }

  /** Reads what came, and has it charged with what follows from it. `owes` is called where others come first now. */
  read(share: LoopShare, bytes: number, read: Go, owes: () => void): void {
    const weight = bytes < SMALL ? SAMPLED : 1;
    if (Math.random() * weight < 1) this.#measure(() => share, read, weight, owes);
    else read();
  }

  #measure(shareOf: () => LoopShare, go: Go, weight = 1, owes: () => void = () => undefined): void {
    const began = this.#spent();
    const messages = go();
    const charge = (): void => {
      const share = shareOf();
      share.charge(this.#spent() - began, messages, weight);
      if (share.owedMs > 0) owes();
    };
    // A tick that a promise puts off comes when no promise is left.
    queueMicrotask(() => process.nextTick(charge));
  }

  #queue(waiting: Waiting): void {
    if (this.#row.push(waiting) === 1) setImmediate(this.#next);
  }

  readonly #next = (): void => {
    // It stays in the row while it goes on: whoever comes meanwhile starts no second round.
    const { share, go } = this.#row[0]!;
    if (share.owedMs > 0) this.wait(share, go);
    else this.#measure(() => share, go);
    this.#row.shift();
    if (this.#row.length > 0) setImmediate(this.#next);
  };

  /** A share that has all its savings is as one that was never used. */
  #forget(): void {
    for (const [caller, share] of this.#shares) if (share.isFull) this.#shares.delete(caller);
    if (this.#shares.size >= MOST_SHARES) this.#shares.delete(this.#shares.keys().next().value!);
  }
}
