/** One-time codes of a person before a browser: short enough to type, so few tries are all that anybody has. */
import { randomInt } from 'node:crypto';
import { type Clock, CoreError, type SignIn } from '@device-core/plugin-api';

/** Without letters and digits that look alike: 40 bits in eight of them. */
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const LENGTH = 8;
const VALID_MS = 120_000;
const TRIES = 5;
const CLOSED_MS = 600_000;

interface Open<T> {
  readonly code: string;
  readonly means: T;
  readonly until: number;
}

export class OneTimeCodes<T> {
  readonly #clock: Clock;
  /** What the code is for, and the command that makes one. */
  readonly #purpose: { readonly what: string; readonly command: string };
  #open: Open<T> | undefined;
  #wrong = 0;
  #closedUntil = 0;

  constructor(clock: Clock, purpose: { readonly what: string; readonly command: string }) {
    this.#clock = clock;
    this.#purpose = purpose;
  }

  /** The former one is void. */
  make(means: T): SignIn {
    const letters = Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('');
    const code = `${letters.slice(0, 4)}-${letters.slice(4)}`;
    this.#open = { code, means, until: this.#clock.steady() + VALID_MS };
    return { code, until: this.#clock.now() + VALID_MS };
  }

  /** What the code meant; it is gone with this. Throws UNAUTHENTICATED, RATE_LIMITED. */
  take(text: string, caller: string): T {
    const now = this.#clock.steady();
    const { what, command } = this.#purpose;
    if (now < this.#closedUntil) {
      const details = { caller, limit: `${TRIES} wrong codes`, what };
      throw new CoreError('RATE_LIMITED', { ...details, retryAfterMs: Math.ceil(this.#closedUntil - now) });
    }
    const open = this.#open;
    if (open !== undefined && now <= open.until && written(text) === written(open.code)) {
      this.#open = undefined;
      this.#wrong = 0;
      return open.means;
    }
    // Without a code that is open there is nothing to guess: nobody can keep the door shut for the next one.
    if (open !== undefined && now <= open.until) this.#wrong += 1;
    if (this.#wrong >= TRIES) {
      this.#wrong = 0;
      this.#open = undefined;
      this.#closedUntil = now + CLOSED_MS;
    }
    throw new CoreError('UNAUTHENTICATED', { reason: `the code is wrong, late or used: "${command}" makes a new one` });
  }
}

/** However it was typed. */
const written = (code: string): string => code.toUpperCase().replace(/[^A-Z0-9]/g, '');
