import { serviceRef } from '../contract/service-ref.ts';
import type { TraceContext } from '../contract/trace.ts';
import type { IntentPlan } from './intents.ts';

export type VoiceState = 'idle' | 'listening' | 'thinking' | 'speaking' | 'muted' | 'error';

/** One span of a turn: `wake`, `endpoint`, `stt`, `intent`, `call`, `tts`, in milliseconds since the turn began. */
export interface VoiceSpan {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly note?: string;
}

export interface VoiceTurn {
  readonly turn: string;
  /** Id of its trace, where traces are kept. */
  readonly trace?: string;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** `wake`, `button`, `follow-up`, `text` */
  readonly source: string;
  readonly wakeword?: string;
  readonly heard?: string;
  /** The nearest sentence, where the sound was refused as none of them. */
  readonly nearest?: string;
  /** 0..1 that it was said as it stands, and the word that the engine was least sure of. */
  readonly confidence?: number;
  readonly unsure?: string;
  /** The sentence of another meaning that fitted nearly as well. */
  readonly close?: string;
  readonly stage?: 'local' | 'cloud';
  readonly engine?: string;
  readonly plan?: IntentPlan;
  readonly said?: string;
  readonly outcome: 'answered' | 'refused' | 'failed' | 'cancelled' | 'silent' | 'running';
  /** Code of the table where it failed. */
  readonly code?: string;
  readonly spans: readonly VoiceSpan[];
  /**
   * Voice.md: wake event minus last sample of the phrase, plus first sample of the answer minus last sample of the
   * command; milliseconds.
   */
  readonly latencyMs?: number;
}

/** One transfer off the device: time, recipient and the rule that allowed it. */
export interface LedgerEntry {
  readonly at: number;
  readonly turn: string;
  readonly to: string;
  readonly what: 'audio' | 'text';
  readonly bytes: number;
  readonly rule: string;
}

/** Turns from a wake phrase to a spoken answer (plugin `voice`). */
export interface Voice {
  state(): Promise<{ readonly state: VoiceState; readonly turn?: string; readonly reason?: string }>;
  /** Speaks, after what is being said. Rejects with ENGINE_MISSING, SPEECH_FAILED, AUDIO_UNAVAILABLE, CANCELLED, BUSY. */
  say(
    text: string,
    options?: { readonly voice?: string; readonly signal?: AbortSignal; readonly owner?: string },
  ): Promise<void>;
  /** A turn without wake phrase: the next speech is the command. Resolves with the turn when it is over. Rejects with BUSY, VOICE_MUTED. */
  listen(options?: { readonly signal?: AbortSignal }): Promise<VoiceTurn>;
  /** A turn from text, without microphone. */
  ask(
    text: string,
    options?: { readonly signal?: AbortSignal; readonly trace?: TraceContext | undefined },
  ): Promise<VoiceTurn>;
  mute(muted: boolean): Promise<void>;
  /** Ends the turn or announcement that has the floor, as a stop word does; of this id alone where one is given. */
  stop(turn?: string): Promise<void>;
  /** Newest first. */
  turns(limit?: number): Promise<readonly VoiceTurn[]>;
  ledger(limit?: number): Promise<readonly LedgerEntry[]>;
}

export const voice = serviceRef<Voice>('voice', '1.1.0', 'powerful', 'speaks, listens and reads what people said');
