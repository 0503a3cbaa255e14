/** Sound as it travels: interleaved signed little-endian samples of any rate, width and number of channels. */
import { CoreError } from '@device-core/plugin-api';

export interface Format {
  readonly rate: number;
  /** Bytes of a sample. */
  readonly width: number;
  readonly channels: number;
}

/** Format in `audio-start` and `audio-chunk`. Throws REQUEST_INVALID. */
export function formatOf(data: Readonly<Record<string, unknown>>): Format {
  const whole = (name: string, least: number, most: number): number => {
    const value = data[name];
    if (typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most) return value;
    throw new CoreError('REQUEST_INVALID', { reason: `the ${name} of its sound is not ${least} to ${most}` });
  };
  // Samples of one byte are signed for some and unsigned for others.
  return { rate: whole('rate', 4_000, 192_000), width: whole('width', 2, 4), channels: whole('channels', 1, 8) };
}

export function sameFormat(one: Format, other: Format): boolean {
  return one.rate === other.rate && one.width === other.width && one.channels === other.channels;
}

/** Mono samples of 16 bits out of pieces that end anywhere. */
export class PcmReader {
  readonly format: Format;
  #rest: Uint8Array = new Uint8Array(0);

  constructor(format: Format) {
    this.format = format;
  }

  read(piece: Uint8Array): Int16Array<ArrayBuffer> {
    const { width, channels } = this.format;
    let bytes = piece;
    if (this.#rest.length > 0) {
      bytes = new Uint8Array(this.#rest.length + piece.length);
      bytes.set(this.#rest);
      bytes.set(piece, this.#rest.length);
    }
    const step = width * channels;
    const samples = new Int16Array(Math.floor(bytes.length / step));
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    for (let index = 0; index < samples.length; index++) {
      let sum = 0;
      // Wider samples keep the two highest bytes, which come last.
      for (let channel = 0; channel < channels; channel++)
        sum += view.getInt16(index * step + channel * width + width - 2, true);
      samples[index] = Math.round(sum / channels);
    }
    this.#rest = bytes.slice(samples.length * step);
    return samples;
  }
}
