/** Text: how wide it is, in which lines it stands, and its letters as masks that are kept. */

import { directionOf, layoutText, type TextLayout } from '@device-core/plugin-api/scene';
import type { Surroundings, TextQuestion } from '@device-core/plugin-api/services/renderer';
import { type Font, type Glyph, readFont } from '../font/read-font.ts';
import type { Canvas } from './canvas.ts';
import type { Ink } from './ink.ts';
import { type Matrix, upright } from './matrix.ts';
import { boundsOf, type Mask, Outline, rasterise } from './raster.ts';

export interface TextStyle {
  /** Units, as all that follows. */
  readonly size: number;
  readonly weight: 400 | 700;
  readonly line: number;
  /** From the top of a line to its foot. */
  readonly baseline: number;
  readonly tracking: number;
  readonly tabular: boolean;
}

/** Line height of a text without a role, in shares of its size. */
const LINE = 1.3;
/** Pixels of letters that are kept. */
const MOST_PIXELS = 2 << 20;
const MOST_MISSING = 64;
const MOST_LAYOUTS = 256;
/** A letter begins at one of so many places within a pixel. */
const PLACES = 4;
/** Nothing is to be seen of these: marks of direction, joiners, soft hyphens, variants. */
const UNSEEN = /^(?:\p{Cf}|\p{Cc}|\p{Variation_Selector})$/u;

let opened: Font | undefined;
const font = (): Font => {
  opened ??= readFont();
  return opened;
};

type Asked = Pick<TextQuestion, 'role' | 'size' | 'weight' | 'tabular'>;

export function styleOf({ role, size, weight, tabular = false }: Asked, { theme, textScale }: Surroundings): TextStyle {
  const type = theme.type[role ?? 'body'];
  const own = size === undefined || role !== undefined ? type : undefined;
  const units = (size ?? type.size) * textScale;
  const line = own === undefined || size !== undefined ? units * LINE : type.line * textScale;
  const { ascent, descent } = font();
  return {
    size: units,
    weight: weight ?? own?.weight ?? 400,
    line,
    baseline: (line + (ascent - descent) * units) / 2,
    tracking: (own?.tracking ?? 0) * textScale,
    tabular,
  };
}

export class Texts {
  readonly #masks = new Map<string, Mask>();
  readonly #layouts = new Map<string, TextLayout>();
  readonly #missing = new Set<string>();
  readonly #told = new Set<string>();
  #pixels = 0;

