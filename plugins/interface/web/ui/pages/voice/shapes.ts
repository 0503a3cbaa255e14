/** Answers of the public interface, as far as this page shows them. */
import type { Answers } from '../../core/answers.ts';
export type Span = Turn['spans'][number];

export type Turn = Answers['voice.turns']['turns'][number];

export type VoiceNow = Answers['voice.state'];

export type AudioNow = Answers['audio.state'];

export interface Envelope {
  readonly topic: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Topics that tell of a turn. */
export const TOPICS = ['audio.state', 'audio.wake', 'audio.stt.*', 'audio.tts.*', 'audio.capture', 'audio.volume'];
