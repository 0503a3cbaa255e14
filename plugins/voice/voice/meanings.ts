/** Meaning of words: by our sentences, by local interpreters, and by those in the cloud. */
import { monotonicMs } from '@device-core/plugin-api/services/audio';
import type { Intents } from '@device-core/plugin-api/services/intents';
import type { Others } from './others.ts';
import type { Reading } from './reading.ts';
import type { Heard } from './utterance.ts';

export interface MeaningParts {
  readonly language: string;
  /** Milliseconds for an interpreter, by its place. */
  readonly within: Readonly<Record<'local' | 'cloud', number>>;
  /** Throws SERVICE_MISSING. */
  readonly intents: () => Intents;
  readonly others: Others;
}

export class Meanings {
  readonly #parts: MeaningParts;

  constructor(parts: MeaningParts) {
    this.#parts = parts;
  }

  /** By all of them. Rejects with CANCELLED, SERVICE_MISSING. */
  async of(heard: Heard, turn: string, signal: AbortSignal): Promise<Reading> {
    const reading = await this.ofLocal(heard, turn, signal);
    return (await this.by('cloud', reading, turn, signal)) ?? reading;
  }

  /** Nothing leaves the device. */
  async ofLocal(heard: Heard, turn: string, signal: AbortSignal): Promise<Reading> {
    const reading = await this.#sentence(heard);
    return (await this.by('local', reading, turn, signal)) ?? reading;
  }

  /**
   * Meaning of other interpreters for words outside our sentences; undefined where they do not know. Rejects with
   * CANCELLED.
   */
  async by(
    stage: 'local' | 'cloud',
    reading: Reading,
    turn: string,
    signal: AbortSignal,
  ): Promise<Reading | undefined> {
    if (reading.outcome !== 'none' || reading.reason !== 'no-intent') return undefined;
    const { heard, matched } = reading;
    const ms = this.#parts.within[stage];
    const match = await this.#parts.others.ask(heard.text, { turn, stage, rule: 'no-intent', ms, signal });
    if (!match) return undefined;
    return { outcome: 'plan', plan: match.plan, heard, matched: [matched?.[0] ?? monotonicMs(), monotonicMs()] };
  }

  async #sentence(heard: Heard): Promise<Reading> {
    const from = monotonicMs();
    const match = await this.#parts.intents().match(heard.text, { language: this.#parts.language });
    const words = { heard, matched: [from, monotonicMs()] as const };
    if (match.outcome === 'plan') return { ...words, outcome: 'plan', plan: match.plan };
    if (match.outcome === 'ambiguous') return { ...words, outcome: 'ambiguous', candidates: match.candidates };
    return { ...words, outcome: 'none', reason: 'no-intent' };
  }
}
