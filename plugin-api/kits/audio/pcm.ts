import { CAPTURE_RATE, FRAME_SAMPLES } from '../../services/audio.ts';

const FULL = 32_768;

/** A number of full scale 1 as a sample: rounded, and held at the ends of the range. */
export function toSample(value: number): number {
  const scaled = Math.round(value * FULL);
  if (scaled > FULL - 1) return FULL - 1;
  return Math.max(scaled, -FULL);
}

/** The factor of a level in decibels: -6.02 is one half. */
export function factorOf(decibels: number): number {
  return 10 ** (decibels / 20);
}

/** Samples as s16le bytes; a copy. */
export function bytesOfSamples(samples: Int16Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(samples.length * 2);
  const view = new DataView(bytes.buffer);
  for (let index = 0; index < samples.length; index++) view.setInt16(index * 2, samples[index]!, true);
  return bytes;
}

/** s16le bytes as samples; a copy. A byte too many at the end is left out: SampleReader keeps it for the next chunk. */
export function samplesOfBytes(bytes: Uint8Array): Int16Array<ArrayBuffer> {
  const samples = new Int16Array(bytes.length >> 1);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let index = 0; index < samples.length; index++) samples[index] = view.getInt16(index * 2, true);
  return samples;
}

/** Samples out of chunks of bytes that end anywhere. */
export class SampleReader {
  #odd: number | undefined;

  read(chunk: Uint8Array): Int16Array<ArrayBuffer> {
    if (chunk.length === 0) return new Int16Array(0);
    let bytes = chunk;
    if (this.#odd !== undefined) {
      bytes = new Uint8Array(chunk.length + 1);
      bytes[0] = this.#odd;
      bytes.set(chunk, 1);
    }
    this.#odd = bytes.length % 2 === 1 ? bytes.at(-1) : undefined;
    return samplesOfBytes(bytes);
  }
}

/** Blocks of one size out of pieces of any size. */
export class Reblocker {
  readonly #size: number;
  #rest = new Int16Array(0);

  constructor(size: number = FRAME_SAMPLES) {
    this.#size = size;
  }

  /** Samples that wait for the rest of their block. */
  get waiting(): number {
    return this.#rest.length;
  }

  *push(samples: Int16Array): Generator<Int16Array<ArrayBuffer>> {
    const all = new Int16Array(this.#rest.length + samples.length);
    all.set(this.#rest);
    all.set(samples, this.#rest.length);
    const whole = all.length - (all.length % this.#size);
    this.#rest = all.slice(whole);
    for (let from = 0; from < whole; from += this.#size) yield all.slice(from, from + this.#size);
  }

  /** The last block, filled up with silence; undefined where nothing waits. */
  flush(): Int16Array<ArrayBuffer> | undefined {
    if (this.#rest.length === 0) return undefined;
    const block = new Int16Array(this.#size);
    block.set(this.#rest);
    this.#rest = new Int16Array(0);
    return block;
  }
}

/** Milliseconds that so many samples last. */
export function msOf(samples: number, rate: number = CAPTURE_RATE): number {
  return (samples / rate) * 1_000;
}

export function concatSamples(pieces: readonly Int16Array[]): Int16Array<ArrayBuffer> {
  const all = new Int16Array(pieces.reduce((sum, piece) => sum + piece.length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
