/**
 * Which characters a font has, read from its table `cmap`: Skia would take what is missing from any font of the
 * machine, and say nothing.
 */
import { brotliDecompressSync, inflateSync } from 'node:zlib';

/** Ascending, none over another; both ends are in it. */
export type Coverage = readonly (readonly [first: number, last: number])[];

const MOST_BYTES = 64 << 20;
const WOFF = 0x774f4646;
const WOFF2 = 0x774f4632;
const COLLECTION = 0x74746366;
const LAST_CHARACTER = 0x10_ffff;
/** Numbers of tables in WOFF 2; only these change their form in it. */
const [CMAP, GLYF, LOCA, BY_NAME] = [0, 10, 11, 63];

export function covers(coverage: Coverage, character: number): boolean {
  let [low, high] = [0, coverage.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (coverage[middle]![1] < character) low = middle + 1;
    else high = middle;
  }
  return low < coverage.length && coverage[low]![0] <= character;
}

/** Characters of a TrueType or OpenType font, also as WOFF or WOFF 2. Throws an Error with the reason where it is unreadable. */
export function coverageOf(font: Uint8Array): Coverage {
  try {
    return charactersOf(cmapOf(font));
  } catch (cause) {
    if (cause instanceof RangeError) throw new Error('it is cut off', { cause });
    throw cause;
  }
}

const viewOf = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function cmapOf(font: Uint8Array): DataView {
  const view = viewOf(font);
  const kind = view.getUint32(0);
  if (kind === WOFF2) return cmapOfWoff2(font, view);
  if (kind === COLLECTION) throw new Error('collections of fonts are not taken: TTF, OTF, WOFF and WOFF 2 are');
  const packed = kind === WOFF;
  const [count, first, step] = packed ? [view.getUint16(12), 44, 20] : [view.getUint16(4), 12, 16];
  for (let index = 0; index < count; index += 1) {
    const at = first + index * step;
    if (view.getUint32(at) !== 0x636d6170) continue;
    const [offset, length] = packed
      ? [view.getUint32(at + 4), view.getUint32(at + 8)]
      : [view.getUint32(at + 8), view.getUint32(at + 12)];
    const bytes = font.subarray(offset, offset + length);
    const inflate = packed && length < view.getUint32(at + 12);
    return viewOf(inflate ? inflateSync(bytes, { maxOutputLength: MOST_BYTES }) : bytes);
  }
  throw new Error('it is no font that has a table of characters');
}

/** All tables are one stream; their lengths say where each begins. */
function cmapOfWoff2(font: Uint8Array, view: DataView): DataView {
  const count = view.getUint16(12);
  const packedBytes = view.getUint32(20);
  let at = 48;
  const number = (): number => {
    let value = 0;
    for (let index = 0; index < 5; index += 1) {
      const byte = view.getUint8(at++);
      value = value * 128 + (byte & 127);
      if (byte < 128) return value;
    }
    throw new Error('a number of its directory never ends');
  };
  let offset = 0;
  let found: readonly [number, number] | undefined;
  for (let index = 0; index < count; index += 1) {
    const flags = view.getUint8(at++);
    const tag = flags & 63;
    const name = tag === BY_NAME ? view.getUint32(at) : 0;
    if (tag === BY_NAME) at += 4;
    let length = number();
    const version = flags >>> 6;
    const changed = tag === GLYF || tag === LOCA ? version !== 3 : version !== 0;
    if (changed) length = number();
    if (tag === CMAP || name === 0x636d6170) found = [offset, length];
    offset += length;
  }
  if (found === undefined) throw new Error('it is no font that has a table of characters');
  const tables = brotliDecompressSync(font.subarray(at, at + packedBytes), { maxOutputLength: MOST_BYTES });
  return viewOf(tables.subarray(found[0], found[0] + found[1]));
}

function charactersOf(cmap: DataView): Coverage {
  let best: { readonly offset: number; readonly format: number } | undefined;
  for (let index = 0; index < cmap.getUint16(2); index += 1) {
    const offset = cmap.getUint32(4 + index * 8 + 4);
    const format = cmap.getUint16(offset);
    if ((format === 12 || format === 4) && format > (best?.format ?? 0)) best = { offset, format };
  }
  if (best === undefined) throw new Error('its table of characters has no known form');
  return best.format === 12 ? groups(cmap, best.offset) : segments(cmap, best.offset);
}

const unordered = (): Error => new Error('its table of characters is not in order');

function groups(cmap: DataView, offset: number): Coverage {
  let before = -1;
  return Array.from({ length: cmap.getUint32(offset + 12) }, (_, index) => {
    const at = offset + 16 + index * 12;
    const [first, last] = [cmap.getUint32(at), cmap.getUint32(at + 4)];
    if (first <= before || last < first || last > LAST_CHARACTER) throw unordered();
    before = last;
    return [first, last] as const;
  });
}

function segments(cmap: DataView, offset: number): Coverage {
  const bytes = cmap.getUint16(offset + 6);
  const found: [number, number][] = [];
  let above = -1;
  for (let index = 0; index < bytes; index += 2) {
    const last = cmap.getUint16(offset + 14 + index);
    const first = cmap.getUint16(offset + 16 + bytes + index);
    const delta = cmap.getUint16(offset + 16 + 2 * bytes + index);
    const rangeAt = offset + 16 + 3 * bytes + index;
    const range = cmap.getUint16(rangeAt);
    // Segments over each other would make thousands of times the work of one table.
    if (first <= above || last < first) throw unordered();
    above = last;
    for (let character = first; character <= last && character < 0xffff; character += 1) {
      const raw = range === 0 ? character : cmap.getUint16(rangeAt + range + (character - first) * 2);
      if (raw === 0 || ((raw + delta) & 0xffff) === 0) continue;
      const before = found.at(-1);
      if (before !== undefined && before[1] === character - 1) before[1] = character;
      else found.push([character, character]);
    }
  }
  return found;
}
