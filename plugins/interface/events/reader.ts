import { type Caller, CoreError, type EventEnvelope } from '@device-core/plugin-api';
import type { ReadRights } from './read-rights.ts';

/** Answers kept; topics come from apps, so there must be an end. */
const ANSWERS = 512;

/** A reader of events, with the readable parts of its filters. */
export class Reader {
  readonly #rights: ReadRights;
  readonly #caller: Caller;
  readonly #answers = new Map<string, boolean>();

  constructor(rights: ReadRights, caller: Caller) {
    this.#rights = rights;
    this.#caller = caller;
  }

  /** Subscriptions for these filters now. A filter without a readable part is left out. */
  narrowed(filters: readonly string[]): readonly string[] {
    return [...new Set(filters.flatMap((filter) => this.partsOf(filter)))];
  }

  /** The same of one filter. */
  partsOf(filter: string): readonly string[] {
    this.#answers.clear();
    try {
      return this.#rights.of(this.#caller, filter).filters;
    } catch (thrown) {
      if (!(thrown instanceof CoreError)) throw thrown;
      return []; // it was told when it asked; since then a right has gone
    }
  }

  mayRead(event: EventEnvelope): boolean {
    const { topic, source } = event;
    const name = topic.startsWith('app.') ? `${source} ${topic}` : topic;
    const known = this.#answers.get(name);
    if (known !== undefined) return known;
    const answer = this.#rights.mayRead(this.#caller, event);
    if (this.#answers.size >= ANSWERS) this.#answers.clear();
    this.#answers.set(name, answer);
    return answer;
  }
}
