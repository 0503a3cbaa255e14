/** Answers of the public interface, as far as this page shows them. */
export interface Span {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly note?: string;
}

export interface Turn {
  readonly turn: string;
  readonly at: number;
  readonly source: 'wake' | 'button' | 'follow-up' | 'text';
  readonly wakeword?: string;
  readonly heard?: string;
  readonly stage?: 'local' | 'cloud';
  readonly engine?: string;
  readonly plan?: {
    readonly intent: string;
    readonly title: string;
    readonly slots: Readonly<Record<string, unknown>>;
  };
  readonly said?: string;
  readonly outcome: 'answered' | 'refused' | 'failed' | 'cancelled' | 'silent' | 'running';
  readonly code?: string;
  readonly spans: readonly Span[];
  readonly latencyMs?: number;
}

export interface VoiceNow {
  readonly state: 'idle' | 'listening' | 'thinking' | 'speaking' | 'muted' | 'error';
  readonly muted: boolean;
  readonly turn?: string;
  readonly reason?: string;
}

export interface AudioNow {
  readonly volume: number;
  readonly muted: boolean;
  readonly capturing: readonly string[];
  readonly playing: readonly { readonly owner: string }[];
  readonly problem?: string;
}

export interface Envelope {
  readonly topic: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** Topics that tell of a turn. */
export const TOPICS = ['audio.state', 'audio.wake', 'audio.stt.*', 'audio.tts.*', 'audio.capture', 'audio.volume'];
