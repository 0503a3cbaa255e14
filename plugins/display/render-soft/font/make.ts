/**
 * Makes `inter.bin` of the package `@fontsource/inter`:
 * `node plugins/display/render-soft/font/make.ts > plugins/display/render-soft/font/inter.bin`. Outlines of Latin-1,
 * Latin Extended-A and what stands between words, in two weights. `read-font.ts` says how it is laid out.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { deflateRawSync, inflateSync } from 'node:zlib';

interface Point {
  readonly x: number;
  readonly y: number;
  readonly on: boolean;
}
type Contour = readonly Point[];

const SUBSETS = ['latin', 'latin-ext'];
const WEIGHTS = [400, 700];
const LAST_LETTER = 0x17f;
/** General punctuation, currency, arrows, mathematical signs and ticks that the subsets have. */
const SIGNS: readonly (readonly [number, number])[] = [
  [0x2010, 0x2044],
  [0x20ac, 0x20ac],
  [0x2122, 0x2122],
  [0x2190, 0x2193],
  [0x2212, 0x2215],
];
const wanted = (code: number): boolean =>
  (code >= 0x20 && code <= LAST_LETTER) || SIGNS.some(([from, to]) => code >= from && code <= to);

/** A font of TrueType outlines in WOFF. */
class Woff {
  readonly #tables = new Map<string, Buffer>();

  constructor(file: Buffer) {
    for (let entry = 44; entry < 44 + file.readUInt16BE(12) * 20; entry += 20) {
      const [offset, packed, length] = [4, 8, 12].map((at) => file.readUInt32BE(entry + at)) as [
        number,
        number,
        number,
      ];
      const bytes = file.subarray(offset, offset + packed);
      this.#tables.set(file.toString('latin1', entry, entry + 4), packed < length ? inflateSync(bytes) : bytes);
    }
  }

  table(name: string): Buffer {
    const found = this.#tables.get(name);
    if (!found) throw new Error(`the font has no table ${name}`);
    return found;
  }

  /** Code point -> glyph: subtable of format 4. */
  characters(): ReadonlyMap<number, number> {
    const cmap = this.table('cmap');
    const found = new Map<number, number>();
    for (let entry = 0; entry < cmap.readUInt16BE(2); entry++) {
      const at = cmap.readUInt32BE(4 + entry * 8 + 4);
      if (cmap.readUInt16BE(at) !== 4) continue;
      const double = cmap.readUInt16BE(at + 6);
      for (let segment = 0; segment < double; segment += 2) {
        const end = cmap.readUInt16BE(at + 14 + segment);
        const start = cmap.readUInt16BE(at + 16 + double + segment);
        const delta = cmap.readUInt16BE(at + 16 + double * 2 + segment);
        const place = at + 16 + double * 3 + segment;
        const offset = cmap.readUInt16BE(place);
        for (let code = start; code <= end && code < 0xffff; code++) {
          const glyph = offset === 0 ? code : cmap.readUInt16BE(place + offset + (code - start) * 2);
          if (glyph !== 0) found.set(code, (glyph + delta) & 0xffff);
        }
      }
    }
    return found;
  }

  advance(glyph: number): number {
    const last = this.table('hhea').readUInt16BE(34) - 1;
    return this.table('hmtx').readUInt16BE(Math.min(glyph, last) * 4);
  }

  contours(glyph: number): readonly Contour[] {
    const long = this.table('head').readInt16BE(50) === 1;
    const loca = this.table('loca');
    const place = (index: number) => (long ? loca.readUInt32BE(index * 4) : loca.readUInt16BE(index * 2) * 2);
    const bytes = this.table('glyf').subarray(place(glyph), place(glyph + 1));
    if (bytes.length === 0) return [];
    const count = bytes.readInt16BE(0);
    return count < 0 ? this.#composed(bytes) : simple(bytes, count);
  }

