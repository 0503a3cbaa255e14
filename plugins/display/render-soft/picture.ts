/** The tree as pixels: what changed since the last look is painted anew. */

import {
  type CharacterNode,
  type CharacterPicture,
  characterNodes,
  intersection,
  joinRects,
  Mouth,
  type Rect,
} from '@device-core/plugin-api/scene';
import type { PixelFormat } from '@device-core/plugin-api/services/panel';
import type { Surface, SurfaceCost, Surroundings } from '@device-core/plugin-api/services/renderer';
import { Canvas } from './paint/canvas.ts';
import { inkOf } from './paint/ink.ts';
import { differences, type Look, lookOf, scaleOf } from './paint/look.ts';
import { Painter } from './paint/painter.ts';
import type { Texts } from './paint/text.ts';
import { fading, opacityOf, type Tree } from './tree.ts';

/** After the id of a surface: its former picture, while the new one fades in over it. */
const FORMER = '\n';

export interface Times {
  /** Monotonic, and of the day. */
  readonly now: number;
  readonly wall: number;
}

export class Picture {
  readonly canvas: Canvas;
  readonly mouth = new Mouth();
  readonly #texts: Texts;
  readonly #painter = new Painter();
  #looks: readonly Look[] = [];
  #surroundings: Surroundings | undefined;
  #costs = new Map<string, SurfaceCost>();

  constructor(size: { readonly width: number; readonly height: number }, texts: Texts) {
    this.canvas = new Canvas(size.width, size.height);
    this.#texts = texts;
  }

  /** Monotonic milliseconds at which it looks different by itself. */
  get next(): number {
    return this.#looks.reduce((least, { next }) => Math.min(least, next), Number.POSITIVE_INFINITY);
  }

