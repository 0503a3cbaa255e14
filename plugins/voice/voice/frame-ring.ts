import type { AudioFrame } from '@device-core/plugin-api/services/audio';

export interface FrameReader {
  readonly frames: AsyncIterable<AudioFrame>;
  /** The reader gets what waits, and then the end. */
  readonly close: () => void;
}

/** The newest frames of the microphone, kept once: for a look back, and for readers that are slower than the sound. */
export class FrameRing {
  readonly #kept: AudioFrame[] = [];
  readonly #recent: number;
  readonly #most: number;
  #count = 0;
  #more = Promise.withResolvers<void>();
  /** Frames that a reader did not take in time. */
  lost = 0;

  /** Looks back on `recent` frames; `late` more are there for readers that were closed. */
  constructor(recent: number, late: number) {
    this.#recent = recent;
    this.#most = recent + late;
  }

  get newest(): AudioFrame | undefined {
    return this.#kept.at(-1);
  }

  push(frame: AudioFrame): void {
    this.#kept.push(frame);
    if (this.#kept.length > this.#most) this.#kept.shift();
    this.#count++;
    this.#wake();
  }

  since(at: number): readonly AudioFrame[] {
    return this.#kept.slice(-this.#recent).filter((frame) => frame.at >= at);
  }

  clear(): void {
    this.#kept.length = 0;
  }

  /** For one reader: `before` frames that are there, and all that come. The oldest go when more than `limit` wait. */
  follow(limit: number, before = 0): FrameReader {
    let end = Number.POSITIVE_INFINITY;
    const close = () => {
      end = Math.min(end, this.#count);
      this.#wake();
    };
    return { frames: this.#read(this.#count - before, limit, () => end), close };
  }

  async *#read(from: number, limit: number, end: () => number): AsyncGenerator<AudioFrame> {
    for (let next = from; ; ) {
      const last = Math.min(end(), this.#count);
      const oldest = this.#count - this.#kept.length;
      const first = Math.max(next, last - limit, Math.min(oldest, last));
      this.lost += first - next;
      next = first;
      if (next < last) yield this.#kept[next++ - oldest]!;
      else if (next >= end()) return;
      else await this.#more.promise;
    }
  }

  #wake(): void {
    this.#more.resolve();
    this.#more = Promise.withResolvers();
  }
}
