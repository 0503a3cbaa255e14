/** Answers that the parts of a page share: one address is asked once for all of them, and a young answer serves the next. */

export interface Answered {
  readonly value: unknown;
  /** By the clock of the device, milliseconds; the answer is no older than that. Undefined where the device named no time. */
  readonly at: number | undefined;
}

/** The last value stays while it is asked for again, and beside an error. */
export interface Shown {
  readonly data?: unknown;
  readonly error?: unknown;
}

type Ask = (signal: AbortSignal) => Promise<Answered>;
type User = (shown: Shown) => void;

export interface Joined {
  /** Asks again. With `since`, a time of the device: only where the answer may be older than that. */
  reload(since?: number): void;
  leave(): void;
}

interface Entry {
  readonly ask: Ask;
  readonly users: Set<User>;
  shown: Shown | undefined;
  /** Time of the answer: by the clock of the device, and by ours. */
  at: number | undefined;
  arrived: number;
  pending: AbortController | undefined;
  /** The pending answer must be younger than this time of the device; 0 asks for nothing more. */
  wanted: number;
}

const FRESH_MS = 1_000;

export class Shares {
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Addresses that are kept, used or not. */
  get size(): number {
    return this.#entries.size;
  }

  join(key: string, ask: Ask, user: User): Joined {
    this.#sweep();
    const entry = this.#entries.get(key) ?? {
      ask,
      users: new Set<User>(),
      shown: undefined,
      at: undefined,
      arrived: 0,
      pending: undefined,
      wanted: 0,
    };
    this.#entries.set(key, entry);
    entry.users.add(user);
    if (entry.pending === undefined) {
      if (entry.shown !== undefined && this.#isFresh(entry)) user(entry.shown);
      else this.#ask(entry);
    }
    return {
      reload: (since) => this.#reload(entry, since),
      leave: () => {
        entry.users.delete(user);
        if (entry.users.size > 0) return;
        entry.pending?.abort();
        entry.pending = undefined;
        this.#sweep();
      },
    };
  }

  /** All of them, or those that ended with an error. */
  reload(which: 'all' | 'failed'): void {
    for (const entry of this.#entries.values())
      if (entry.users.size > 0 && (which === 'all' || entry.shown?.error !== undefined)) this.#reload(entry);
  }

  #reload(entry: Entry, since = Number.POSITIVE_INFINITY): void {
    if (entry.users.size === 0) return;
    // An answer on its way may have been made before the change that asks for another.
    if (entry.pending !== undefined) entry.wanted = Math.max(entry.wanted, since);
    else if (entry.shown?.error !== undefined || !isYounger(entry.at, since)) this.#ask(entry);
  }

  #ask(entry: Entry): void {
    const over = new AbortController();
    entry.pending = over;
    entry.wanted = 0;
    const settle = (shown: Shown, at: number | undefined): void => {
      if (over.signal.aborted) return;
      entry.pending = undefined;
      [entry.shown, entry.at, entry.arrived] = [shown, at, this.#now()];
      for (const user of entry.users) user(shown);
      if (entry.wanted > 0 && entry.users.size > 0 && !isYounger(at, entry.wanted)) this.#ask(entry);
    };
    entry.ask(over.signal).then(
      ({ value, at }) => settle({ data: value }, at),
      (error: unknown) => settle({ ...entry.shown, error }, undefined),
    );
  }

  #isFresh({ shown, arrived }: Entry): boolean {
    return shown !== undefined && shown.error === undefined && this.#now() - arrived < FRESH_MS;
  }

  #sweep(): void {
    for (const [key, entry] of this.#entries)
      if (entry.users.size === 0 && !this.#isFresh(entry)) this.#entries.delete(key);
  }
}

const isYounger = (at: number | undefined, since: number): boolean => at !== undefined && at > since;
