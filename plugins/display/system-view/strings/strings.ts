/**
 * Every word that the system itself says on the panel and aloud, in one language. What a capability allows comes from
 * the catalogue, in its language.
 */
import type { Prompt } from '@device-core/plugin-api/services/prompts';

export interface QuestionWords {
  readonly asks: string;
  readonly yes: string;
  readonly no: string;
  /** Outcome, before the title. */
  readonly refused: string;
}

export interface Strings {
  readonly questions: Readonly<Record<Prompt['kind'], QuestionWords>>;
  readonly until: string;
  readonly signed: string;
  readonly unsigned: string;
  readonly version: string;
  /** Before the rights that an act gives. */
  readonly gives: string;
  readonly appSays: string;
  readonly noFont: string;
  readonly page: string;
  readonly on: string;
  readonly off: string;
  readonly ear: { readonly heard: string; readonly muted: string; readonly name: string };
  /** `failed` by the id of a plugin. */
  readonly troubles: {
    readonly failed: Readonly<Record<string, string>>;
    readonly fails: (plugin: string) => string;
    readonly many: (count: number, plugins: string) => string;
    /** A whole number of hundredths, as the language writes it. */
    readonly percent: (count: number) => string;
    readonly low: string;
    readonly charging: string;
    readonly sound: (reason: string) => string;
    readonly offline: string;
    readonly update: Readonly<Record<'brings' | 'restarts' | 'tries' | 'back' | 'fails', (version: string) => string>>;
  };
  /** `outcomes`: how the last start ended. */
  readonly safeMode: {
    readonly title: string;
    readonly outcomes: Readonly<Record<string, string>>;
    readonly unknown: string;
    readonly blame: (plugin: string) => string;
    readonly again: string;
    readonly code: string;
    readonly switchOff: string;
    readonly done: (plugin: string) => string;
  };
  readonly goodbye: string;
  /** Answers to sentences while a question is open. */
  readonly answers: {
    readonly none: string;
    /** It came in the middle of the sentence. */
    readonly early: string;
    readonly failed: string;
    readonly choice: string;
    readonly more: string;
    readonly onScreen: string;
  };
  /** Sentences while a question is open; templates of the intents plugin. None allows, and none may sound as if it did. */
  readonly said: Readonly<Record<'refuse' | 'show', { readonly title: string; readonly sentences: readonly string[] }>>;
}
