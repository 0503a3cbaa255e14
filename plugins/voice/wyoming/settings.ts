import type { RemoteKind } from './remote-info.ts';

export interface EngineSettings {
  readonly kind: RemoteKind;
  readonly id: string;
  readonly uri: string;
  /** Absent: `local` for this machine, `cloud` for every other. */
  readonly stage?: 'local' | 'cloud';
  /** Absent: those that it names. */
  readonly languages?: readonly string[];
  /** STT: the model to ask for. */
  readonly model?: string;
  /** TTS: the voice where nobody asks for one. */
  readonly voice?: string;
  /** TTS: of a voice with several speakers. */
  readonly speaker?: string;
  /** Wake: names of its models by phrase, where it names them otherwise. */
  readonly phrases?: Readonly<Record<string, string>>;
  /** Intent: ids of our intents by the names that it has for them, where it names them otherwise. */
  readonly intents?: Readonly<Record<string, string>>;
}

export interface ServeSettings {
  readonly uri: string;
  /** Wake phrases that are offered; without any there is no wake service. */
  readonly phrases: readonly string[];
  readonly language: string;
  readonly connections: number;
  readonly idleMs: number;
  readonly mostSeconds: number;
  readonly mostCharacters: number;
}

export interface Settings {
  readonly engines: readonly EngineSettings[];
  readonly serve?: ServeSettings;
  readonly connectMs: number;
  readonly answerMs: number;
  readonly stallMs: number;
  readonly checkMs: number;
  readonly leastPauseMs: number;
  readonly mostPauseMs: number;
  readonly mostSpeechSeconds: number;
  readonly lineBytes: number;
  readonly dataBytes: number;
  readonly payloadBytes: number;
}
