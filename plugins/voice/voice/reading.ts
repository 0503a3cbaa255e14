/** Meaning of what one stage heard, and which of two counts. */
import { CoreError, type ErrorCode, reasonOf } from '@device-core/plugin-api';
import type { IntentPlan } from '@device-core/plugin-api/services/intents';
import type { Heard } from './utterance.ts';

interface Words {
  readonly heard: Heard;
  /** When the intents were asked, and answered. */
  readonly matched?: readonly [from: number, to: number];
}

/** Meaning of one engine's words. */
export type Reading =
  | (Words & { readonly outcome: 'plan'; readonly plan: IntentPlan })
  | (Words & { readonly outcome: 'ambiguous'; readonly candidates: readonly IntentPlan[] })
  | (Words & { readonly outcome: 'none'; readonly reason: 'out-of-grammar' | 'unsure' | 'no-intent' })
  /** There were no words. */
  | { readonly outcome: 'empty' }
  | { readonly outcome: 'failed'; readonly code: ErrorCode; readonly reason: string };

/** Why the next stage was asked. */
export type Rule = 'local-disabled' | 'unsure' | 'out-of-grammar' | 'no-intent' | 'local-failed' | 'hedge';

/** The same intent with the same slots, whatever the words. */
export function sameMeaning(one: IntentPlan, other: IntentPlan): boolean {
  const slots = ({ slots }: IntentPlan) => JSON.stringify(Object.entries(slots).sort());
  return one.intent === other.intent && slots(one) === slots(other);
}

export function enough({ outcome }: Reading): boolean {
  return outcome === 'plan' || outcome === 'ambiguous';
}

export function ruleOf(reading: Reading): Rule {
  return reading.outcome === 'none' ? reading.reason : 'local-failed';
}

export function failed(error: unknown): Reading {
  const code = error instanceof CoreError ? error.code : 'INTERNAL';
  return { outcome: 'failed', code, reason: reasonOf(error) };
}

/** A later stage's reading counts more, unless there is nothing in it. */
export function better(former: Reading | undefined, later: Reading): Reading {
  if (!former || enough(later)) return later;
  if (enough(former) || later.outcome === 'failed') return former;
  return later.outcome === 'empty' && former.outcome !== 'failed' ? former : later;
}

/** Readings of the stages as they come: the first with a meaning wins, whichever stage it is of. */
export class Race {
  readonly #readings: (Reading | undefined)[] = [];
  #winner: Reading | undefined;
  #news = Promise.withResolvers<void>();

  /** `work` never rejects. */
  add(work: Promise<Reading>): void {
    const place = this.#readings.push(undefined) - 1;
    void work.then((reading) => {
      this.#readings[place] = reading;
      if (enough(reading)) this.#winner ??= reading;
      this.#news.resolve();
      this.#news = Promise.withResolvers();
    });
  }

  /** The winner, or the best of those that are there. */
  get reading(): Reading | undefined {
    if (this.#winner) return this.#winner;
    return this.#readings.reduce<Reading | undefined>((best, one) => (one ? better(best, one) : best), undefined);
  }

  get won(): boolean {
    return this.#winner !== undefined;
  }

  /** Every stage that was asked has answered. */
  get settled(): boolean {
    return this.#readings.every((one) => one !== undefined);
  }

  async over(): Promise<void> {
    while (!this.won && !this.settled) await this.#news.promise;
  }
}
