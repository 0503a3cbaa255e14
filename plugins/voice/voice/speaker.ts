/** Speaks: answers at once, announcements one after the other when nobody else has the floor. */

import { CoreError, type ErrorCode, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import { type Audio, type FeedbackSound, monotonicMs, type PcmChunk } from '@device-core/plugin-api/services/audio';
import type { Speech } from '@device-core/plugin-api/services/speech';

export interface SpeakerSettings {
  readonly language: string;
  readonly voice: string | undefined;
  readonly sounds: readonly FeedbackSound[];
  readonly sayQueue: number;
  readonly sayWaitMs: number;
}

/** A text to speak, and its requester. */
export interface Saying {
  readonly text: string;
  readonly voice?: string | undefined;
  /** `app:<id>`; the voice itself if absent. */
  readonly owner?: string | undefined;
}

export interface Announcement extends Saying {
  readonly id: string;
  readonly done: PromiseWithResolvers<void>;
}

export interface SpeakerEvents {
  started(id: string, at: number, asked: number): void;
  /** The last sample was heard, or it was hushed after the first one. */
  ended(id: string): void;
  spoken(id: string): void;
  unspoken(id: string, error: CoreError): void;
}

const OWNER = 'plugin:voice';
const SOUND_MS = 3_000;

export class Speaker {
  readonly #scope: Scope;
  readonly #log: Logger;
  readonly #settings: SpeakerSettings;
  readonly #events: SpeakerEvents;
  readonly #audio: () => Audio;
  readonly #speech: () => Speech;
  readonly #waiting: Announcement[] = [];
  #current: { readonly id: string; readonly text: string; readonly stop: AbortController; heard: boolean } | undefined;

  constructor(parts: {
    readonly scope: Scope;
    readonly log: Logger;
    readonly settings: SpeakerSettings;
    readonly events: SpeakerEvents;
    /** Both throw SERVICE_MISSING. */
    readonly audio: () => Audio;
    readonly speech: () => Speech;
  }) {
    this.#scope = parts.scope;
    this.#log = parts.log;
    this.#settings = parts.settings;
    this.#events = parts.events;
    this.#audio = parts.audio;
    this.#speech = parts.speech;
  }

  /** The text that is spoken now. */
  get text(): string | undefined {
    return this.#current?.text;
  }

  /** Resolves when it was heard. Rejects with BUSY at once, with CANCELLED where it waits too long. */
  async announce(id: string, saying: Saying, pump: () => void): Promise<void> {
    const { sayQueue, sayWaitMs } = this.#settings;
    if (this.#waiting.length >= sayQueue) throw new CoreError('BUSY', { what: 'an announcement', limit: sayQueue });
    const one: Announcement = { ...saying, id, done: Promise.withResolvers() };
    this.#waiting.push(one);
    using _limit = this.#scope.timeout('announcement', sayWaitMs, () => {
      this.#leave(id, `others spoke for ${sayWaitMs} ms`);
    });
    pump();
    await one.done.promise;
  }

  /** The announcement that is next. */
  get next(): Announcement | undefined {
    return this.#waiting[0];
  }

  /** It is being spoken from now on. */
  take(id: string): Announcement | undefined {
    const index = this.#waiting.findIndex((one) => one.id === id);
    return index < 0 ? undefined : this.#waiting.splice(index, 1)[0];
  }

  /** Nobody wants it any more; false where it does not wait. */
  #leave(id: string, reason: string): boolean {
    const one = this.take(id);
    one?.done.reject(new CoreError('CANCELLED', { what: 'an announcement', reason }));
    return one !== undefined;
  }

  cancel(id: string): boolean {
    return this.#leave(id, 'the caller no longer waits');
  }

  /** At the end of the plugin. */
  close(): void {
    for (const { id } of [...this.#waiting]) this.#leave(id, 'the voice is going');
    if (this.#current) this.hush(this.#current.id);
  }

  /** Says it now; tells the events how it went. */
  async speak(id: string, { text, voice, owner = OWNER }: Saying): Promise<void> {
    const stop = new AbortController();
    const current = { id, text, stop, heard: false };
    this.#current = current;
    const asked = monotonicMs();
    try {
      const { language } = this.#settings;
      const { signal } = stop;
      const named = voice ?? this.#settings.voice;
      const chunks = this.#speech().speak(text, { language, ...(named && { voice: named }), stage: 'local', signal });
      await this.#audio().play(unlessStopped(chunks, signal), {
        owner,
        priority: 'speech',
        signal,
        started: (at) => {
          if (signal.aborted || current.heard) return;
          current.heard = true;
          this.#events.started(id, at, asked);
        },
      });
      if (this.#finish(current)) this.#events.spoken(id);
    } catch (error) {
      const code = error instanceof CoreError ? error.code : 'INTERNAL';
      if (!this.#finish(current)) return;
      const reason = reasonOf(error);
      this.#log.warn({ turn: id, code, reason }, 'cannot speak');
      // The voice of whoever asked is theirs to mend.
      const theirs = voice !== undefined && error instanceof CoreError && code === 'PARAMS_INVALID';
      this.#events.unspoken(id, theirs ? error : unspoken(code, reason));
    }
  }

  /** At once. */
  hush(id: string): void {
    const current = this.#current;
    if (current?.id !== id) return;
    this.#finish(current);
    current.stop.abort(new CoreError('CANCELLED', { what: 'the speech', reason: 'it was interrupted' }));
  }

  /** Not waited for: what is heard matters more than the sound. */
  sound(sound: FeedbackSound): void {
    if (this.#settings.sounds.includes(sound)) void this.#sound(sound);
  }

  async #sound(sound: FeedbackSound): Promise<void> {
    const stop = new AbortController();
    using _limit = this.#scope.timeout(`sound ${sound}`, SOUND_MS, () => stop.abort());
    try {
      await this.#audio().feedback(sound, { owner: OWNER, priority: 'notification', signal: stop.signal });
    } catch (error) {
      this.#log.debug({ sound, reason: reasonOf(error) }, 'a feedback sound was not heard');
    }
  }

  #finish(current: { readonly id: string; readonly heard: boolean }): boolean {
    if (this.#current !== current) return false;
    this.#current = undefined;
    if (current.heard) this.#events.ended(current.id);
    return true;
  }
}

/** Why speech failed, in the words of whoever failed. */
function unspoken(code: ErrorCode, reason: string): CoreError {
  const known: Partial<Record<ErrorCode, CoreError>> = {
    ENGINE_MISSING: new CoreError('ENGINE_MISSING', { kind: 'tts', reason }),
    AUDIO_UNAVAILABLE: new CoreError('AUDIO_UNAVAILABLE', { verb: 'speak', reason }),
    BUSY: new CoreError('BUSY', { what: `a sound (${reason})` }),
  };
  return known[code] ?? new CoreError('SPEECH_FAILED', { engine: 'tts', reason });
}

/** A device that goes on reading after it was told to stop gets nothing more. */
async function* unlessStopped(chunks: AsyncIterable<PcmChunk>, signal: AbortSignal): AsyncGenerator<PcmChunk> {
  for await (const chunk of chunks) {
    if (signal.aborted) return;
    yield chunk;
  }
}
