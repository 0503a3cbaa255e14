import { serviceRef } from '../contract/service-ref.ts';
import type { TraceContext } from '../contract/trace.ts';
import type { AudioFrame, PcmChunk } from './audio.ts';

export type EngineKind = 'vad' | 'wake' | 'stt' | 'tts';

/** Description of an engine, given by the engine. */
export interface EngineDescription {
  /** `^[a-z][a-z0-9-]{0,31}$`, unique within its kind: `soundswallower`. */
  readonly id: string;
  readonly title: string;
  /** BCP 47, `en`; empty for engines that need none. */
  readonly languages: readonly string[];
  /** Place of recognition: `cloud` engines are never used while the device is set to local only. */
  readonly stage: 'local' | 'cloud';
  /** STT: partial results come while one speaks. */
  readonly streaming?: boolean;
  /** STT: knows only the sentences of a grammar. */
  readonly needsGrammar?: boolean;
  /** STT: hears the same sound in another way where it is asked `again`. */
  readonly hearsAgain?: boolean;
  /** WAKE: knows trials, and its hits tell `strictest`. */
  readonly scores?: boolean;
  /** TTS */
  readonly voices?: readonly string[];
  /** Files by path and hash that were checked before the engine was made. */
  readonly models?: readonly { readonly path: string; readonly sha256: string }[];
}

export interface VadResult {
  /** Number of the judged frame. */
  readonly seq: number;
  readonly speech: boolean;
  /** 0..1 */
  readonly probability: number;
}

/** Voice activity: one result a frame, in order. */
export interface VadEngine {
  detect(frames: AsyncIterable<AudioFrame>, options: { readonly signal: AbortSignal }): AsyncIterable<VadResult>;
}

export interface WakePhrase {
  /** `hey computer`, lower case words. */
  readonly phrase: string;
  /** 0..1 of strictness; the engine's default if absent. */
  readonly threshold?: number;
}

export interface WakeHit {
  readonly phrase: string;
  /** 0..1 */
  readonly score: number;
  /** The highest threshold at which it would still be one; of engines with `scores`. */
  readonly strictest?: number;
  /** Monotonic time of the frame that held the last sample of the phrase, as far as the engine can tell. */
  readonly at: number;
}

/** Looks for phrases in frames until they end. Rejects with SPEECH_FAILED, PARAMS_INVALID (a phrase that it cannot know). */
export interface WakeEngine {
  detect(
    frames: AsyncIterable<AudioFrame>,
    options: {
      readonly phrases: readonly WakePhrase[];
      /** To tune thresholds: every frame at which a phrase may be there is told, at any threshold, and nothing rests after it. */
      readonly trial?: boolean;
      readonly signal: AbortSignal;
    },
  ): AsyncIterable<WakeHit>;
  /** Those of the phrases that it cannot look for: it is not asked for them. Absent: it can look for any. */
  unspeakable?(phrases: readonly string[]): Promise<readonly string[]>;
}

/** The sentences that may be said, for engines that need to know: made by the intents from one source. */
export interface SpeechGrammar {
  /** Changes with the contents: an engine keeps what it has compiled under it. */
  readonly id: string;
  readonly language: string;
  /** JSGF 1.0 whose public rule is `<command>`; words are lower case. */
  readonly jsgf: string;
  /** Every word of it, sorted. */
  readonly words: readonly string[];
}

export interface Transcript {
  /** Lower case, without punctuation where the engine has none. Empty: nothing was understood. */
  readonly text: string;
  readonly language: string;
  /** 0..1, absent where the engine cannot tell. */
  readonly confidence?: number;
  /** A sentence of the grammar; absent where there was none. False: speech, but none of the sentences. */
  readonly inGrammar?: boolean;
  /** The sentence that was refused: `confidence` is that it was said. */
  readonly nearest?: string;
  /** The word of it, or of the text, that the engine is least sure of. */
  readonly unsure?: string;
  /** One of the rivals, which fits nearly as well. */
  readonly close?: string;
  /** The words of a slot fit no better than mere sounds: a value may have been said that no list has. `unsure` names them. */
  readonly doubtful?: boolean;
}

/** A sentence that another one is mistaken for by ear. */
export interface Rival {
  readonly text: string;
  /** Only the value of a slot differs. */
  readonly byValue: boolean;
}

