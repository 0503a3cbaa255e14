import { serviceRef } from '../contract/service-ref.ts';
import type { TraceContext } from '../contract/trace.ts';
import type { Rival, SpeechGrammar } from './speech.ts';

export type SlotValue = string | number | boolean;

/** A slot of a sentence: `int` and `number` have a range, `text` a list; `open` takes any words and is never in a grammar. */
export type SlotType =
  | { readonly kind: 'int' | 'number'; readonly from: number; readonly to: number; readonly step?: number }
  | { readonly kind: 'list'; readonly values: readonly { readonly in: string; readonly out: SlotValue }[] }
  | { readonly kind: 'open' };

/** Sentences with what they do. Functions of apps become some by their `utterances`; plugins add their own. */
export interface IntentDefinition {
  /** `<owner>.<name>`, unique: `device.volume`, `com.example.agenda.today`. */
  readonly id: string;
  /** For people: `Set the volume`. */
  readonly title: string;
  readonly language: string;
  /** hassil's template syntax: `[optional]`, `(a|b)`, `(a;b)` any order, `{slot}`, `{list:slot}`, `<rule>`. */
  readonly sentences: readonly string[];
  readonly slots?: Readonly<Record<string, SlotType>>;
  readonly rules?: Readonly<Record<string, string>>;
  /** Twice does no more than once. Others are heard a second time before they are carried out, where the engine can. */
  readonly idempotent?: boolean;
}

export interface IntentRun {
  readonly slots: Readonly<Record<string, SlotValue>>;
  readonly text: string;
  readonly turn: string;
  readonly signal: AbortSignal;
  /** Milliseconds, of `clock.steady()`. */
  readonly deadline: number;
  /** To be handed on with the deadline. */
  readonly trace?: TraceContext | undefined;
}

export interface IntentAnswer {
  /** To be spoken; nothing is said if absent (a feedback sound is heard). */
  readonly say?: string;
  /** The device listens once more without a wake phrase. */
  readonly followUp?: boolean;
  readonly result?: Readonly<Record<string, unknown>>;
}

/** Meaning of a text. */
export interface IntentPlan {
  readonly intent: string;
  readonly title: string;
  readonly slots: Readonly<Record<string, SlotValue>>;
  readonly text: string;
  /** A sentence is complete but longer ones of another meaning begin with it: wait a little longer for the end of speech. */
  readonly mayGoOn: boolean;
  /** Longer ones only add numbers ("ten minutes [and thirty seconds]"), which are said in one breath. */
  readonly byNumber?: boolean;
  readonly idempotent?: boolean;
}

export type IntentMatch =
  | { readonly outcome: 'plan'; readonly plan: IntentPlan }
  | { readonly outcome: 'ambiguous'; readonly candidates: readonly IntentPlan[] }
  | { readonly outcome: 'none'; readonly reason: string };

/** Description of an interpreter, given by itself. */
export interface InterpreterDescription {
  /** `^[a-z][a-z0-9-]{0,31}$`, unique. */
  readonly id: string;
  readonly title: string;
  /** BCP 47; empty: any. */
  readonly languages: readonly string[];
  /** Place of interpretation: `cloud` interpreters are never asked while the device is set to local only. */
  readonly stage: 'local' | 'cloud';
}

/** External engine for sentences that no installed intent declares. */
export interface IntentInterpreter {
  /** The id of an intent and its slots, or undefined: it does not know. Rejects with SPEECH_FAILED, LANGUAGE_UNSUPPORTED, CANCELLED. */
  interpret(
    text: string,
    options: { readonly language: string; readonly signal: AbortSignal },
  ): Promise<{ readonly intent: string; readonly slots: Readonly<Record<string, SlotValue>> } | undefined>;
}

/** From words to what is to be done (plugin `intent`). */
export interface Intents {
  /** Throws PARAMS_INVALID (template, slot, id). Disposing removes it. */
  add(definition: IntentDefinition, run: (run: IntentRun) => Promise<IntentAnswer>, owner: string): AsyncDisposable;
  /** The sentence as a whole, without regard to case and punctuation. Never a guess. */
  match(text: string, options: { readonly language: string }): Promise<IntentMatch>;
  /** Sentences of another meaning that sound like this one: other values of its slots, and those of other intents. */
  rivals(text: string, options: { readonly language: string }): Promise<readonly Rival[]>;
  /** Everything that can be said now in a language, compiled; undefined where there is nothing. */
  grammar(language: string): Promise<SpeechGrammar | undefined>;
  /** Does it. Rejects with INTENT_NOT_FOUND (it has gone), and what the function rejects with. */
  run(plan: IntentPlan, options: Pick<IntentRun, 'turn' | 'signal' | 'deadline' | 'trace'>): Promise<IntentAnswer>;
  /** One example a definition, for "what can I say". */
  list(options?: {
    readonly language?: string;
  }): Promise<
    readonly { readonly id: string; readonly title: string; readonly owner: string; readonly example: string }[]
  >;
  /** After each change of what can be said. */
  onChange(listener: () => void): Disposable;
  /** Throws PARAMS_INVALID (description, or a second one of this id). */
  addInterpreter(description: InterpreterDescription, interpreter: IntentInterpreter, owner: string): AsyncDisposable;
  /** In the order in which they came. */
  interpreters(): Promise<readonly InterpreterDescription[]>;
  /**
   * Meaning of a text that matches no declared sentence, by one of the interpreters. Never a guess: an unknown intent, or slots that no
   * sentence of it could set, count as no answer. Rejects with ENGINE_MISSING, TIMEOUT, and the codes of the interpreter.
   */
  interpret(
    text: string,
    options: { readonly language: string; readonly interpreter: string; readonly signal: AbortSignal },
  ): Promise<IntentMatch>;
}

export const intents = serviceRef<Intents>('intents', '1.1.0', 'powerful', 'acts on what people say');
