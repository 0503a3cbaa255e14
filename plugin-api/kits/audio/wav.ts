/** WAV files: all that is common is read, 16 bit mono is written. */
import { CoreError } from '../../contract/errors.ts';
import type { PcmChunk } from '../../services/audio.ts';
import { bytesOfSamples, toSample } from './pcm.ts';

export const WAV_HEADER_BYTES = 44;

const PCM = 1;
const FLOAT = 3;
const EXTENSIBLE = 0xfffe;
const FORMAT_BYTES = 16;
/** Offset of the real format in an extensible one: the first two bytes of its GUID. */
const SUBFORMAT_AT = 24;
const MOST_CHANNELS = 16;
const LEAST_RATE = 1_000;
const MOST_RATE = 384_000;
/** Writers that do not know the length yet say so by one of these. */
const UNKNOWN_LENGTH = 0x7fff_0000;

interface WavFormat {
  readonly encoding: number;
  readonly channels: number;
  readonly rate: number;
  readonly bits: number;
  /** Bytes of one sample of one channel. */
  readonly width: number;
}

/** The header of a file of 16 bit mono with so many samples. */
export function wavHeader(rate: number, samples: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(WAV_HEADER_BYTES);
  const view = new DataView(bytes.buffer);
  const mark = (at: number, text: string) => {
    for (let index = 0; index < text.length; index++) bytes[at + index] = text.charCodeAt(index);
  };
  mark(0, 'RIFF');
  view.setUint32(4, WAV_HEADER_BYTES - 8 + samples * 2, true);
  mark(8, 'WAVEfmt ');
  view.setUint32(16, FORMAT_BYTES, true);
  view.setUint16(20, PCM, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, rate * 2, true);
  view.setUint16(32, 2, true);
  view.setUint16(34, 16, true);
  mark(36, 'data');
  view.setUint32(40, samples * 2, true);
  return bytes;
}

export function encodeWav({ rate, samples }: PcmChunk): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(WAV_HEADER_BYTES + samples.length * 2);
  bytes.set(wavHeader(rate, samples.length));
  bytes.set(bytesOfSamples(samples), WAV_HEADER_BYTES);
  return bytes;
}

/**
 * The sound of a file: PCM of 8, 16, 24 or 32 bits or floating point of 32 or 64, channels mixed down to one. A file
 * that ends too early gives what is there. Throws PARAMS_INVALID that names `where`.
 */
export function decodeWav(bytes: Uint8Array, where = 'wav'): PcmChunk {
  const refuse = (reason: string): never => {
    throw new CoreError('PARAMS_INVALID', { where, reason });
  };
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 12 || tagAt(bytes, 0) !== 'RIFF' || tagAt(bytes, 8) !== 'WAVE') refuse('it is no WAV file');
  let format: WavFormat | undefined;
  for (let at = 12; at + 8 <= bytes.length; ) {
    const tag = tagAt(bytes, at);
    const told = view.getUint32(at + 4, true);
    const from = at + 8;
    const size = Math.min(told, bytes.length - from);
    if (tag === 'fmt ') format = formatOf(view, from, size) ?? refuse('its format is cut off');
    if (tag === 'data') {
      const known = checked(format, refuse);
      // Zero is what a writer leaves that was ended before it could come back to its header.
      const length = told === 0 || told >= UNKNOWN_LENGTH ? bytes.length - from : size;
      return { rate: known.rate, samples: mixedDown(view, from, length, known) };
    }
    at = from + size + (size % 2);
  }
  return refuse('it holds no sound');
}

function tagAt(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + 4));
}

function formatOf(view: DataView, at: number, size: number): WavFormat | undefined {
  if (size < FORMAT_BYTES) return undefined;
  const told = view.getUint16(at, true);
  const encoding = told === EXTENSIBLE && size >= SUBFORMAT_AT + 2 ? view.getUint16(at + SUBFORMAT_AT, true) : told;
  const bits = view.getUint16(at + 14, true);
  return {
    encoding,
    channels: view.getUint16(at + 2, true),
    rate: view.getUint32(at + 4, true),
    bits,
    width: Math.ceil(bits / 8),
  };
}

function checked(format: WavFormat | undefined, refuse: (reason: string) => never): WavFormat {
  if (!format) return refuse('its sound comes before its format');
  const { encoding, channels, rate, bits } = format;
  const known = (encoding === PCM && [8, 16, 24, 32].includes(bits)) || (encoding === FLOAT && [32, 64].includes(bits));
  if (!known) return refuse(`its format (encoding ${encoding} of ${bits} bits) is not known`);
  if (channels < 1 || channels > MOST_CHANNELS) return refuse(`it has ${channels} channels`);
  if (rate < LEAST_RATE || rate > MOST_RATE) return refuse(`its rate is ${rate} Hz`);
  return format;
}

function mixedDown(view: DataView, from: number, length: number, format: WavFormat): Int16Array {
  const { channels, width } = format;
  const read = readerOf(view, format);
  const samples = new Int16Array(Math.floor(length / (channels * width)));
  for (let index = 0; index < samples.length; index++) {
    let sum = 0;
    for (let channel = 0; channel < channels; channel++) sum += read(from + (index * channels + channel) * width);
    // A file may hold anything where a number should be.
    samples[index] = Number.isNaN(sum) ? 0 : toSample(sum / channels);
  }
  return samples;
}

/** One sample of full scale 1. */
function readerOf(view: DataView, { encoding, width }: WavFormat): (at: number) => number {
  if (encoding === FLOAT) return width === 4 ? (at) => view.getFloat32(at, true) : (at) => view.getFloat64(at, true);
  switch (width) {
    case 1:
      return (at) => (view.getUint8(at) - 128) / 128;
    case 2:
      return (at) => view.getInt16(at, true) / 32_768;
    case 3:
      return (at) => (view.getInt16(at + 1, true) * 256 + view.getUint8(at)) / 8_388_608;
    default:
      return (at) => view.getInt32(at, true) / 2_147_483_648;
  }
}