  #composed(bytes: Buffer): readonly Contour[] {
    const all: Contour[] = [];
    for (let at = 10, more = true; more; ) {
      const [flags, glyph] = [bytes.readUInt16BE(at), bytes.readUInt16BE(at + 2)];
      at += 4;
      const words = (flags & 1) !== 0;
      const [dx, dy] = words
        ? [bytes.readInt16BE(at), bytes.readInt16BE(at + 2)]
        : [bytes.readInt8(at), bytes.readInt8(at + 1)];
      at += words ? 4 : 2;
      let [a, b, c, d] = [1, 0, 0, 1];
      const part = (index: number) => bytes.readInt16BE(at + index * 2) / 16_384;
      if (flags & 8) {
        a = d = part(0);
        at += 2;
      } else if (flags & 64) {
        [a, d] = [part(0), part(1)];
        at += 4;
      } else if (flags & 128) {
        [a, b, c, d] = [part(0), part(1), part(2), part(3)];
        at += 8;
      }
      for (const contour of this.contours(glyph))
        all.push(
          contour.map(({ x, y, on }) => ({
            x: Math.round(a * x + c * y) + dx,
            y: Math.round(b * x + d * y) + dy,
            on,
          })),
        );
      more = (flags & 32) !== 0;
    }
    return all;
  }
}

function simple(bytes: Buffer, count: number): readonly Contour[] {
  const ends = Array.from({ length: count }, (_, index) => bytes.readUInt16BE(10 + index * 2));
  const points = (ends.at(-1) ?? -1) + 1;
  let at = 10 + count * 2;
  at += 2 + bytes.readUInt16BE(at);
  const flags: number[] = [];
  while (flags.length < points) {
    const flag = bytes[at++]!;
    flags.push(flag);
    if (flag & 8) for (let again = bytes[at++]!; again > 0; again--) flags.push(flag);
  }
  const coordinates = (short: number, same: number): readonly number[] => {
    let value = 0;
    return flags.map((flag) => {
      if (flag & short) value += flag & same ? bytes[at++]! : -bytes[at++]!;
      else if (!(flag & same)) {
        value += bytes.readInt16BE(at);
        at += 2;
      }
      return value;
    });
  };
  const xs = coordinates(2, 16);
  const ys = coordinates(4, 32);
  return ends.map((end, index) =>
    flags
      .slice(index === 0 ? 0 : ends[index - 1]! + 1, end + 1)
      .map((flag, point, { length }) => ({ flag, point: end + 1 - length + point }))
      .map(({ flag, point }) => ({ x: xs[point]!, y: ys[point]!, on: (flag & 1) !== 0 })),
  );
}

let out: number[] = [];
/** Seven bits a byte, least first. */
function number(value: number): void {
  for (; value > 127; value >>>= 7) out.push((value & 127) | 128);
  out.push(value);
}
function outlines(contours: readonly Contour[]): void {
  number(contours.length);
  let [x, y] = [0, 0];
  for (const contour of contours) {
    number(contour.length);
    for (const point of contour) {
      signed((point.x - x) * 2 + (point.on ? 1 : 0));
      signed(point.y - y);
      ({ x, y } = point);
    }
  }
}
const signed = (value: number): void => number(value < 0 ? -value * 2 - 1 : value * 2);

const require = createRequire(import.meta.url);
const fonts = (weight: number) =>
  SUBSETS.map(
    (subset) =>
      new Woff(readFileSync(require.resolve(`@fontsource/inter/files/inter-${subset}-${weight}-normal.woff`))),
  );
const first = fonts(WEIGHTS[0]!)[0]!;
number(first.table('head').readUInt16BE(18));
signed(first.table('hhea').readInt16BE(4));
signed(first.table('hhea').readInt16BE(6));
number(WEIGHTS.length);
for (const weight of WEIGHTS) {
  const glyphs = new Map<number, readonly [Woff, number]>();
  for (const font of fonts(weight))
    for (const [code, glyph] of font.characters())
      if (wanted(code) && !glyphs.has(code)) glyphs.set(code, [font, glyph]);
  number(weight);
  number(glyphs.size);
  let last = 0;
  for (const [code, [font, glyph]] of [...glyphs].sort(([a], [b]) => a - b)) {
    number(code - last);
    last = code;
    number(font.advance(glyph));
    const before = out;
    out = [];
    outlines(font.contours(glyph));
    const bytes = out;
    out = before;
    number(bytes.length);
    out.push(...bytes);
  }
}
process.stdout.write(deflateRawSync(Uint8Array.from(out), { level: 9 }));
