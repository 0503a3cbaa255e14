/** All that can be said now, with what it does. A change is in force at once; that it came is told after a moment, once for many. */
import { CoreError, type Logger, maybe, reasonOf, type Scope } from '@device-core/plugin-api';
import type {
  IntentAnswer,
  IntentDefinition,
  IntentMatch,
  IntentPlan,
  IntentRun,
  Intents,
} from '@device-core/plugin-api/services/intents';
import type { SpeechGrammar } from '@device-core/plugin-api/services/speech';
import { type Continuation, MOST_READINGS, NUMBER, type Values } from './automaton.ts';
import { type Compiled, compileDefinition } from './definition.ts';
import { plainer } from './forgiven.ts';
import { makeGrammar } from './grammar.ts';
import { numberWords } from './numbers.ts';
import { forgivenOf } from './texts.ts';
import { baseLanguage, wordsOf } from './words.ts';

type Work = (run: IntentRun) => Promise<IntentAnswer>;

export interface Row {
  readonly compiled: Compiled;
  readonly run: Work;
  readonly owner: string;
  /** False: known, but not to be said now (its app does not run). */
  readonly awake: boolean;
}

/** Rows of a language by the first word of their sentences. Never changed: a match that is under way keeps what it began with. */
interface Index {
  readonly byWord: ReadonlyMap<string, readonly Row[]>;
  /** Those that may begin with digits. */
  readonly others: readonly Row[];
}

/** Owner of the device's own intents. */
export const DEVICE = 'plugin.intent';
const BEGINNING = 'it is only the beginning of a sentence';
const MAX_TEXT = 500;
const MAX_WORDS = 64;
const MAX_SAY = 2_000;
const TELL_AFTER_MS = 50;

export class Catalogue implements Omit<Intents, 'rivals' | 'addInterpreter' | 'interpreters' | 'interpret'> {
  readonly #rows = new Map<string, Row>();
  readonly #indices = new Map<string, Index>();
  readonly #grammars = new Map<string, SpeechGrammar>();
  readonly #listeners = new Set<() => void>();
  /** Sentences of a language are asked for, before any is looked up. */
  onNeed: ((language: string) => void) | undefined;
  readonly #scope: Scope;
  readonly #log: Logger;
  readonly #most: number;
  #telling: Disposable | undefined;

  constructor(scope: Scope, log: Logger, most: number) {
    this.#scope = scope;
    this.#log = log;
    this.#most = most;
  }

  get size(): number {
    return this.#rows.size;
  }

  rowOf(intent: string): Row | undefined {
    return this.#rows.get(intent);
  }

  add(definition: IntentDefinition, run: Work, owner: string): AsyncDisposable {
    const row = this.put(compileDefinition(definition), run, owner);
    return { [Symbol.asyncDispose]: async () => this.remove(row) };
  }

  /** Throws PARAMS_INVALID: the id is taken, or there are too many. */
  put(compiled: Compiled, run: Work, owner: string, awake = true): Row {
    const { id } = compiled.definition;
    const other = this.#rows.get(id);
    const reason = other
      ? `${other.owner} has an intent of this id`
      : // The device's own are few, and a question in another language must not fail for them.
        owner !== DEVICE && this.#rows.size >= this.#most && `there are ${this.#most} already`;
    if (reason) throw new CoreError('PARAMS_INVALID', { where: `intent ${id}`, reason });
    const row: Row = { compiled, run, owner, awake };
    this.#rows.set(id, row);
    this.#changed(row);
    return row;
  }

