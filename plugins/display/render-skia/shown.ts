/** A surface as it is on the screen: its fade, what is painted of it, and when it looks different next. */

import { intersection, quantised, type Rect } from '@device-core/plugin-api/scene';
import { LAYERS, type Surface, type Surroundings } from '@device-core/plugin-api/services/renderer';
import { build, clipTo, type Look, layered, tickAfter, tickOf } from './build.ts';
import { type Matrix, placed, reach } from './geometry.ts';
import { boundsOf, type Layer, type Painted } from './items.ts';

interface Fade {
  readonly from: number;
  readonly to: number;
  readonly since: number;
  readonly ms: number;
  /** Former picture, which the fade covers. */
  readonly former: readonly Painted[];
}

const FORMER = 'former picture';
/** Shadows of the Core's own surfaces reach beyond their boxes, by so many units at most. */
const BEYOND = 224;
const RIGHT_TO_LEFT: ReadonlySet<string> = new Set(['Arab', 'Hebr', 'Syrc', 'Thaa', 'Nkoo', 'Adlm']);

export class Shown {
  surface: Surface;
  /** It has to be looked at again. */
  dirty = true;
  /** Monotonic milliseconds at which it looks different by itself. */
  next = Number.POSITIVE_INFINITY;
  /** There is a character in it, and it speaks. */
  acts = false;
  speaks = false;
  /** Last painted layer; undefined while the surface is not seen. */
  painted: Layer | undefined;
  #fade: Fade | undefined;

  constructor(surface: Surface, now: number) {
    this.surface = surface;
    if (surface.fadeMs !== undefined && surface.fadeMs > 0)
      this.#fade = { from: 0, to: surface.opacity ?? 1, since: now, ms: surface.fadeMs, former: [] };
  }

  /** Another scene, another place. */
  change(surface: Surface, now: number): void {
    const { fadeMs = 0, scene } = surface;
    const fresh = scene !== this.surface.scene && surface.since !== this.surface.since;
    const opacity = surface.opacity ?? 1;
    const alpha = this.#alphaAt(now);
    if (fadeMs > 0 && fresh && this.painted !== undefined)
      this.#fade = { from: 0, to: opacity, since: now, ms: fadeMs, former: withoutFormer(this.painted.items) };
    else if (fadeMs > 0 && alpha !== opacity)
      this.#fade = { from: alpha, to: opacity, since: now, ms: fadeMs, former: [] };
    else if (opacity !== (this.surface.opacity ?? 1) || this.surface.hidden !== surface.hidden) this.#fade = undefined;
    this.surface = surface;
    this.dirty = true;
  }

  /** Whole pixels that it may reach. */
  area(base: Matrix, panel: Rect): Rect {
    const { x, y, w, h } = this.surface.box;
    const more = this.surface.layer === LAYERS.app ? 0 : BEYOND;
    return intersection(reach(base, { x: x - more, y: y - more, w: w + 2 * more, h: h + 2 * more }), panel);
  }

  /** Layer of the surface now. */
  look(base: Matrix, look: Look): Layer | undefined {
    const { surface } = this;
    const { w, h } = surface.box;
    const matrix = placed(base, surface.box);
    // Nothing of an app is seen outside of its box.
    const clip = surface.layer === LAYERS.app ? clipTo(matrix, w, h, 0, undefined) : undefined;
    const built = build(surface.scene, surface.since, { matrix, w, h, clip }, look);
    this.next = built.next;
    this.acts = built.acts;
    this.speaks = built.speaks;
    const alpha = quantised('opacity', this.#alphaAt(tickOf(look.now, look.step)));
    const solid = built.items[0]?.kind === 'item' && built.items[0].cover !== undefined;
    const items = [...this.#former(alpha, solid), ...layered('surface', alpha, alpha > 0 ? built.items : [])];
    if (this.#fade !== undefined) this.next = Math.min(this.next, tickAfter(look.now, look.step));
    const bounds = boundsOf(items);
    return bounds && { kind: 'layer', id: surface.id, alpha: 1, items, bounds };
  }

  /** Former picture: a solid one is covered by the fade; through any other it would be seen to the end, so it fades out. */
  #former(alpha: number, solid: boolean): readonly Painted[] {
    if (this.#fade === undefined) return [];
    const { former, to } = this.#fade;
    return to === 0 ? [] : layered(FORMER, solid ? 1 : quantised('opacity', 1 - alpha / to), former);
  }

  #alphaAt(now: number): number {
    const opacity = this.surface.opacity ?? 1;
    if (this.#fade === undefined) return opacity;
    const { from, to, since, ms } = this.#fade;
    const share = (now - since) / ms;
    if (share < 1) return from + (to - from) * Math.max(0, share);
    this.#fade = undefined;
    return opacity;
  }
}

/** Items without a former picture: a fading picture is replaced by its new part alone. */
const withoutFormer = (items: readonly Painted[]): readonly Painted[] =>
  items.filter((item) => item.kind === 'item' || item.id !== FORMER);

/** Milliseconds between two frames of a surface. */
export const stepOf = ({ fps }: Surroundings, own: number | undefined): number =>
  1_000 / Math.max(1, Math.min(fps, own ?? fps));

/** The way of a text that has no letters. */
export function directionIn(locale: string): 'ltr' | 'rtl' {
  try {
    return RIGHT_TO_LEFT.has(new Intl.Locale(locale).maximize().script ?? '') ? 'rtl' : 'ltr';
  } catch (error) {
    if (error instanceof RangeError) return 'ltr'; // it is no language
    throw error;
  }
}
