/**
 * Inter as outlines (`inter.bin`, made by `make.ts`), raw deflate of numbers of seven bits a byte: units of an em, ascent, descent, weights; of each its
 * number and its glyphs; of each the code point from the one before, the advance, contours; of each its points, from the one before: twice x, and 1
 * where the outline goes through it, then y.
 */
import { readFileSync } from 'node:fs';
import { inflateRawSync } from 'node:zlib';

export interface Glyph {
  /** In shares of the size, as all that follows; y goes up. */
  readonly advance: number;
  /** Each contour: x, y and whether the outline goes through it; quadratic curves in between, as in TrueType. */
  readonly contours: readonly Float32Array[];
}

export interface Font {
  readonly ascent: number;
  readonly descent: number;
  glyph(code: number, weight: 400 | 700): Glyph | undefined;
}

export function readFont(): Font {
  const bytes = inflateRawSync(readFileSync(new URL('inter.bin', import.meta.url)));
  let at = 0;
  const number = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = bytes[at++]!;
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  const signed = (): number => {
    const value = number();
    return value & 1 ? -(value + 1) / 2 : value / 2;
  };
  const em = number();
  const [ascent, descent] = [signed() / em, -signed() / em];
  const weights = new Map<number, Map<number, Glyph>>();
  for (let weight = number(); weight > 0; weight--) {
    const glyphs = new Map<number, Glyph>();
    weights.set(number(), glyphs);
    let code = 0;
    for (let left = number(); left > 0; left--) {
      code += number();
      const advance = number() / em;
      let [x, y] = [0, 0];
      const contours = Array.from({ length: number() }, () => {
        const points = new Float32Array(number() * 3);
        for (let point = 0; point < points.length; point += 3) {
          const twice = signed();
          x += twice >> 1;
          y += signed();
          points.set([x / em, y / em, twice & 1], point);
        }
        return points;
      });
      glyphs.set(code, { advance, contours });
    }
  }
  return { ascent, descent, glyph: (code, weight) => weights.get(weight)?.get(code) };
}
