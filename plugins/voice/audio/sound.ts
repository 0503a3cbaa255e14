/** One sound that is played: read ahead from its source, brought to the rate of the speaker, taken block by block. */

import type { Scope } from '@device-core/plugin-api';
import { Resampler } from '@device-core/plugin-api/audio';
import type { AudioPriority, PcmChunk, PlayOptions } from '@device-core/plugin-api/services/audio';
import type { Voice } from './mixer.ts';

export interface SoundOptions extends PlayOptions {
  /** Hz of the speaker. */
  readonly rate: number;
  readonly scope: Scope;
  /** A source may be silent for so long. */
  readonly stallMs: number;
  /** There is something to take, or there will be nothing any more. */
  readonly onReady: () => void;
}

/** Read ahead of what is heard. */
const AHEAD_S = 1;
/** Fade of a sound that is given up. */
const FADE_S = 0.015;
/** So much must be there before it begins: small chunks of a stream would leave gaps otherwise. */
const PREFILL_S = 0.04;
/** A chunk of any length is taken in pieces, so that what waits stays within its bound. */
const PIECE_S = 0.1;

export class Sound {
  readonly owner: string;
  readonly priority: AudioPriority;
  readonly gain: number;
  /** Outcome of the sound: resolves when it was heard. */
  readonly outcome = Promise.withResolvers<void>();
  /** Factor of the last sample that was mixed; undefined before the first. */
  level: number | undefined;
  /** Position in the run of the speaker where it began, and where it ended; in samples. */
  from: number | undefined;
  to: number | undefined;
  /** How often it had too little to give in the middle. */
  gaps = 0;
  /** Samples of the last block. */
  block: Int16Array = new Int16Array(0);
  #told = false;
  readonly #options: SoundOptions;
  readonly #stop = new AbortController();
  #pieces: Int16Array[] = [];
  #length = 0;
  #complete = false;
  #room = Promise.withResolvers<void>();

  constructor(source: AsyncIterable<PcmChunk>, options: SoundOptions) {
    this.#options = options;
    this.owner = options.owner;
    this.priority = options.priority ?? 'media';
    this.gain = Math.max(0, Math.min(1, options.gain ?? 1));
    void this.#read(source);
  }

  /** Something of it can be mixed now. */
  get ready(): boolean {
    if (this.#length === 0) return false;
    return this.from !== undefined || this.#complete || this.#length >= this.#options.rate * PREFILL_S;
  }

  /** All of it was taken. */
  get over(): boolean {
    return this.#complete && this.#length === 0;
  }

  /** It has ended by itself or was given up. */
  get settled(): boolean {
    return this.#stop.signal.aborted;
  }

  /** Samples that the last block took. */
  get taken(): number {
    return this.block.length;
  }

  take(count: number): Int16Array {
    const block = new Int16Array(Math.min(count, this.#length));
    for (let at = 0; at < block.length; ) {
      const piece = this.#pieces[0]!;
      const part = piece.subarray(0, block.length - at);
      block.set(part, at);
      at += part.length;
      if (part.length === piece.length) this.#pieces.shift();
      else this.#pieces[0] = piece.subarray(part.length);
    }
    this.#length -= block.length;
    this.block = block;
    if (!this.#complete) this.#room.resolve();
    return block;
  }

  /** Fade in place of a hard end; undefined for a sound of which no sample was heard. */
  fadeOut(): Voice | undefined {
    const { level, gain, priority } = this;
    if (level === undefined || this.#length === 0) return undefined;
    const samples = this.take(Math.round(this.#options.rate * FADE_S));
    const faded = samples.map((sample, index) => Math.round(sample * (1 - (index + 1) / samples.length)));
    return { priority, gain, level, take: (count) => faded.subarray(0, count) };
  }

  /** Its first sample is heard at that time; told once, though a long gap may divide it. */
  started(at: number): void {
    if (this.#told) return;
    this.#told = true;
    this.#options.started?.(at);
  }

  finish(): void {
    this.#settle();
    this.outcome.resolve();
  }

  fail(error: unknown): void {
    this.#settle();
    this.outcome.reject(error);
  }

  #settle(): void {
    this.#stop.abort();
    this.#complete = true;
    this.#pieces = [];
    this.#length = 0;
    this.#room.resolve();
  }

  async #read(source: AsyncIterable<PcmChunk>): Promise<void> {
    const { onReady, scope, stallMs, owner } = this.#options;
    const { signal } = this.#stop;
    const chunks = source[Symbol.asyncIterator]();
    let resampler: { readonly from: number; readonly run: Resampler } | undefined;
    try {
      for (;;) {
        const item = await scope.within(`the next sound of ${owner}`, stallMs, () => chunks.next(), { signal });
        if (item.done) {
          if (resampler) this.#add(resampler.run.flush());
          break;
        }
        const { rate, samples } = item.value;
        if (resampler && resampler.from !== rate) this.#add(resampler.run.flush());
        if (resampler?.from !== rate) resampler = { from: rate, run: new Resampler(rate, this.#options.rate) };
        const size = Math.ceil(rate * PIECE_S);
        for (let from = 0; from < samples.length && !this.settled; from += size) {
          this.#add(resampler.run.push(samples.subarray(from, from + size)));
          if (this.#length > this.#options.rate * AHEAD_S) {
            this.#room = Promise.withResolvers();
            await this.#room.promise;
          }
        }
      }
      this.#complete = true;
    } catch (error) {
      if (!this.settled) this.fail(error);
    } finally {
      onReady();
      // A source that is asleep is not waited for.
      if (this.settled) void Promise.resolve(chunks.return?.()).catch(() => undefined);
    }
  }

  #add(samples: Int16Array): void {
    if (samples.length === 0 || this.settled) return;
    this.#pieces.push(samples);
    this.#length += samples.length;
    if (this.from === undefined) this.#options.onReady();
  }
}
