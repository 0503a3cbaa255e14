import { serviceRef } from '../contract/service-ref.ts';
import type { AudioLevel } from './renderer.ts';

/** 20 ms of sound: mono, 16 kHz, 320 samples. */
export interface AudioFrame {
  /** Counts from 0 with each start of the source; a gap is a loss. */
  readonly seq: number;
  /**
   * Milliseconds of the system's monotonic clock (`monotonicMs()`) when the last sample was captured. The same clock in
   * every worker and process.
   */
  readonly at: number;
  readonly samples: Int16Array;
}

export const FRAME_SAMPLES = 320;
export const FRAME_MS = 20;
export const CAPTURE_RATE = 16_000;

/** Milliseconds of CLOCK_MONOTONIC, which threads and processes of one machine share; performance.now() begins anew in each of them. */
export function monotonicMs(): number {
  return originMs + performance.now();
}

/**
 * Value of monotonicMs() at 0 of performance.now(): both count the same nanoseconds. The closest of five samples
 * counts, as the first call is slow.
 */
const originMs = Array.from({ length: 5 }, () => {
  const before = performance.now();
  const at = Number(process.hrtime.bigint()) / 1e6;
  const after = performance.now();
  return { origin: at - (before + after) / 2, took: after - before };
}).reduce((closest, look) => (look.took < closest.took ? look : closest)).origin;

/** Mono PCM of any length with its rate. */
export interface PcmChunk {
  readonly rate: number;
  readonly samples: Int16Array;
}

export interface AudioDeviceInfo {
  /** `sim`, `alsa` */
  readonly driver: string;
  readonly source: string | undefined;
  readonly sink: string | undefined;
  /** Rate that play() wants, Hz. */
  readonly playRate: number;
}

/**
 * The microphone and the speaker, provided by one plugin of the SKU (`audio-sim`, `audio-alsa`). Both have a real
 * clock. Methods reject with AUDIO_UNAVAILABLE and the reason; who asks again later finds a device that has come back.
 */
export interface AudioDevice {
  info(): Promise<AudioDeviceInfo>;
  /** Frames as they are captured, until the signal ends it. One at a time. Ends early when the device is lost. */
  capture(options: { readonly signal: AbortSignal }): AsyncIterable<AudioFrame>;
  /** Hard mute: from the return of this call on no frame leaves the source until it is let go. */
  mute(muted: boolean): Promise<void>;
  /**
   * Plays chunks of `playRate` one after the other, asking for the next about 40 ms before it is due. Resolves when the
   * last sample has been heard, or at once after an abort. `started` gets the monotonic time of the first audible
   * sample; a device that knows of a gap calls it again, as if all before had begun so much later.
   */
  play(
    chunks: AsyncIterable<Int16Array>,
    options: { readonly signal: AbortSignal; readonly started?: (at: number) => void },
  ): Promise<void>;
}

export const audioDevice = serviceRef<AudioDevice>(
  'audio-device',
  '1.0.0',
  'powerful',
  'hears the microphone and plays sound without a mixer',
);

/** 20 ms of the microphone, and what the speaker played meanwhile: FRAME_SAMPLES each, at CAPTURE_RATE. */
export interface EchoFrame {
  readonly seq: number;
  readonly near: Int16Array;
  /**
   * Speaker samples of the same moments, or a little later ones: the speaker's sound never comes before it. Silence
   * where nothing was played.
   */
  readonly far: Int16Array;
}

export interface CleanFrame {
  /** Number of the cleaned frame. */
  readonly seq: number;
  /** FRAME_SAMPLES, of the same moments as `near`. */
  readonly samples: Int16Array;
}

/**
 * Takes what the speaker plays out of what the microphone hears. Optional: `audio` asks while something is played and
 * shortly after it, and passes on as it is what does not come back in time.
 */
export interface EchoCanceller {
  /**
   * One frame for each, in order, until they end; what it knows of the room it keeps meanwhile, over pauses of any length. Rejects with
   * AUDIO_UNAVAILABLE (it cannot work now), PARAMS_INVALID (a frame of another size), BUSY.
   */
  clean(frames: AsyncIterable<EchoFrame>, options: { readonly signal: AbortSignal }): AsyncIterable<CleanFrame>;
}

export const echoCanceller = serviceRef<EchoCanceller>(
  'echo-canceller',
  '1.0.0',
  'powerful',
  'hears what the microphone hears',
);

/** Ranks of sounds: higher ones duck or silence lower ones. */
export type AudioPriority = 'media' | 'notification' | 'speech' | 'alarm';

export interface PlayOptions {
  readonly priority?: AudioPriority;
  /** 0..1, before the volume of the device. */
  readonly gain?: number;
  /** Caller for the books: `app:<id>`, `plugin:<id>`. */
  readonly owner: string;
  readonly signal?: AbortSignal;
  /** Told the monotonic time at which the first sample is heard. */
  readonly started?: (at: number) => void;
}

/** A tone with an envelope: what ToneSpec says, one after the other. */
export interface ToneSpec {
  /** Hz; 0 is a rest. */
  readonly frequency: number;
  readonly ms: number;
  readonly gain?: number;
  readonly wave?: 'sine' | 'square' | 'triangle';
  /** Milliseconds of rise and fall; 5 if absent. */
  readonly attackMs?: number;
  readonly releaseMs?: number;
}

export type FeedbackSound = 'wake' | 'listening-end' | 'done' | 'refused' | 'error' | 'timer' | 'mute' | 'unmute';

export interface AudioState {
  /** 0..1 */
  readonly volume: number;
  readonly muted: boolean;
  /** Owners that hear the microphone now: the capture indicator, which no app can hide. */
  readonly capturing: readonly string[];
  readonly playing: readonly { readonly owner: string; readonly priority: AudioPriority }[];
  /** Why there is no sound now, where there is none: no device, or one that fails. */
  readonly problem?: string;
}

/** Capture for many, playback mixed by priority, tones, volume (plugin `audio`). */
export interface Audio {
  state(): Promise<AudioState>;
  /**
   * Frames from now on. A reader that is slow loses the oldest of what waits (1 s of sound); the gap shows in `seq` and
   * is counted. Ends with the signal; rejects with VOICE_MUTED never: while the device is muted there are just no
   * frames.
   */
  capture(options: { readonly owner: string; readonly signal: AbortSignal }): AsyncIterable<AudioFrame>;
  /** Resolves when it was heard to its end. Rejects with CANCELLED, AUDIO_UNAVAILABLE, BUSY (too many at once). */
  play(sound: AsyncIterable<PcmChunk>, options: PlayOptions): Promise<void>;
  tones(tones: readonly ToneSpec[], options: PlayOptions): Promise<void>;
  feedback(sound: FeedbackSound, options: PlayOptions): Promise<void>;
  /**
   * Loudness and brightness of the sounds, 25 times a second during playback, some moments ahead; one silence ends it. The values are those
   * before the device's volume. `priority`: sounds of this rank alone. A slow reader loses the oldest (5 s wait). After a gap in the device
   * the coming levels are sent again, with later times. Ends with the signal.
   */
  levels(options: { readonly priority?: AudioPriority; readonly signal: AbortSignal }): AsyncIterable<AudioLevel>;
  setVolume(volume: number): Promise<void>;
  setMuted(muted: boolean): Promise<void>;
  /** Called at once and after each change. */
  onState(listener: (state: AudioState) => void): Disposable;
}

export const audio = serviceRef<Audio>('audio', '1.1.0', 'powerful', 'hears the microphone and plays sound');
