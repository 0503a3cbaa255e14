/**
 * Inter as outlines (`inter.bin`, made by `make.ts`), raw deflate of numbers of seven bits a byte: units of an em,
 * ascent, descent, weights; of each its number and its glyphs; of each the code point from the one before, the advance,
 * the bytes that follow, contours; of each its points, from the one before: twice x, and 1 where the outline goes
 * through it, then y.
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

/** Advance and place of a letter that is not read yet. */
interface Place {
  readonly advance: number;
  readonly at: number;
}

export function readFont(): Font {
  const reader = new Reader(inflateRawSync(readFileSync(new URL('inter.bin', import.meta.url))));
  const em = reader.number();
  const [ascent, descent] = [reader.signed() / em, -reader.signed() / em];
  const places = new Map<number, Map<number, Place>>();
  for (let weights = reader.number(); weights > 0; weights--) {
    const found = new Map<number, Place>();
    places.set(reader.number(), found);
    let code = 0;
    for (let left = reader.number(); left > 0; left--) {
      code += reader.number();
      const advance = reader.number() / em;
      const bytes = reader.number();
      found.set(code, { advance, at: reader.at });
      reader.at += bytes;
    }
  }
  const glyphs = new Map<Place, Glyph>();
  const glyph = (code: number, weight: 400 | 700): Glyph | undefined => {
    const place = places.get(weight)?.get(code);
    if (!place) return undefined;
    let known = glyphs.get(place);
    if (!known) {
      reader.at = place.at;
      known = { advance: place.advance, contours: reader.outlines(em) };
      glyphs.set(place, known);
    }
    return known;
  };
  return { ascent, descent, glyph };
}

class Reader {
  at = 0;
  readonly #bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  number(): number {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const byte = this.#bytes[this.at++]!;
      value |= (byte & 127) << shift;
      if (byte < 128) return value;
    }
  }

  signed(): number {
    const value = this.number();
    return value & 1 ? -(value + 1) / 2 : value / 2;
  }

  outlines(em: number): readonly Float32Array[] {
    let [x, y] = [0, 0];
    return Array.from({ length: this.number() }, () => {
      const points = new Float32Array(this.number() * 3);
      for (let point = 0; point < points.length; point += 3) {
        const twice = this.signed();
        x += twice >> 1;
        y += this.signed();
        points.set([x / em, y / em, twice & 1], point);
      }
      return points;
    });
  }
}
