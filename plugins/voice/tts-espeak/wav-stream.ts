import { CoreError } from '@device-core/plugin-api';
import { SampleReader } from '@device-core/plugin-api/audio';
import type { PcmChunk } from '@device-core/plugin-api/services/audio';

const MOST_HEADER = 4_096;
const RATE_AT = 24;
const BITS_AT = 34;

/** Sound out of a WAV file (mono, 16 bits) that comes through a pipe, whose header does not know its length. */
export class WavStream {
  readonly #samples = new SampleReader();
  #header = Buffer.alloc(0);
  #rate: number | undefined;

  /** Undefined while nothing but the header has come. Throws SPEECH_FAILED. */
  push(bytes: Uint8Array): PcmChunk | undefined {
    let body = bytes;
    if (this.#rate === undefined) {
      this.#header = Buffer.concat([this.#header, bytes]);
      const data = this.#header.indexOf('data', 12, 'latin1');
      if (data < 0 || this.#header.length < data + 8) {
        if (this.#header.length > MOST_HEADER) throw strange();
        return undefined;
      }
      if (this.#header.toString('latin1', 0, 4) !== 'RIFF' || this.#header.readUInt16LE(BITS_AT) !== 16)
        throw strange();
      this.#rate = this.#header.readUInt32LE(RATE_AT);
      body = this.#header.subarray(data + 8);
      this.#header = Buffer.alloc(0);
    }
    const samples = this.#samples.read(body);
    return samples.length === 0 ? undefined : { rate: this.#rate, samples };
  }
}

function strange(): CoreError {
  return new CoreError('SPEECH_FAILED', { engine: 'espeak', reason: 'the output is no WAV file of 16 bits' });
}
