/** Parts that templates are built with: texts with their sizes on this device, and rows of them. */
import { maybe } from '../../kits/maybe.ts';
import type { TextQuestion, TextSize } from '../../services/renderer.ts';
import { bindingProblem } from '../bindings.ts';
import { type Colour, SCENE_LIMITS, type SceneNode, type TextNode, type TextRole } from '../scene.ts';
import type { Theme } from '../theme.ts';
import { GRID } from '../theme.ts';
import type { Direction } from './direction.ts';
import type { CardWords } from './words.ts';

export interface BlockQuestion {
  readonly text: string;
  readonly role: TextRole;
  readonly width: number;
  /** Most lines. */
  readonly lines?: number;
  readonly colour?: Colour;
  readonly align?: TextNode['align'];
  readonly weight?: 400 | 700;
  readonly tabular?: boolean;
}

/** A text that was measured. */
export interface Block {
  readonly width: number;
  /** Whole units. */
  readonly height: number;
  readonly lines: number;
  readonly cut: boolean;
  at(x: number, y: number, more?: Partial<TextNode>): TextNode;
}

export interface LayoutOptions {
  readonly theme: Theme;
  readonly textScale: number;
  readonly dir: Direction;
  readonly words: CardWords;
  /** As the screen will be: with this theme and text scale. */
  measure(texts: readonly TextQuestion[]): Promise<readonly TextSize[]>;
}

export class Layout {
  readonly dir: Direction;
  readonly words: CardWords;
  readonly #options: LayoutOptions;

  constructor(options: LayoutOptions) {
    this.#options = options;
    this.dir = options.dir;
    this.words = options.words;
  }

  /** Units between two lines of a role, at this text scale. */
  line(role: TextRole): number {
    return this.#options.theme.type[role].line * this.#options.textScale;
  }

  /** All at once, for the one who measures may be in another thread. What is absent stays absent. */
  async blocks<Q extends readonly (BlockQuestion | undefined)[]>(
    ...questions: Q
  ): Promise<{ [K in keyof Q]: undefined extends Q[K] ? Block | undefined : Block }> {
    const asked = questions.filter((question) => question !== undefined);
    const sizes = await this.#options.measure(
      asked.map(({ text, role, width, lines, weight, tabular }) => ({
        text,
        role,
        width,
        ...maybe({ lines, weight, tabular }),
      })),
    );
    const found = new Map(asked.map((question, index) => [question, sizes[index]]));
    const blocks = questions.map((question) => question && this.#block(question, found.get(question)));
    return blocks as { [K in keyof Q]: undefined extends Q[K] ? Block | undefined : Block };
  }

  /**
   * One line of a role that gets smaller, never larger, until it fits in `width` and `height`: for figures, which
   * nobody can read half of. The size is that before the text scale.
   */
  async fitted(
    text: string,
    role: TextRole,
    box: { readonly width: number; readonly height: number },
    longest = text,
  ): Promise<{ readonly size: number; readonly height: number }> {
    const { theme, textScale } = this.#options;
    const style = theme.type[role];
    const [whole] = await this.#options.measure([{ text: longest, role, tabular: true }]);
    const share = Math.min(1, box.width / Math.max(1, whole?.width ?? 1), box.height / (style.line * textScale));
    // A little less: letters of a size between two of the font's are not exactly as wide as their share.
    const size = Math.max(8, Math.floor(style.size * share * (share < 1 ? 0.97 : 1)));
    return { size, height: Math.ceil((size / style.size) * style.line * textScale) };
  }

  #block(
    { text, role, width, colour, align, weight, tabular, lines: most }: BlockQuestion,
    size: TextSize | undefined,
  ): Block {
    const lines = Math.max(1, size?.lines ?? 1);
    const height = Math.ceil(lines * this.line(role));
    return {
      width: Math.ceil(size?.width ?? width),
      height,
      lines,
      cut: size?.cut ?? false,
      at: (x, y, more) => ({
        kind: 'text',
        x,
        y,
        w: width,
        h: height,
        text: literal(text),
        role,
        lines: most === undefined ? lines : Math.min(most, lines),
        ...maybe({ colour, align, weight, tabular }),
        ...more,
      }),
    };
  }
}

/** Nodes that a template puts at a place, and their height. */
export interface Part {
  readonly nodes: readonly SceneNode[];
  readonly height: number;
}

/** A text with braces that are no binding says what it says. */
export const literal = (text: string): string =>
  bindingProblem(text) === undefined ? text : text.replaceAll('{', '{{').slice(0, SCENE_LIMITS.textUnits);

export const onGrid = (value: number): number => Math.ceil(value / GRID.unit) * GRID.unit;