  /** Looks at the tree, and answers where the picture is not what it should be; all of it where `whole`. Nothing is painted yet. */
  look(tree: Tree, { now, wall }: Times, whole: boolean): readonly Rect[] {
    const { surroundings } = tree;
    const before = new Map(this.#looks.map((one) => [one.id, one]));
    const anew = whole || surroundings !== this.#surroundings;
    this.#surroundings = surroundings;
    const scale = scaleOf(this.canvas);
    const character = (node: CharacterNode, w: number, h: number) => this.#character(tree, node, { now, w, h });
    const moment = { now, wall, surroundings, scale, texts: this.#texts, character };
    const seen = tree.surfaces.flatMap((standing) => {
      const { surface, fade } = standing;
      if (surface.hidden) return [];
      const lookAt = (one: Surface, opacity: number, at: number): Look => {
        const began = performance.now();
        const former = anew ? undefined : before.get(one.id);
        const look = lookOf(one, former, { ...moment, now: at }, Math.round(opacity * 255) / 255);
        this.#spend(look.id, performance.now() - began, 0);
        return look;
      };
      const look = lookAt(surface, opacityOf(standing, now), now);
      if (!fade || !fading(standing, now)) return [look];
      const next = Math.min(look.next, now + 1_000 / surroundings.fps);
      if (!fade.former) return [{ ...look, next }];
      // It stands still while it goes.
      const former = lookAt({ ...fade.former, id: surface.id + FORMER }, fade.former.opacity ?? 1, fade.began);
      return [
        { ...former, next: Number.POSITIVE_INFINITY },
        { ...look, next },
      ];
    });
    const size = this.canvas.whole;
    const looks = seen.map((look, index): Look => {
      const area = intersection(look.bounds, size);
      const covered = seen.slice(index + 1).some((above) => this.#covers(above, area));
      return covered ? { ...look, covered, next: Number.POSITIVE_INFINITY } : look;
    });
    const changed = anew ? [this.canvas.whole] : changes(this.#looks, looks);
    this.#looks = looks;
    return joinRects(changed.map((rect) => intersection(rect, this.canvas.whole)));
  }

  paint(rects: readonly Rect[]): void {
    for (const rect of rects) this.canvas.within(rect, () => this.#paintAll(this.canvas, this.#looks));
    for (const { id, bounds } of this.#looks)
      if (rects.some((rect) => intersection(rect, bounds).w > 0)) this.#spend(id, 0, 1);
  }

  #character(
    { figure, pose, surroundings }: Tree,
    { state, expression }: CharacterNode,
    { now, w, h }: { readonly now: number; readonly w: number; readonly h: number },
  ): CharacterPicture {
    if (!figure) return { nodes: [] };
    const { shape, next } = this.mouth.at(now);
    const { reducedMotion } = surroundings;
    const own = { state: state ?? pose.state, expression: expression ?? pose.expression, mouth: shape };
    const { nodes, next: moves = Number.POSITIVE_INFINITY } = characterNodes(figure, {
      ...pose,
      ...own,
      at: now,
      w,
      h,
      reducedMotion,
    });
    const soon = Math.min(moves, own.state === 'speaking' ? (next ?? moves) : moves);
    return soon === Number.POSITIVE_INFINITY ? { nodes } : { nodes, next: soon };
  }

  /** One surface alone on its ground. */
  alone(surface: string): Canvas | undefined {
    const look = this.#looks.find(({ id }) => id === surface);
    if (!look) return undefined;
    const canvas = new Canvas(this.canvas.width, this.canvas.height);
    this.#paintAll(canvas, [{ ...look, opacity: 1 }]);
    return canvas;
  }

  costs(): readonly SurfaceCost[] {
    const costs = [...this.#costs.values()];
    this.#costs = new Map();
    return costs;
  }

  #paintAll(canvas: Canvas, looks: readonly Look[]): void {
    const { theme, plain } = this.#surroundings!;
    const palette = { theme, plain, texts: this.#texts };
    // Surfaces below an opaque one that fills the clip are not seen.
    const lowest = looks.findLastIndex((look) => this.#covers(look, canvas.clip));
    if (lowest < 0) {
      const { x, y, w, h } = canvas.clip;
      canvas.fillBox(x, y, w, h, inkOf(theme, '@background', { w, h }, [1, 0, 0, 1, 0, 0]));
    }
    for (const look of looks.slice(Math.max(0, lowest))) {
      const began = performance.now();
      this.#painter.paint(canvas, look, palette);
      this.#spend(look.id, performance.now() - began, 0);
    }
  }

  #covers({ box, opacity, scene }: Look, { x, y, w, h }: Rect): boolean {
    if (opacity < 1 || box.x > x || box.y > y || box.x + box.w < x + w || box.y + box.h < y + h) return false;
    const ink = inkOf(this.#surroundings!.theme, scene.background ?? '@surface', box, [1, 0, 0, 1, 0, 0]);
    return ink.kind === 'solid' ? ink.alpha === 255 : ink.alpha.every((alpha) => alpha === 255);
  }

  #spend(look: string, ms: number, frames: number): void {
    const [surface = look] = look.split(FORMER);
    const { cpuMs = 0, frames: many = 0 } = this.#costs.get(surface) ?? {};
    this.#costs.set(surface, { surface, cpuMs: cpuMs + ms, frames: many + frames });
  }
}

function changes(before: readonly Look[], after: readonly Look[]): readonly Rect[] {
  const were = new Map(before.map((look, index) => [look.id, { look, index }]));
  const changed: Rect[] = [];
  let order = -1;
  for (const look of after) {
    const former = were.get(look.id);
    were.delete(look.id);
    // A covered surface needs no paint; the one above it was painted when it came.
    if (look.covered) continue;
    if (!former || former.look.covered) changed.push(look.bounds);
    else {
      changed.push(...differences(former.look, look));
      if (former.index < order) changed.push(look.bounds);
      order = Math.max(order, former.index);
    }
  }
  for (const { look } of were.values()) if (!look.covered) changed.push(look.bounds);
  return changed;
}

/** Rows of the rectangles in the format of a panel; 16 bits with ordered dither, so that gradients have no bands. */
export function pixelsOf(canvas: Canvas, rects: readonly Rect[], format: PixelFormat, light: number): Uint8Array {
  const count = rects.reduce((sum, { w, h }) => sum + w * h, 0);
  const out = format === 'rgb565' ? new Uint16Array(count) : new Uint32Array(count);
  let to = 0;
  for (const { x, y, w, h } of rects)
    for (let row = y; row < y + h; row++) {
      const from = row * canvas.width + x;
      const line = canvas.pixels.subarray(from, from + w);
      if (format === 'xrgb8888') out.set(line, to);
      const dimmed = light < 1 ? out.subarray(to, to + w) : undefined;
      if (format === 'rgb565') dithered(line, out.subarray(to, to + w) as Uint16Array, { x, y: row }, light);
      else
        dimmed?.forEach((value, at) => {
          dimmed[at] = dim(value, light);
        });
      to += w;
    }
  return new Uint8Array(out.buffer);
}

const dim = (value: number, light: number): number =>
  (Math.round((value >> 16) * light) << 16) |
  (Math.round(((value >> 8) & 255) * light) << 8) |
  Math.round((value & 255) * light);

const BAYER = [0, 8, 2, 10, 12, 4, 14, 6, 3, 11, 1, 9, 15, 7, 13, 5];

function dithered(
  from: Uint32Array,
  to: Uint16Array,
  { x, y }: { readonly x: number; readonly y: number },
  light: number,
): void {
  for (let at = 0; at < from.length; at++) {
    const value = light < 1 ? dim(from[at]!, light) : from[at]!;
    // Sixteenths of what the panel can tell apart; pure values stay as they are.
    const more = BAYER[((y & 3) << 2) | ((x + at) & 3)]!;
    const red = ((((value >> 16) & 255) * 31 * 16) / 255 + more) >> 4;
    const green = ((((value >> 8) & 255) * 63 * 16) / 255 + more) >> 4;
    const blue = (((value & 255) * 31 * 16) / 255 + more) >> 4;
    to[at] = (red << 11) | (green << 5) | blue;
  }
}
