/** Whoever can be asked about one thing of the device, now: who that is changes, and what they know is told when it changes. */

import { CoreError } from '../contract/errors.ts';
import type { Logger } from '../contract/logger.ts';
import type { HealthReport } from '../services/health.ts';
import { Fact } from './cached.ts';
import { answered } from './dbus-peer.ts';

export interface AskedOptions<P, T> {
  /** `the network`, for sentences. */
  readonly what: string;
  readonly log: Logger;
  readonly look: (provider: P) => Promise<T>;
  /** Called with the first fact, and with each that differs from the one before. */
  readonly tell: (now: T) => void;
}

/** `P` knows facts of the kind `T`. */
export class Asked<P extends { readonly name: string }, T extends object> {
  readonly #options: AskedOptions<P, T>;
  readonly #fact: Fact<T>;
  #provider: P | undefined;
  #reason = 'nobody was asked yet';

  constructor(options: AskedOptions<P, T>) {
    const { log, look, tell } = options;
    this.#options = options;
    this.#fact = new Fact({ log, look: async () => look(this.one()), tell });
  }

  get provider(): P | undefined {
    return this.#provider;
  }

  /** Throws UNAVAILABLE with the reason why there is nobody. */
  one(): P {
    if (this.#provider) return this.#provider;
    throw new CoreError('UNAVAILABLE', { what: this.#options.what, reason: this.#reason });
  }

  /** Rejects with UNAVAILABLE where there is nobody, or where they give no answer. */
  ask<R>(work: (one: P) => Promise<R>): Promise<R> {
    return answered(this.#options.what, async () => work(this.one()));
  }

  /** Something may have changed; nobody waits for the look. */
  readonly changed = (): void => void this.#fact.stir();

  /** Resolves when it was looked at and told. Never rejects. */
  stir(): Promise<void> {
    return this.#fact.stir();
  }

  /** From now on this one is asked. */
  async take(next: P): Promise<void> {
    this.#provider = next;
    this.#options.log.info({ provider: next.name }, `${this.#options.what} is looked at`);
    await this.#fact.stir();
  }

  /** From now on there is nobody. */
  lost(reason: string): void {
    this.#provider = undefined;
    this.#reason = reason;
  }

  /** Adds it to `/health`. The remark says what whoever is asked cannot do. */
  tell(report: HealthReport, component: string, remark?: string): void {
    const { name } = this.#provider ?? {};
    const more = remark === undefined ? '' : `; ${remark}`;
    if (name === undefined) report.add(component, { status: 'waiting', code: 'UNAVAILABLE', message: this.#reason });
    else report.add(component, { status: 'okay', message: `asked of ${name}${more}` });
  }
}
