/** Which surfaces are cards: laid out by the theme, and again when theme, text scale, language, renderer or page are others. */
import { CoreError, maybe } from '@device-core/plugin-api';
import { type Card, checkCard, checkScene, isCard, type Scene, TYPE } from '@device-core/plugin-api/scene';
import type { SurfaceInput } from '@device-core/plugin-api/services/display';
import type { Surroundings, TextQuestion, TextSize } from '@device-core/plugin-api/services/renderer';
import { cardScene, turnedPage } from '../shared/cards/index.ts';

/** Width of a letter as a share of its size, while there is no renderer to ask. */
const LETTER = 0.55;

export interface CardWorld {
  readonly surroundings: Surroundings;
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Rejects with PANEL_UNAVAILABLE. */
  measure(texts: readonly TextQuestion[]): Promise<readonly TextSize[]>;
}

export interface Drawn {
  readonly scene: Scene;
  /** Source card, if the drawing came from one. */
  readonly card?: Card;
}

interface Row {
  readonly card: Card;
  page: number;
}

export class Cards {
  readonly #rows = new Map<string, Row>();
  readonly #world: () => CardWorld;
  readonly #redraw: (surface: string, scene: Scene) => void;

  /** `redraw` puts another scene into a surface that is there. */
  constructor(world: () => CardWorld, redraw: (surface: string, scene: Scene) => void) {
    this.#world = world;
    this.#redraw = redraw;
  }

  /** Turns a given scene or card into a scene. Throws SCENE_INVALID. */
  async draw(value: unknown, what: string): Promise<Drawn> {
    if (!isCard(value)) return { scene: checkScene(value, what) };
    const card = checkCard(value, what);
    return { scene: await this.#laidOut(card), card };
  }

  has(surface: string): boolean {
    return this.#rows.has(surface);
  }

  /** Remembers the card of a surface in the tree, or forgets it. */
  keep(surface: string, card: Card | undefined): void {
    if (card) this.#rows.set(surface, { card, page: 0 });
    else this.#rows.delete(surface);
  }

  forget(surface: string): void {
    this.#rows.delete(surface);
  }

  async again(): Promise<void> {
    for (const [surface, row] of [...this.#rows]) await this.#show(surface, row);
  }

  /** True where the input turned a page; the owner of the card then gets no input. */
  turned(surface: string, scene: Scene, input: SurfaceInput): boolean {
    const row = this.#rows.get(surface);
    const page = row && turnedPage(scene, input);
    if (!row || page === undefined) return false;
    const turned = page > row.page ? 'further' : 'back';
    row.page = page;
    void this.#show(surface, row, turned);
    return true;
  }

  async #show(surface: string, row: Row, turned?: 'further' | 'back'): Promise<void> {
    const { page } = row;
    const scene = await this.#laidOut(row.card, page, turned);
    if (this.#rows.get(surface) === row && row.page === page) this.#redraw(surface, scene);
  }

  #laidOut(card: Card, page = 0, turned?: 'further' | 'back'): Promise<Scene> {
    const world = this.#world();
    const { theme, textScale, locale } = world.surroundings;
    const measure = async (texts: readonly TextQuestion[]): Promise<readonly TextSize[]> => {
      try {
        return await world.measure(texts);
      } catch (error) {
        // It is laid out again when there is a renderer.
        if (error instanceof CoreError) return texts.map((text) => roughly(text, textScale));
        throw error;
      }
    };
    return cardScene(card, { theme, textScale, locale, measure, now: world.now(), page, ...maybe({ turned }) });
  }
}

function roughly(
  { text, role = 'body', size, width = Number.POSITIVE_INFINITY, lines }: TextQuestion,
  scale: number,
): TextSize {
  const style = TYPE[role];
  const letter = (size ?? style.size) * scale;
  const whole = [...text].length * letter * LETTER;
  const wanted = Math.max(1, Math.ceil(whole / width));
  const used = Math.min(wanted, lines ?? wanted);
  const line = size === undefined ? style.line * scale : letter * 1.4;
  return { width: Math.min(whole, width), height: used * line, lines: used, cut: used < wanted };
}
