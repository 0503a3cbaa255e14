/** One-time codes of a person before a browser: short enough to type, so that one peer has few tries at each. */
import { randomInt } from 'node:crypto';
import { type Clock, CoreError } from '@device-core/plugin-api';
import type { SignIn } from '@device-core/plugin-api/inside/services/sessions';

/** Without letters and digits that look alike: 40 bits in eight of them. */
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const LENGTH = 8;
const VALID_MS = 120_000;
/** Wrong ones of one peer, at one code. */
const TRIES = 5;
/** Wrong ones at one code of which somebody finds out whose they are: that costs a look at the open files of every guest. */
const LOOKS = 64;

interface Open<T> {
  readonly code: string;
  readonly means: T;
  /** Milliseconds of the steady clock. */
  readonly until: number;
  /** Wrong tries by peer: they end with the code. */
  readonly wrong: Map<string, number>;
  looks: number;
}

export class OneTimeCodes<T> {
  readonly #clock: Clock;
  /** Purpose of the code, and the command that makes one. */
  readonly #purpose: { readonly what: string; readonly command: string };
  #open: Open<T> | undefined;

  constructor(clock: Clock, purpose: { readonly what: string; readonly command: string }) {
    this.#clock = clock;
    this.#purpose = purpose;
  }

  /** The former one is void, and so is what anybody did wrong with it. */
  make(means: T): SignIn {
    const letters = Array.from({ length: LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('');
    const code = `${letters.slice(0, 4)}-${letters.slice(4)}`;
    this.#open = { code, means, until: this.#clock.steady() + VALID_MS, wrong: new Map(), looks: 0 };
    return { code, until: this.#clock.now() + VALID_MS };
  }

  /**
   * Takes the code away and answers with its meaning. `peerOf` names the peer of the try: one name for all connections
   * of a peer. Throws UNAUTHENTICATED, and RATE_LIMITED where this peer has had its tries at this code.
   */
  async take(text: string, peerOf: () => Promise<string>): Promise<T> {
    const open = this.#current();
    // Without a code that is open there is nothing to guess.
    if (!open) throw this.#wrong();
    const right = written(text) === written(open.code);
    // The right one is always looked at: a flood of wrong ones keeps nobody out.
    if (!right && open.looks++ >= LOOKS) throw this.#wrong();
    const peer = await peerOf();
    const tried = open.wrong.get(peer) ?? 0;
    if (tried >= TRIES) throw this.#tooMany(peer, open);
    if (!right) {
      open.wrong.set(peer, tried + 1);
      throw this.#wrong();
    }
    // It may have been used, or ended, meanwhile.
    if (this.#current() !== open) throw this.#wrong();
    this.#open = undefined;
    return open.means;
  }

  #current(): Open<T> | undefined {
    return this.#open && this.#clock.steady() <= this.#open.until ? this.#open : undefined;
  }

  #wrong(): CoreError {
    const { command } = this.#purpose;
    return new CoreError('UNAUTHENTICATED', {
      reason: `the code is wrong, late or used: "${command}" makes a new one`,
    });
  }

  #tooMany(peer: string, { until }: Open<T>): CoreError {
    const { what, command } = this.#purpose;
    return new CoreError('RATE_LIMITED', {
      caller: peer,
      limit: `${TRIES} wrong codes`,
      what: `${what} with this code ("${command}" makes a new one)`,
      retryAfterMs: Math.max(1, Math.ceil(until - this.#clock.steady())),
    });
  }
}

/** However it was typed. */
const written = (code: string): string => code.toUpperCase().replace(/[^A-Z0-9]/g, '');
