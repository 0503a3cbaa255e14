/**
 * Answers by voice to an open question: refuse it, or show it again. No sentence allows, for a loudspeaker can say every
 * sentence. The sentences are known only while a question is open.
 */

import { type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import { actIn, claimIn, rightIn } from '@device-core/plugin-api/inside/consent';
import { foreignLabel } from '@device-core/plugin-api/scene';
import type { Intents } from '@device-core/plugin-api/services/intents';
import type { Prompt } from '@device-core/plugin-api/services/prompts';
import { LANGUAGES, type Strings } from './strings/index.ts';

/** Outcome of a spoken "no". `early`: buttons would not have taken it either. */
export type Refusal =
  | { readonly outcome: 'refused' | 'failed'; readonly prompt: Prompt }
  | { readonly outcome: 'none' | 'early' };

export interface Asked {
  readonly asks: boolean;
  refuse(): Promise<Refusal>;
  /** Wakes the panel and turns back to the first page. */
  show(): Promise<Prompt | undefined>;
}

const OWNER = 'plugin.system-view';
/** Characters that are read at once. */
const MOST_READ = 600;

export class SpokenQuestions {
  readonly #view: Asked;
  readonly #log: Logger;
  #intents: Intents | undefined;
  #held: AsyncDisposableStack | undefined;
  #settled: Promise<void> = Promise.resolve();

  constructor(view: Asked, log: Logger) {
    this.#view = view;
    this.#log = log;
  }

  follow(intents: Intents, during: Scope): void {
    this.#intents = intents;
    during.defer('sentences of questions', async () => {
      this.#intents = undefined;
      await this.look();
    });
    void this.look();
  }

  /** A question came, or the last one went. Never rejects. */
  look(): Promise<void> {
    this.#settled = this.#settled.then(() => this.#settle());
    return this.#settled;
  }

  async #settle(): Promise<void> {
    const intents = this.#view.asks ? this.#intents : undefined;
    try {
      if (!intents) await this.#remove();
      else if (!this.#held) this.#add(intents);
    } catch (thrown) {
      this.#log.warn({ reason: reasonOf(thrown) }, 'an open question cannot be refused by voice');
    }
  }

  #add(intents: Intents): void {
    const held = new AsyncDisposableStack();
    this.#held = held;
    for (const [language, strings] of Object.entries(LANGUAGES)) {
      const { refuse, show } = strings.said;
      const refusing = async () => ({ say: refusedAs(await this.#view.refuse(), strings) });
      const showing = async () => ({ say: askedAs(await this.#view.show(), strings, language) });
      held.use(intents.add({ id: `question.refuse.${language}`, language, ...refuse }, refusing, OWNER));
      held.use(intents.add({ id: `question.show.${language}`, language, ...show }, showing, OWNER));
    }
  }

  async #remove(): Promise<void> {
    const held = this.#held;
    this.#held = undefined;
    await held?.disposeAsync();
  }
}

function refusedAs(refusal: Refusal, { questions, answers }: Strings): string {
  if (!('prompt' in refusal)) return answers[refusal.outcome];
  const { prompt, outcome } = refusal;
  return outcome === 'failed' ? answers.failed : `${questions[prompt.kind].refused}: ${titleOf(prompt)}.`;
}

/** Question in the words of the device: its app and its rights. Reasons are words of the app: those are only shown. */
function askedAs(prompt: Prompt | undefined, { questions, answers }: Strings, language: string): string {
  if (!prompt) return answers.none;
  const { kind, act, what, claims = [], operation = '', names = {} } = prompt;
  let said = `${titleOf(prompt)} ${questions[kind].asks}.`;
  const sentences = [
    ...(act === undefined ? [] : [actIn(language, { operation, names, act })]),
    ...claims.map((claim) => claimIn(language, claim)),
  ].map((sentence) => ({ sentence, optional: false }));
  const rights = what.map((item) => ({
    sentence: rightIn(language, item),
    optional: item.optional && kind !== 'confirm',
  }));
  for (const { sentence, optional } of [...sentences, ...rights]) {
    const next = ` ${foreignLabel(sentence)}${optional ? `, ${answers.choice}` : ''}.`;
    if (said.length + next.length > MOST_READ) return `${said} ${answers.more} ${answers.onScreen}`;
    said += next;
  }
  return `${said} ${answers.onScreen}`;
}

function titleOf({ title, subject }: Prompt): string {
  return foreignLabel(title.trim() === '' ? subject : title);
}
