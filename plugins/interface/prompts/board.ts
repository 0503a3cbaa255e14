/** The questions that are open now. The first answer settles one; silence is no (decisions D16). */
import { randomBytes } from 'node:crypto';
import { afterOwnTime, type Clock, CoreError } from '@device-core/plugin-api';
import { choicesOf, inTurn } from '@device-core/plugin-api/inside/consent';
import type { Prompt, PromptOutcome, PromptQuestion, Prompts } from '@device-core/plugin-api/services/prompts';
import { checkQuestion, DEFAULT_MS } from './question.ts';

/** Number of closed questions whose outcome is remembered. */
const REMEMBERED = 64;

export type PromptState = 'open' | PromptOutcome['state'];

export interface BoardOptions {
  readonly clock: Clock;
  /** Questions that are open at the same time. */
  readonly most: number;
  /** A question came, or is settled. */
  readonly told: (prompt: Prompt, state: PromptState, outcome?: PromptOutcome) => void;
  /** Takes the answers before the asker hears of them; durable when it resolves. */
  readonly keep: (prompt: Prompt, outcome: PromptOutcome) => Promise<void>;
}

interface Open {
  readonly prompt: Prompt;
  readonly timer: Disposable;
  readonly resolve: (outcome: PromptOutcome) => void;
}

export class Board implements Prompts, Disposable {
  readonly #options: BoardOptions;
  readonly #open = new Map<string, Open>();
  /** Outcomes of the last ones, by id, for late answers. */
  readonly #over = new Map<string, string>();

  constructor(options: BoardOptions) {
    this.#options = options;
  }

  async ask(question: PromptQuestion): Promise<PromptOutcome> {
    checkQuestion(question);
    this.#withdraw(question.subject, question.kind);
    const { clock, most, told } = this.#options;
    if (this.#open.size >= most) throw new CoreError('BUSY', { what: 'another question', limit: most });
    const { ms = DEFAULT_MS, ...asked } = question;
    const id = this.#newId();
    const now = clock.now();
    const prompt: Prompt = { id, ...structuredClone(asked), since: now, until: now + ms };
    const { promise, resolve } = Promise.withResolvers<PromptOutcome>();
    const timer = afterOwnTime(clock, ms, () => this.#settle(id, 'expired', 'no answer came in time'));
    this.#open.set(id, { prompt, timer, resolve });
    told(prompt, 'open');
    return promise;
  }

  async withdraw(subject: string, kind: PromptQuestion['kind']): Promise<void> {
    this.#withdraw(subject, kind);
  }

  async list(): Promise<readonly Prompt[]> {
    return inTurn([...this.#open.values()].map(({ prompt }) => prompt));
  }

  /** Throws CONSENT_NOT_FOUND for a question that is not open (any more). */
  find(id: string): Prompt {
    return this.#find(id).prompt;
  }

  /**
   * A choice outside of `allow` is denied. Throws CONSENT_NOT_FOUND for a question that is not open (any more),
   * PARAMS_INVALID for an answer to another question, and the codes of a disk: then the answer holds, but not beyond
   * the end of the Core.
   */
  async answer(id: string, allow: readonly string[], by: string): Promise<PromptOutcome> {
    const open = this.#find(id);
    const choices = choicesOf(open.prompt);
    const strange = allow.find((one) => !choices.includes(one));
    if (strange !== undefined) {
      const reason = `the question is not about ${JSON.stringify(strange)}, but about ${choices.join(', ')}`;
      throw new CoreError('PARAMS_INVALID', { where: 'allow', reason });
    }
    const outcome: PromptOutcome = { state: 'answered', allow: [...new Set(allow)], by, at: this.#options.clock.now() };
    const kept = this.#options.keep(open.prompt, outcome);
    this.#settle(id, 'answered', `${by} has answered it`, outcome);
    await kept;
    return outcome;
  }

  [Symbol.dispose](): void {
    for (const id of [...this.#open.keys()]) this.#settle(id, 'withdrawn', 'it was withdrawn');
  }

  #find(id: string): Open {
    const open = this.#open.get(id);
    if (open) return open;
    throw new CoreError('CONSENT_NOT_FOUND', { prompt: id, reason: this.#over.get(id) ?? 'it was never asked' });
  }

  #withdraw(subject: string, kind: PromptQuestion['kind']): void {
    for (const { prompt } of [...this.#open.values()])
      if (prompt.subject === subject && prompt.kind === kind) this.#settle(prompt.id, 'withdrawn', 'it was withdrawn');
  }

  #settle(id: string, state: PromptOutcome['state'], reason: string, answered?: PromptOutcome): void {
    const open = this.#open.get(id);
    if (!open) return;
    this.#open.delete(id);
    open.timer[Symbol.dispose]();
    this.#over.set(id, reason);
    const [oldest] = this.#over.keys();
    if (this.#over.size > REMEMBERED && oldest !== undefined) this.#over.delete(oldest);
    const outcome: PromptOutcome = answered ?? { state, allow: [], at: this.#options.clock.now() };
    this.#options.told(open.prompt, state, outcome);
    open.resolve(outcome);
    // An act that would have answered it has nothing left to do.
    for (const { prompt } of [...this.#open.values()])
      if (prompt.about?.answers === id) this.#settle(prompt.id, 'withdrawn', 'what it was about was answered');
  }

  /** Short enough to be typed, and none that stood for another question a while ago. */
  #newId(): string {
    for (;;) {
      const id = randomBytes(4).toString('hex');
      if (!this.#open.has(id) && !this.#over.has(id)) return id;
    }
  }
}