  /** Characters that the font does not have and that were not told yet. */
  missing(): readonly string[] {
    const fresh = [...this.#missing].filter((character) => !this.#told.has(character));
    for (const character of fresh) this.#told.add(character);
    return fresh;
  }

  layout(
    text: string,
    style: TextStyle,
    bounds: {
      readonly width?: number | undefined;
      readonly lines?: number | undefined;
      readonly dir?: 'auto' | 'ltr' | 'rtl' | undefined;
    },
  ): TextLayout {
    const { size, weight, tracking, tabular } = style;
    const key = `${size}|${weight}|${tracking}|${tabular}|${bounds.width}|${bounds.lines}|${bounds.dir}|${text}`;
    const known = this.#layouts.get(key);
    if (known) return known;
    // A layout of no width is one of a box without: nothing would fit.
    const width = bounds.width !== undefined && bounds.width > 0 ? bounds.width : undefined;
    const made = layoutText(text, { ...bounds, width }, (piece) => this.width(piece, style));
    if (this.#layouts.size === MOST_LAYOUTS) this.#layouts.delete(this.#layouts.keys().next().value!);
    this.#layouts.set(key, made);
    return made;
  }

  width(text: string, style: TextStyle): number {
    let width = 0;
    for (const { advance } of this.#glyphs(text, style)) width += advance * style.size + style.tracking;
    return width === 0 ? 0 : width - style.tracking;
  }

  /** One line that begins at x, with its foot at y, in units of the matrix. */
  draw(
    canvas: Canvas,
    line: { readonly text: string; readonly x: number; readonly y: number },
    style: TextStyle,
    ink: Ink,
    matrix: Matrix,
  ): void {
    const visual = directionOf(line.text) === 'rtl' ? [...line.text].reverse().join('') : line.text;
    let pen = line.x;
    const straight = upright(matrix);
    const [a, , , d, e, f] = matrix;
    for (const { glyph, code, advance, shift } of this.#glyphs(visual, style)) {
      const x = pen + shift * style.size;
      pen += advance * style.size + style.tracking;
      if (glyph.contours.length === 0) continue;
      if (!straight) {
        const outline = new Outline(matrix);
        trace(outline, glyph, x, line.y, style.size);
        canvas.fillMask(rasterise(outline.polygons, boundsOf(outline.polygons), canvas.clip), ink);
        continue;
      }
      const [left, foot] = [a * x + e, Math.round(d * line.y + f)];
      const column = Math.floor(left);
      const place = Math.floor((left - column) * PLACES);
      const mask = this.#mask(glyph, `${code}|${style.weight}`, [a * style.size, d * style.size], place);
      canvas.fillMask({ ...mask, x: mask.x + column, y: mask.y + foot }, ink);
    }
  }

  #mask(glyph: Glyph, name: string, [wide, high]: readonly [number, number], place: number): Mask {
    const key = `${name}|${wide}|${high}|${place}`;
    const known = this.#masks.get(key);
    if (known) return known;
    const outline = new Outline([wide, 0, 0, high, place / PLACES, 0]);
    trace(outline, glyph, 0, 0, 1);
    const bounds = boundsOf(outline.polygons);
    const mask = rasterise(outline.polygons, bounds, bounds);
    this.#pixels += mask.cover.length;
    if (this.#pixels > MOST_PIXELS) {
      this.#masks.clear();
      this.#pixels = mask.cover.length;
    }
    this.#masks.set(key, mask);
    return mask;
  }

  *#glyphs(text: string, { weight, tabular }: TextStyle): Generator<Placed> {
    const figures = tabular ? font().glyph(0x30, weight)!.advance : 0;
    for (const character of text) {
      const code = character.codePointAt(0)!;
      const glyph = this.#glyph(character, code, weight);
      if (!glyph) continue;
      const figure = tabular && code >= 0x30 && code <= 0x39;
      const advance = figure ? figures : glyph.advance;
      yield { glyph, code, advance, shift: (advance - glyph.advance) / 2 };
    }
  }

  /** A letter without its mark, or a box, for what the font does not have. */
  #glyph(character: string, code: number, weight: 400 | 700): Glyph | undefined {
    const known = font().glyph(code, weight);
    if (known) return known;
    if (UNSEEN.test(character)) return undefined;
    if (this.#missing.size < MOST_MISSING) this.#missing.add(character);
    const base = character.normalize('NFKD').codePointAt(0)!;
    return font().glyph(base, weight) ?? BOX;
  }
}

interface Placed {
  readonly glyph: Glyph;
  readonly code: number;
  readonly advance: number;
  readonly shift: number;
}

const rectangle = (left: number, bottom: number, right: number, top: number): Float32Array =>
  Float32Array.from([left, bottom, 1, left, top, 1, right, top, 1, right, bottom, 1]);
const BOX: Glyph = {
  advance: 0.62,
  contours: [
    rectangle(0.08, 0, 0.54, 0.7),
    Float32Array.from([0.13, 0.05, 1, 0.49, 0.05, 1, 0.49, 0.65, 1, 0.13, 0.65, 1]),
  ],
};

/** Quadratic curves of TrueType: between two points off the line lies one on it. */
function trace(outline: Outline, { contours }: Glyph, x: number, y: number, size: number): void {
  for (const points of contours) {
    const count = points.length / 3;
    const at = (index: number) => {
      const place = (index % count) * 3;
      return [x + points[place]! * size, y - points[place + 1]! * size, points[place + 2] === 1] as const;
    };
    let first = 0;
    while (first < count && !at(first)[2]) first++;
    // Without a point on the line it begins between the first two.
    const [ax, ay] = at(0);
    const [bx, by] = at(1);
    const start = first < count ? at(first) : ([(ax + bx) / 2, (ay + by) / 2, true] as const);
    outline.move(start[0], start[1]);
    const from = first < count ? first + 1 : 1;
    for (let step = 0; step < count; step++) {
      const [px, py, on] = at(from + step);
      if (on) {
        outline.line(px, py);
        continue;
      }
      const [nx, ny, next] = step === count - 1 ? start : at(from + step + 1);
      if (next) {
        outline.quad(px, py, nx, ny);
        step++;
      } else outline.quad(px, py, (px + nx) / 2, (py + ny) / 2);
    }
    outline.close();
  }
}
