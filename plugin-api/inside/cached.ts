/** Something that is so now, and is told when it changes: the network, the power, the time. */
import { reasonOf } from '../contract/errors.ts';
import type { Logger } from '../contract/logger.ts';

export interface FactOptions<T> {
  readonly look: () => Promise<T>;
  /** Called with the first one, and with each that differs from the one before. */
  readonly tell: (now: T) => void;
  readonly log: Logger;
}

/** Looks when it is said that something may have changed, one look at a time; what is said meanwhile makes one more. */
export class Fact<T extends object> {
  readonly #options: FactOptions<T>;
  #told = '';
  #look: Promise<void> | undefined;
  #again = false;

  constructor(options: FactOptions<T>) {
    this.#options = options;
  }

  /** Something may have changed. Resolves when it was looked at and told. Never rejects. */
  stir(): Promise<void> {
    this.#again = true;
    this.#look ??= this.#run().finally(() => {
      this.#look = undefined;
    });
    return this.#look;
  }

  async #run(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      try {
        this.#tell(await this.#options.look());
      } catch (error) {
        this.#options.log.warn({ reason: reasonOf(error) }, 'cannot look at it');
      }
    }
  }

  #tell(now: T): void {
    const text = JSON.stringify(now);
    if (text === this.#told) return;
    this.#told = text;
    this.#options.tell(now);
  }
}