export interface TranscribeOptions {
  readonly language: string;
  readonly grammar?: SpeechGrammar;
  /** Phrases that may come before the command in the same breath; they are left out of the text. */
  readonly prefix?: readonly string[];
  /** Words to expect, for engines without grammars. */
  readonly hints?: readonly string[];
  readonly partial?: (transcript: Transcript) => void;
  /** Sentences of another meaning that a text is mistaken for, for engines that compare. */
  readonly rivals?: (text: string) => Promise<readonly Rival[]>;
  /** A second opinion on sound that was heard before; of engines with `hearsAgain`. */
  readonly again?: boolean;
  readonly signal: AbortSignal;
  /** For an engine that sends: told to a host that the SKU trusts with it. */
  readonly trace?: TraceContext | undefined;
}

/** Rejects with SPEECH_FAILED, LANGUAGE_UNSUPPORTED, CANCELLED. */
export interface SttEngine {
  /** Text spoken from the first frame to the last. */
  transcribe(frames: AsyncIterable<AudioFrame>, options: TranscribeOptions): Promise<Transcript>;
  /**
   * Those of the words that it has no pronunciation of: it gets grammars without the sentences that need them. Absent:
   * it can hear any word.
   */
  unspeakable?(words: readonly string[], language: string): Promise<readonly string[]>;
}

export interface SpeakOptions {
  readonly language?: string;
  readonly voice?: string;
  readonly signal?: AbortSignal;
}

/** Rejects with SPEECH_FAILED, LANGUAGE_UNSUPPORTED, CANCELLED. */
export interface TtsEngine {
  speak(text: string, options: SpeakOptions): AsyncIterable<PcmChunk>;
}

export interface Engines {
  readonly vad: VadEngine;
  readonly wake: WakeEngine;
  readonly stt: SttEngine;
  readonly tts: TtsEngine;
}

export interface EngineInfo extends EngineDescription {
  readonly kind: EngineKind;
  /** Plugin that gave it. */
  readonly owner: string;
  /** Its place in the order of its kind, 0 first; absent where the configuration leaves it out. */
  readonly rank?: number;
  readonly uses: number;
  readonly failures: number;
  /** Why it is passed over now: it failed, and is asked again after a while. */
  readonly problem?: string;
}

/**
 * The engines of the device (plugin `speech`): they register themselves, the SKU orders them, and who uses one of the
 * four kinds here gets the first that is well, and the next one where it fails before it gave anything.
 */
export interface Speech {
  /** Throws PARAMS_INVALID (description, or a second engine of the kind with this id). */
  register<K extends EngineKind>(
    kind: K,
    description: EngineDescription,
    engine: Engines[K],
    owner: string,
  ): AsyncDisposable;
  list(kind?: EngineKind): Promise<readonly EngineInfo[]>;
  /** Rejects with ENGINE_MISSING where no engine of the kind, language and stage is well. */
  detectSpeech(frames: AsyncIterable<AudioFrame>, options: { readonly signal: AbortSignal }): AsyncIterable<VadResult>;
  /** A trial goes to an engine with `scores` alone. */
  detectWake(
    frames: AsyncIterable<AudioFrame>,
    options: { readonly phrases: readonly WakePhrase[]; readonly trial?: boolean; readonly signal: AbortSignal },
  ): AsyncIterable<WakeHit>;
  /** One engine by name, or the first of a stage. Routing between stages is the voice plugin's. Resolves with who served. */
  transcribe(
    frames: AsyncIterable<AudioFrame>,
    options: TranscribeOptions & { readonly stage?: 'local' | 'cloud'; readonly engine?: string },
  ): Promise<Transcript & { readonly engine: string; readonly stage: 'local' | 'cloud' }>;
  /** Those of the words that the local engine whose turn it is cannot hear; none where there is no such engine. */
  unspeakable(words: readonly string[], language: string): Promise<readonly string[]>;
  speak(text: string, options: SpeakOptions & { readonly stage?: 'local' | 'cloud' }): AsyncIterable<PcmChunk>;
  /** After an engine came, went, failed or recovered. */
  onChange(listener: () => void): Disposable;
}

export const speech = serviceRef<Speech>('speech', '1.1.0', 'powerful', 'brings or uses engines that hear and speak');
