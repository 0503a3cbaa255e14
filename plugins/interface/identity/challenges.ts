/**
 * Challenges that a browser signs to come back. No challenge is kept: each carries its end and our seal, so ten
 * thousand of them cost no memory, and none can push out another. A used one is remembered until its end.
 */
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Clock, CoreError } from '@device-core/plugin-api';

const VALID_MS = 60_000;
/** Most challenges of one browser within a minute: a browser cannot use up the share of another. */
const MOST_USED = 16;
const FORM = /^([A-Za-z0-9_-]{22})\.([0-9a-z]{1,11})\.([A-Za-z0-9_-]{43})$/;

export class Challenges {
  readonly #clock: Clock;
  /** Key of this start: challenges of a former one are void. */
  readonly #secret = randomBytes(32);
  readonly #used = new Map<string, { readonly until: number; readonly by: string }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Good for this subject alone: a browser at an origin. */
  make(subject: string): { readonly challenge: string; readonly until: number } {
    const nonce = randomBytes(16).toString('base64url');
    const until = Math.ceil(this.#clock.steady() + VALID_MS).toString(36);
    const challenge = `${nonce}.${until}.${this.#seal(nonce, until, subject)}`;
    return { challenge, until: this.#clock.now() + VALID_MS };
  }

  /** Throws UNAUTHENTICATED (not of ours, of another subject, late, used). */
  check(challenge: string, subject: string): void {
    const [, nonce = '', until = '', seal = ''] = FORM.exec(challenge) ?? [];
    const ours = Buffer.from(this.#seal(nonce, until, subject));
    const good = seal.length === ours.length && timingSafeEqual(ours, Buffer.from(seal));
    if (!good || this.#used.has(nonce) || Number.parseInt(until, 36) < this.#clock.steady())
      throw new CoreError('UNAUTHENTICATED', { reason: 'the challenge is unknown, used or late: ask for another one' });
  }

  /** It was good, and never is again. Throws BUSY. */
  use(challenge: string, by: string): void {
    const now = this.#clock.steady();
    for (const [nonce, { until }] of this.#used) if (until < now) this.#used.delete(nonce);
    const own = [...this.#used.values()].filter((one) => one.by === by).length;
    if (own >= MOST_USED)
      throw new CoreError('BUSY', { what: 'a session of this browser', limit: `${MOST_USED} within a minute` });
    const [nonce = '', until = ''] = challenge.split('.');
    this.#used.set(nonce, { until: Number.parseInt(until, 36), by });
  }

  #seal(nonce: string, until: string, subject: string): string {
    return createHmac('sha256', this.#secret).update(`${nonce}\n${until}\n${subject}`).digest('base64url');
  }
}
