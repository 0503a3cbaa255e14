/** Sound of a client as frames of an engine: 16 kHz, mono, 20 ms. */

import { CoreError } from '@device-core/plugin-api';
import { Reblocker, Resampler } from '@device-core/plugin-api/audio';
import { type AudioFrame, CAPTURE_RATE, FRAME_MS, monotonicMs } from '@device-core/plugin-api/services/audio';
import type { WyomingEvent } from './codec.ts';
import { formatOf, PcmReader, sameFormat } from './pcm.ts';

/** Frames that wait for the engine before the client has to: two seconds. */
const MOST_WAITING = 100;

export class Incoming implements AsyncIterable<AudioFrame> {
  /** Monotonic time that stands for the beginning of the sound. */
  readonly began = monotonicMs();
  readonly #mostFrames: number;
  readonly #waiting: AudioFrame[] = [];
  readonly #blocks = new Reblocker();
  #reader: PcmReader | undefined;
  #resampler: Resampler | undefined;
  #seq = 0;
  #over = false;
  #changed = Promise.withResolvers<void>();

  constructor(mostFrames: number) {
    this.#mostFrames = mostFrames;
  }

  /** Resolves when there is room for more. Rejects with REQUEST_INVALID, PARAMS_INVALID (too long). */
  async push({ data, payload }: WyomingEvent): Promise<void> {
    const format = formatOf(data);
    if (!this.#reader || !sameFormat(this.#reader.format, format)) {
      if (this.#resampler) this.#add(this.#resampler.flush());
      this.#reader = new PcmReader(format);
      this.#resampler = new Resampler(format.rate, CAPTURE_RATE);
    }
    this.#add(this.#resampler!.push(this.#reader.read(payload)));
    while (!this.#over && this.#waiting.length > MOST_WAITING) await this.#change();
  }

  /** The client has said all. */
  end(): void {
    if (this.#over) return;
    if (this.#resampler) this.#add(this.#resampler.flush());
    const rest = this.#blocks.flush();
    if (rest) this.#frame(rest);
    this.#finish();
  }

  /** Nobody listens any more. */
  stop(): void {
    this.#waiting.length = 0;
    this.#finish();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AudioFrame, void, undefined> {
    try {
      for (;;) {
        const frame = this.#waiting.shift();
        if (frame) {
          this.#changed.resolve();
          yield frame;
        } else if (this.#over) return;
        else await this.#change();
      }
    } finally {
      this.stop();
    }
  }

  #add(samples: Int16Array): void {
    for (const block of this.#blocks.push(samples)) this.#frame(block);
  }

  #frame(samples: Int16Array): void {
    if (this.#over) return;
    if (this.#seq >= this.#mostFrames) {
      const reason = `it is longer than ${(this.#mostFrames * FRAME_MS) / 1_000} seconds`;
      throw new CoreError('PARAMS_INVALID', { where: 'the sound', reason });
    }
    const seq = this.#seq++;
    this.#waiting.push({ seq, at: this.began + (seq + 1) * FRAME_MS, samples });
    this.#changed.resolve();
  }

  #finish(): void {
    this.#over = true;
    this.#changed.resolve();
  }

  async #change(): Promise<void> {
    this.#changed = Promise.withResolvers();
    await this.#changed.promise;
  }
}