  /** Another row in the place of this one, in one step. */
  replace(former: Row, row: Row): void {
    const { id } = former.compiled.definition;
    if (this.#rows.get(id) !== former) return;
    this.#rows.set(id, row);
    if (former.awake || row.awake) this.#changed(row);
  }

  remove(row: Row): void {
    const { id } = row.compiled.definition;
    if (this.#rows.get(id) !== row) return;
    this.#rows.delete(id);
    this.#changed(row);
  }

  async match(text: string, { language }: { readonly language: string }): Promise<IntentMatch> {
    const base = baseLanguage(language);
    const words = this.wordsOf(text, base);
    if (typeof words === 'string') return none(words);
    this.onNeed?.(base);
    const exact = this.#matchWords(words, text, base);
    const forgiven = forgivenOf(base);
    if (exact.outcome !== 'none' || !forgiven) return exact;
    // Only where the sentence as it is means nothing: an app's own "please" is a word like others.
    const lenient = this.#matchWords(plainer(words, forgiven), text, base);
    if (exact.reason !== BEGINNING) return lenient;
    if (lenient.outcome === 'none') return exact;
    // Both readings may still come true: "please stop" of an app's "please stop the music".
    if (lenient.outcome !== 'plan') return lenient;
    const { byNumber: _, ...plan } = lenient.plan;
    return { ...lenient, plan: { ...plan, mayGoOn: true } };
  }

  /** The words of a text, or why it has none that could mean something. */
  wordsOf(text: string, language: string): readonly string[] | string {
    if (text.length > MAX_TEXT) return `the text has more than ${MAX_TEXT} characters`;
    const numbers = numberWords(language);
    const words = wordsOf(text, numbers?.percent, numbers?.minus);
    if (words.length === 0) return 'there are no words';
    return words.length > MAX_WORDS ? `the text has more than ${MAX_WORDS} words` : words;
  }

  #matchWords(words: readonly string[], text: string, language: string): IntentMatch {
    const { byWord, others } = this.#index(language);
    let open = Number.POSITIVE_INFINITY;
    let more: Continuation = 0;
    let found: { readonly row: Row; readonly slots: Values }[] = [];
    for (const row of [...(byWord.get(words[0]!) ?? []), ...others]) {
      const { reading, goesOn } = row.compiled.automaton.match(words);
      if (goesOn > more) more = goesOn;
      if (!reading || reading.open > open) continue;
      if (reading.open < open) found = [];
      open = reading.open;
      found.push(...reading.values.map((slots) => ({ row, slots })));
    }
    if (found.length === 0) return none(more > 0 ? BEGINNING : 'no sentence is like this');
    // No app takes over, or spoils, what the device and its plugins understand.
    const own = found.filter(({ row }) => !row.owner.startsWith('app.'));
    const plans = (own.length > 0 ? own : found).slice(0, 2 * MOST_READINGS).map(({ row, slots }): IntentPlan => {
      const { id, title, idempotent } = row.compiled.definition;
      return {
        intent: id,
        title,
        slots,
        text,
        mayGoOn: more > 0,
        ...maybe({ byNumber: more === NUMBER || undefined, idempotent: idempotent || undefined }),
      };
    });
    const [only] = plans;
    return plans.length === 1 ? { outcome: 'plan', plan: only! } : { outcome: 'ambiguous', candidates: plans };
  }

  async grammar(language: string): Promise<SpeechGrammar | undefined> {
    const base = baseLanguage(language);
    this.onNeed?.(base);
    const known = this.#grammars.get(base);
    if (known) return known;
    const nodes = this.awake(base).flatMap(({ compiled }) => compiled.sentences.map(({ node }) => node));
    const made = makeGrammar(base, nodes);
    if (made) this.#grammars.set(base, made);
    return made;
  }

  async run(
    plan: IntentPlan,
    { turn, signal, deadline, trace }: Pick<IntentRun, 'turn' | 'signal' | 'deadline' | 'trace'>,
  ): Promise<IntentAnswer> {
    const row = this.#rows.get(plan.intent);
    if (!row) throw new CoreError('INTENT_NOT_FOUND', { intent: plan.intent });
    const answer = await this.#within(plan.intent, signal, deadline, (signal) =>
      row.run({ slots: plan.slots, text: plan.text, turn, signal, deadline, ...maybe({ trace }) }),
    );
    const say = answer.say?.trim() ?? '';
    const { say: _, ...rest } = answer;
    if (say.length > MAX_SAY)
      this.#log.warn(
        { intent: plan.intent, characters: say.length },
        `of an answer only ${MAX_SAY} characters are spoken`,
      );
    return say === '' ? rest : { ...rest, say: say.slice(0, MAX_SAY) };
  }

  async list({ language }: { readonly language?: string } = {}) {
    const base = language === undefined ? undefined : baseLanguage(language);
    if (base !== undefined) this.onNeed?.(base);
    return [...this.#rows.values()]
      .filter(({ awake, compiled }) => awake && (base === undefined || compiled.language === base))
      .map(({ compiled: { definition, example }, owner }) => ({
        id: definition.id,
        title: definition.title,
        owner,
        example,
      }))
      .sort((one, other) => (one.id < other.id ? -1 : 1));
  }

  onChange(listener: () => void): Disposable {
    const own = () => listener();
    this.#listeners.add(own);
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }

  get languages(): readonly string[] {
    return [...new Set([...this.#rows.values()].map(({ compiled }) => compiled.language))];
  }

  /** Rows of a language that can be said now. */
  awake(language: string): readonly Row[] {
    return this.known(language).filter(({ awake }) => awake);
  }

  /** Those of apps that do not run, too. */
  known(language: string): readonly Row[] {
    return [...this.#rows.values()].filter(({ compiled }) => compiled.language === language);
  }

  #index(language: string): Index {
    const known = this.#indices.get(language);
    if (known) return known;
    const byWord = new Map<string, Row[]>();
    const others: Row[] = [];
    for (const row of this.awake(language)) {
      const { first } = row.compiled.automaton;
      if (!first) others.push(row);
      for (const word of first ?? []) {
        const rows = byWord.get(word);
        if (rows) rows.push(row);
        else byWord.set(word, [row]);
      }
    }
    const index = { byWord, others };
    // Requests in unknown languages fill no memory.
    if (byWord.size > 0 || others.length > 0) this.#indices.set(language, index);
    return index;
  }

  #changed({ compiled: { language } }: Row): void {
    this.#indices.delete(language);
    this.#grammars.delete(language);
    if (this.#scope.signal.aborted) return;
    this.#telling ??= this.#scope.timeout('tell that intents changed', TELL_AFTER_MS, () => {
      this.#telling = undefined;
      for (const listener of [...this.#listeners]) {
        try {
          listener();
        } catch (error) {
          this.#log.error({ error: reasonOf(error) }, 'a listener of the intents failed');
        }
      }
    });
  }

  /** The work hears of the end of its time, and is not waited for any longer. */
  async #within<T>(
    intent: string,
    signal: AbortSignal,
    deadline: number,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const what = `intent ${intent}`;
    const ms = deadline - this.#scope.clock.steady();
    if (signal.aborted) throw new CoreError('CANCELLED', { what, reason: 'the turn is over' });
    if (ms <= 0) throw new CoreError('TIMEOUT', { what, ms: 0 });
    return this.#scope.within(what, ms, work, { signal });
  }
}

function none(reason: string): IntentMatch {
  return { outcome: 'none', reason };
}
