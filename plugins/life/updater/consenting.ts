/**
 * Asks whoever stands at the device whether an update may have what it newly asks for, where nothing else keeps the
 * device from installing it.
 */

import { CoreError, reasonOf } from '@device-core/plugin-api';
import type { PromptOutcome } from '@device-core/plugin-api/services/prompts';
import type { Parts } from './parts.ts';
import { asksFor, CONSENT, type Facts, firstNo } from './policy.ts';
import type { Wanted } from './record.ts';

/** "Not now" and silence hold so long. */
const AGAIN_MS = 86_400_000;
/** Pause before the next question after one that failed. */
const TROUBLE_MS = 600_000;

export class Consenting {
  readonly #parts: Parts;
  readonly #wake: () => Promise<void>;
  /** Image that is asked about. */
  #open: string | undefined;
  /** Nothing is asked before; of `clock.steady()`. */
  #next = 0;

  constructor(parts: Parts, wake: () => Promise<void>) {
    this.#parts = parts;
    this.#wake = wake;
    parts.scope.defer('question about the update', () => this.withdraw());
  }

  /** Takes the digest of the demands to which an operator agrees. Throws UPDATE_REFUSED for another one. */
  async accept(wanted: Wanted, digest: string, verb: string): Promise<void> {
    if (digest !== wanted.asks.digest) {
      const reason = `the digest of its demands is ${wanted.asks.digest ?? 'none'}, not ${digest}`;
      throw new CoreError('UPDATE_REFUSED', { verb, reason, rule: 'consent' });
    }
    await this.#parts.journal.note({ wanted: { ...wanted, accepted: digest } });
  }

  /** Asks where the consent alone keeps an update from being installed now: no person is asked by night about what waits for the day. */
  consider(facts: Facts, by: 'operator' | 'device', rule: string): void {
    const { wanted } = facts;
    const { digest } = wanted?.asks ?? {};
    const agreed = wanted && digest !== undefined && { ...facts, wanted: { ...wanted, accepted: digest } };
    if (agreed && by === 'device' && CONSENT.includes(rule) && !firstNo('activate', agreed, { by })) this.#ask(wanted);
    else this.withdraw();
  }

  /** Does nothing while the question is open, or was answered a while ago. */
  #ask(wanted: Wanted): void {
    const { services, clock, device } = this.#parts;
    const { image, version } = wanted;
    if (!services.prompts || this.#open === image || clock.steady() < this.#next) return;
    this.#open = image;
    const act = `install version ${version}: ${asksFor(wanted).join('; ')}`;
    const { id, title } = device.sku;
    const question = { kind: 'update', subject: id, title, version, act, what: [] } as const;
    services.prompts.ask(question).then(
      (outcome) => this.#told(image, outcome),
      (error) => {
        this.#parts.log.warn({ reason: reasonOf(error) }, 'the question about the update failed');
        if (this.#open === image) this.#over(TROUBLE_MS);
      },
    );
  }

  withdraw(): void {
    if (this.#open === undefined) return;
    this.#open = undefined;
    const { services, device, log } = this.#parts;
    services.prompts?.withdraw(device.sku.id, 'update').catch((error) => {
      log.warn({ reason: reasonOf(error) }, 'the question about the update stays open');
    });
  }

  async #told(image: string, { state, allow, by = 'somebody' }: PromptOutcome): Promise<void> {
    if (this.#open !== image) return;
    this.#over(state === 'withdrawn' ? 0 : AGAIN_MS);
    if (allow.length === 0) return;
    this.#next = 0;
    await this.#agreed(image, by).catch((err) => this.#parts.log.error({ err }, 'cannot take the yes to the update'));
  }

  async #agreed(image: string, by: string): Promise<void> {
    const { journal, log } = this.#parts;
    const { wanted } = journal.record;
    if (wanted?.image !== image || wanted.asks.digest === undefined) return;
    log.info({ by, version: wanted.version }, 'the new demands of the update were agreed to');
    await journal.note({ wanted: { ...wanted, accepted: wanted.asks.digest } });
    await this.#wake();
  }

  #over(ms: number): void {
    this.#open = undefined;
    this.#next = this.#parts.clock.steady() + ms;
  }
}
