/** Source of one fact about the device: the present provider may change, and each change of its answer is published. */

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
  #reason = 'it was not asked yet';

  constructor(options: AskedOptions<P, T>) {
    const { log, look, tell } = options;
    this.#options = options;
    this.#fact = new Fact({ log, look: async () => look(this.one()), tell });
  }

  get provider(): P | undefined {
    return this.#provider;
  }

  /** Throws UNAVAILABLE with the reason for the missing provider. */
  one(): P {
    if (this.#provider) return this.#provider;
    throw new CoreError('UNAVAILABLE', { what: this.#options.what, reason: this.#reason });
  }

  /** Rejects with UNAVAILABLE where there is no provider, or where it gives no answer. */
  ask<R>(work: (one: P) => Promise<R>): Promise<R> {
    return answered(this.#options.what, async () => work(this.one()));
  }

  /** Starts a look after a possible change, without a wait. */
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

  /** Drops the provider from now on. */
  lost(reason: string): void {
    this.#provider = undefined;
    this.#reason = reason;
  }

  /** Adds it to `/health`. The remark names a gap of the provider. */
  tell(report: HealthReport, component: string, remark?: string): void {
    const { name } = this.#provider ?? {};
    const more = remark === undefined ? '' : `; ${remark}`;
    if (name === undefined) report.add(component, { status: 'waiting', code: 'UNAVAILABLE', message: this.#reason });
    else report.add(component, { status: 'okay', message: `asked of ${name}${more}` });
  }
}
