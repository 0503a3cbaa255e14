/** Lines of text: laid out once, and kept until text, width, font or scale change. */

import { directionOf, layoutText, type TextNode, type TextRole } from '@device-core/plugin-api/scene';
import type { Surroundings, TextQuestion, TextSize } from '@device-core/plugin-api/services/renderer';
import type { Context } from './canvas.ts';
import { canvasOf } from './canvas.ts';
import type { Fonts } from './fonts.ts';

export interface TextStyle {
  /** As a canvas has it. */
  readonly font: string;
  readonly tracking: number;
  readonly tabular: boolean;
  readonly size: number;
  readonly line: number;
  /** Units from the top of a line to its foot. */
  readonly baseline: number;
}

export interface Lines {
  readonly style: TextStyle;
  readonly lines: readonly { readonly text: string; readonly width: number }[];
  readonly dir: 'ltr' | 'rtl';
  readonly cut: boolean;
  readonly width: number;
  readonly height: number;
}

type Asked = Pick<TextQuestion, 'role' | 'size' | 'weight' | 'font' | 'tabular'>;
type Drawn = Pick<Surroundings, 'theme' | 'textScale'>;
interface Bounds {
  readonly width?: number | undefined;
  readonly lines?: number | undefined;
  readonly dir?: 'auto' | 'ltr' | 'rtl' | undefined;
  readonly otherwise: 'ltr' | 'rtl';
}

const LINE = 1.3;
const MOST_KEPT = 512;
const MOST_WIDTHS = 4_096;
/** Longer pieces are rarely measured twice. */
const MOST_PIECE = 64;

export class Texts {
  readonly #fonts: Fonts;
  readonly #kept = new Map<string, Lines>();
  readonly #widths = new Map<string, number>();
  #context: Context | undefined;

  constructor(fonts: Fonts) {
    this.#fonts = fonts;
  }

  style({ role, size, weight, font, tabular = false }: Asked, { theme, textScale }: Drawn): TextStyle {
    const type = theme.type[role ?? ('body' satisfies TextRole)];
    const own = size === undefined || role !== undefined ? type : undefined;
    const units = (size ?? type.size) * textScale;
    const face = this.#fonts.face(font ?? theme.font);
    const line = own === undefined ? units * LINE : (own.line / own.size) * units;
    return {
      font: `${weight ?? own?.weight ?? 400} ${units}px ${face.families}`,
      // Letters of an own size narrow as much as they shrink.
      tracking: ((own?.tracking ?? 0) * units) / type.size,
      tabular,
      size: units,
      line,
      baseline: (line + (face.ascent - face.descent) * units) / 2,
    };
  }

  /** `shown` is printable. */
  #lines(shown: string, style: TextStyle, bounds: Bounds): Lines {
    const { width, lines, dir, otherwise } = bounds;
    const key = `${style.font}|${style.line}|${style.tracking}|${style.tabular}|${width}|${lines}|${dir}|${otherwise}|${shown}`;
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const layout = layoutText(shown, bounds, (piece) => this.#width(piece, style));
    const made: Lines = {
      style,
      ...layout,
      width: layout.lines.reduce((most, one) => Math.max(most, one.width), 0),
      height: layout.lines.length * style.line,
    };
    if (this.#kept.size === MOST_KEPT) this.#kept.delete(this.#kept.keys().next().value!);
    this.#kept.set(key, made);
    return made;
  }

  /** The letters say it, also where no font has them. */
  #directed({ dir, otherwise }: Pick<Bounds, 'dir' | 'otherwise'>, text: string, shown: string): Bounds['dir'] {
    return shown === text || dir === 'ltr' || dir === 'rtl' ? dir : directionOf(text, otherwise);
  }

  /** Lines of a node: as many as it says, or as its box holds. */
  of(node: TextNode, text: string, drawn: Drawn, otherwise: 'ltr' | 'rtl'): Lines {
    // Before its style: a font may be opened for it.
    const shown = this.#fonts.printable(text);
    const style = this.style(node, drawn);
    const held = node.h === undefined ? 1 : Math.max(1, Math.floor((node.h + 0.5) / style.line));
    const lines = node.lines === undefined ? held : node.h === undefined ? node.lines : Math.min(node.lines, held);
    const dir = this.#directed({ dir: node.dir, otherwise }, text, shown);
    return this.#lines(shown, style, { width: node.w, lines, dir, otherwise });
  }

  measure(question: TextQuestion, drawn: Drawn, otherwise: 'ltr' | 'rtl'): TextSize {
    const { text, width, lines } = question;
    const shown = this.#fonts.printable(text);
    const dir = this.#directed({ otherwise }, text, shown);
    const laid = this.#lines(shown, this.style(question, drawn), { width, lines, dir, otherwise });
    const size = { width: laid.width, height: laid.height, lines: laid.lines.length, cut: laid.cut };
    const missing = shown === text ? 0 : this.#fonts.missingIn(text);
    return missing > 0 ? { ...size, missing } : size;
  }

  #width(piece: string, style: TextStyle): number {
    const key = `${style.font}|${style.tracking}|${style.tabular}|${piece}`;
    const known = this.#widths.get(key);
    if (known !== undefined) return known;
    this.#context ??= canvasOf(1, 1, false)[1];
    use(this.#context, style);
    const { width } = this.#context.measureText(piece);
    if (piece.length <= MOST_PIECE) {
      if (this.#widths.size === MOST_WIDTHS) this.#widths.clear();
      this.#widths.set(key, width);
    }
    return width;
  }
}

/** Sets the canvas to draw it. */
export function use(context: Context, { font, tracking, tabular }: TextStyle): void {
  context.font = font;
  context.lang = 'en';
  context.letterSpacing = `${tracking}px`;
  context.fontVariantNumeric = tabular ? 'tabular-nums' : 'normal';
}
