/** Mutations of bytes, whatever they are. */
import type { Random } from './random.ts';

/** Longer ones cost time and find nothing more. */
const MOST_BYTES = 256 << 10;
const EDGES = [0, 1, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x7fff_ffff, 0x8000_0000, 0xffff_fffe, 0xffff_ffff];

type Change = (bytes: Buffer, random: Random, other: Uint8Array, words: readonly string[]) => Buffer;

const joined = (...parts: readonly Uint8Array[]): Buffer => Buffer.concat(parts);
/** A stretch of the bytes, short as a rule. */
function stretch(bytes: Uint8Array, random: Random): readonly [from: number, to: number] {
  const from = random.below(bytes.length + 1);
  const most = random.chance(0.8) ? 16 : bytes.length;
  return [from, Math.min(bytes.length, from + 1 + random.below(most))];
}

function number(bytes: Buffer, random: Random): Buffer {
  const width = Math.min(random.pick([1, 2, 4]), bytes.length);
  if (width === 0 || width === 3) return bytes;
  const at = random.below(bytes.length - width + 1);
  const near = random.chance(0.3);
  const read = width === 1 ? bytes[at]! : width === 2 ? bytes.readUInt16LE(at) : bytes.readUInt32LE(at);
  const value = (near ? read + random.below(9) - 4 : random.pick(EDGES)) >>> 0;
  const little = random.chance(0.5);
  for (let nth = 0; nth < width; nth += 1) bytes[at + nth] = (value >>> (8 * (little ? nth : width - 1 - nth))) & 0xff;
  return bytes;
}

const CHANGES: readonly Change[] = [
  (bytes, random) => {
    const at = random.below(bytes.length);
    if (bytes.length > 0) bytes[at] = bytes[at]! ^ (1 << random.below(8));
    return bytes;
  },
  (bytes, random) => {
    if (bytes.length > 0) bytes[random.below(bytes.length)] = random.below(256);
    return bytes;
  },
  number,
  number,
  (bytes, random) => {
    const [from, to] = stretch(bytes, random);
    return joined(bytes.subarray(0, from), bytes.subarray(to));
  },
  (bytes, random) => {
    const [from, to] = stretch(bytes, random);
    const times = random.chance(0.9) ? 1 : 1 + random.below(200);
    return joined(bytes.subarray(0, to), ...Array(times).fill(bytes.subarray(from, to)), bytes.subarray(to));
  },
  (bytes, random) => {
    const at = random.below(bytes.length + 1);
    return joined(bytes.subarray(0, at), random.bytes(1 + random.below(8)), bytes.subarray(at));
  },
  (bytes, random, other) => {
    const [from, to] = stretch(other, random);
    const at = random.below(bytes.length + 1);
    const skip = random.chance(0.5) ? to - from : 0;
    return joined(bytes.subarray(0, at), other.subarray(from, to), bytes.subarray(at + skip));
  },
  (bytes, random) => bytes.subarray(0, random.below(bytes.length + 1)),
  (bytes, random, _other, words) => {
    if (words.length === 0) return bytes;
    const at = random.below(bytes.length + 1);
    const word = Buffer.from(random.pick(words));
    return joined(bytes.subarray(0, at), word, bytes.subarray(at + (random.chance(0.5) ? word.length : 0)));
  },
];

/** Some changes, one after the other; the bytes that are given stay as they are. */
export function mutateBytes(
  bytes: Uint8Array,
  random: Random,
  { other = bytes, words = [] }: { readonly other?: Uint8Array; readonly words?: readonly string[] } = {},
): Buffer {
  let now: Buffer = Buffer.from(bytes);
  for (let left = random.pick([1, 1, 1, 2, 3, 6]); left > 0; left -= 1)
    now = random.pick(CHANGES)(now, random, other, words);
  return now.length > MOST_BYTES ? now.subarray(0, MOST_BYTES) : now;
}
