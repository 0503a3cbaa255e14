import { CoreError } from '@device-core/plugin-api';
import { type AudioFrame, FRAME_MS } from '@device-core/plugin-api/services/audio';
import type { Transcript } from '@device-core/plugin-api/services/speech';

export type Heard = Transcript & { readonly engine: string; readonly stage: 'local' | 'cloud' };
/** A sentence, one that further numbers or other words may follow, or none yet. */
export type Completeness = 'whole' | 'number' | 'open' | 'part';
export type TranscribeLocally = (
  frames: AsyncIterable<AudioFrame>,
  options: { readonly partial: (transcript: Transcript) => void; readonly signal: AbortSignal },
) => Promise<Heard>;

/**
 * A running utterance: kept from its first frame on, within bounds, so that any number of engines can follow it, each
 * from the beginning. The local engine follows from the start, before it is known whether it is a command.
 */
export class Utterance {
  readonly #frames: AudioFrame[] = [];
  readonly #bound: number;
  readonly #stop = new AbortController();
  readonly #whole = Promise.withResolvers<void>();
  #closed = false;
  #count = 0;
  /** Frames at the beginning that stay here. */
  #private = 0;
  #more = Promise.withResolvers<void>();
  /** When the last frame with speech was captured. */
  lastSpeechAt: number;
  /** Milliseconds of speech that may be a command. */
  speechMs = 0;
  latest: Transcript | undefined;
  onPartial: ((transcript: Transcript) => void) | undefined;
  /** Completeness of the words so far. */
  complete: Completeness = 'part';
  /** Result of the local engine; undefined where it is not asked. */
  readonly local: Promise<Heard> | undefined;

  constructor(now: number, bound: number, local: TranscribeLocally | undefined) {
    this.lastSpeechAt = now;
    this.#bound = bound;
    if (!local) return;
    const partial = (transcript: Transcript) => {
      if (this.#stop.signal.aborted) return;
      this.latest = transcript;
      this.onPartial?.(transcript);
    };
    this.local = local(this.follow(), { partial, signal: this.#stop.signal });
    // The result is read on demand, and often not at all.
    this.local.catch(() => undefined);
  }

  push(frame: AudioFrame): void {
    if (this.#closed) return;
    this.#frames.push(frame);
    this.#count++;
    if (this.#frames.length >= this.#bound) this.close();
    else this.#tell();
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Frames for the cloud that there were, even if they are let go by now. */
  get sent(): number {
    return Math.max(0, this.#count - this.#private);
  }

  /** Aborted when nobody wants to know any more. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Resolves when no more of it comes. */
  get whole(): Promise<void> {
    return this.#whole.promise;
  }

  /** Seconds for the cloud. */
  get seconds(): number {
    return (this.sent * FRAME_MS) / 1000;
  }

  /** Frames before this moment stay on the device. */
  calledAt(at: number): void {
    const first = this.#frames.findIndex((frame) => frame.at >= at);
    this.#private = first < 0 ? this.#frames.length : first;
  }

  /** No more of it. */
  close(): void {
    this.#closed = true;
    this.#whole.resolve();
    this.#tell();
  }

  /** Nobody wants to know any more; what was recorded is let go. */
  abort(): void {
    this.close();
    this.onPartial = undefined;
    this.#stop.abort(new CoreError('CANCELLED', { what: 'the transcription', reason: 'it is not needed' }));
    this.#frames.length = 0;
  }

  /** Frames that may go to the cloud. */
  followCalled(): AsyncGenerator<AudioFrame> {
    return this.follow(this.#private);
  }

  /** From a frame on to the last. */
  async *follow(from = 0): AsyncGenerator<AudioFrame> {
    for (let next = from; ; ) {
      const frame = this.#frames[next];
      if (frame) {
        next++;
        yield frame;
      } else if (this.#closed) return;
      else await this.#more.promise;
    }
  }

  #tell(): void {
    const more = this.#more;
    this.#more = Promise.withResolvers();
    more.resolve();
  }
}
