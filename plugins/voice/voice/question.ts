/** A question back to the person, and the sentences that answer it: they are there until the next turn, or a while. */
import { type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import type { IntentPlan, Intents } from '@device-core/plugin-api/services/intents';
import { questionTexts } from './question-texts.ts';

export interface QuestionParts {
  readonly scope: Scope;
  readonly log: Logger;
  readonly language: string;
  /** With `{a}` and `{b}`; undefined: in the words of the language. */
  readonly which: string | undefined;
  /** Throws SERVICE_MISSING. */
  readonly intents: () => Intents;
}

const OWNER = 'plugin.voice';
/** Milliseconds for which an answer is one. */
const OPEN_MS = 30_000;
/** Shorter answers are heard where nothing is said. */
const LEAST_LETTERS = 3;

export class Questions {
  readonly #parts: QuestionParts;
  #open = new AsyncDisposableStack();
  /** Plan by the id of the answer that chooses it; none for a refusal. */
  #answers = new Map<string, IntentPlan | undefined>();
  #over: Disposable | undefined;

  constructor(parts: QuestionParts) {
    this.#parts = parts;
  }

  /**
   * One reading is to be confirmed, two are to be chosen from. Resolves with the words of the question; undefined where
   * only a refusal was heard. An answer that is in doubt itself leads to the plans of the question before.
   */
  async ask(readings: readonly IntentPlan[]): Promise<string | undefined> {
    const { scope, language, which } = this.#parts;
    const meant = readings.map((one) => (this.#answers.has(one.intent) ? this.#answers.get(one.intent) : one));
    const [a, b] = meant.filter((one) => one !== undefined);
    await this.close();
    if (!a) return undefined;
    const texts = questionTexts(language);
    const [first, second] = apart(a, b);
    if (b) {
      this.#answer('first', [...texts.first, ...(await this.#free(first, second))], a);
      this.#answer('second', [...texts.second, ...(await this.#free(second, first))], b);
    } else this.#answer('yes', texts.yes, a);
    this.#answer('no', texts.no);
    this.#over = scope.timeout('question of the voice', OPEN_MS, () => void this.close());
    // Parts may hold signs that a replacement reads.
    return (b ? (which ?? texts.which) : texts.whether).replace('{a}', () => first).replace('{b}', () => second);
  }

  /** From now on the answers mean what they meant before. */
  async close(): Promise<void> {
    this.#over?.[Symbol.dispose]();
    this.#over = undefined;
    const open = this.#open;
    this.#open = new AsyncDisposableStack();
    this.#answers = new Map();
    // An intents plugin that has gone has taken them along.
    await open.disposeAsync().catch((error: unknown) => {
      this.#parts.log.debug({ reason: reasonOf(error) }, 'the answers to a question were gone already');
    });
  }

  /** The part that was read out, and "ten" of "ten minutes", unless they are commands as they stand or begin the other one. */
  async #free(part: string, other: string): Promise<readonly string[]> {
    const { intents, language } = this.#parts;
    const [words, others] = [wordsOf(part), wordsOf(other)];
    const first = words[0] === others[0] ? '' : (words[0] ?? '');
    const free: string[] = [];
    for (const text of new Set([words.join(' '), first]))
      if (text.length >= LEAST_LETTERS && (await intents().match(text, { language })).outcome === 'none')
        free.push(text);
    return free;
  }

  #answer(name: string, sentences: readonly string[], plan?: IntentPlan): void {
    const { intents, language } = this.#parts;
    const id = `voice.answer.${name}`;
    this.#answers.set(id, plan);
    const definition = {
      id,
      title: plan?.title ?? name,
      language,
      sentences: [...new Set(sentences)],
      // The question was the second opinion.
      idempotent: true,
    };
    const run: Parameters<Intents['add']>[1] = async (asked) => (plan ? intents().run(plan, asked) : {});
    this.#open.use(intents().add(definition, run, OWNER));
  }
}

/** Without the signs that templates know. */
function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(/[\p{L}\p{M}\p{N}'-]+/gu) ?? [];
}

/** The words by which two readings differ, from the first one on: "ten minutes" and "fifteen minutes". */
function apart(a: IntentPlan, b: IntentPlan | undefined): readonly [string, string] {
  if (!b) return [a.text, ''];
  if (a.text === b.text) return [a.title, b.title];
  const [one, other] = [a.text.split(' '), b.text.split(' ')];
  let same = 0;
  while (one[same] !== undefined && one[same] === other[same]) same++;
  if (same >= one.length || same >= other.length) return [a.text, b.text];
  return [one.slice(same).join(' '), other.slice(same).join(' ')];
}
