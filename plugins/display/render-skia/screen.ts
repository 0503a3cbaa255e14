/** One opening of the renderer: its canvas, its clock, and the frames that go to the panel. */

import type { Clock, Scope } from '@device-core/plugin-api';
import { intersection, joinRects, PANEL_UNITS, type Rect, resolveColour } from '@device-core/plugin-api/scene';
import type { PanelFrame } from '@device-core/plugin-api/services/panel';
import type { AudioLevel, Opening, Surface } from '@device-core/plugin-api/services/renderer';
import { EMPTY_TREE, type Tree } from '../shared/tree.ts';
import { Actor } from './actor.ts';
import { due, type Look } from './build.ts';
import { type Canvas, type Context, canvasOf } from './canvas.ts';
import { type Matrix, within } from './geometry.ts';
import type { Images } from './images.ts';
import { differences, type Layer, type Painted } from './items.ts';
import { Painter } from './paint.ts';
import { bytesOf, convert } from './pixels.ts';
import { Costs, cpuMs } from './report.ts';
import { directionIn, Shown, stepOf } from './shown.ts';
import type { Texts } from './text.ts';

const MOST_RECTS = 8;
/** A panel that has not answered after this is taken for one that failed. */
const PRESENT_MS = 2_000;
const [LEAST_PAUSE_MS, MOST_PAUSE_MS] = [250, 8_000];
/** Longer waits need not keep to the beat of the panel. */
const BEAT_MS = 500;
const NEVER = Number.POSITIVE_INFINITY;

export interface Parts {
  readonly scope: Scope & AsyncDisposable;
  readonly clock: Clock;
  readonly texts: Texts;
  readonly images: Images;
  /** Characters without a font that were not told yet. */
  missing(): readonly string[];
  /** A frame could not be handed on. */
  failed(error: unknown): void;
}

export class Screen {
  readonly #opening: Opening;
  readonly #parts: Parts;
  readonly #panel: Rect;
  readonly #base: Matrix;
  readonly #canvas: Canvas;
  readonly #context: Context;
  readonly #painter: Painter;
  readonly #shown = new Map<string, Shown>();
  readonly #costs: Costs;
  readonly #actor = new Actor();
  #tree: Tree = EMPTY_TREE;
  /** Layers on the canvas, from below. */
  #last: readonly Layer[] = [];
  #whole = true;
  #dirty = false;
  #paused = false;
  #closed = false;
  #sending = false;
  #seq = 0;
  #painted = Number.NEGATIVE_INFINITY;
  /** When it was last looked for something to paint. */
  #looked = Number.NEGATIVE_INFINITY;
  /** When a frame is seen, as the panel says. */
  #beat: number | undefined;
  #pauseMs = 0;
  #notBefore = Number.NEGATIVE_INFINITY;
  #timer: { readonly at: number; readonly handle: Disposable } | undefined;

  constructor(opening: Opening, parts: Parts) {
    this.#opening = opening;
    this.#parts = parts;
    const { width, height } = opening.panel;
    this.#panel = { x: 0, y: 0, w: width, h: height };
    const scale = Math.min(width, height) / PANEL_UNITS;
    this.#base = [scale, 0, 0, scale, (width - PANEL_UNITS * scale) / 2, (height - PANEL_UNITS * scale) / 2];
    [this.#canvas, this.#context] = canvasOf(width, height, true);
    this.#costs = new Costs(parts.clock, (costs) => {
      if (!this.#closed) opening.report({ ...costs, missingGlyphs: parts.missing() });
    });
    this.#painter = new Painter(width, height, parts.images);
  }

  get tree(): Tree {
    return this.#tree;
  }

  /** Number of the first frame that shows it. */
  show(tree: Tree): number {
    const now = this.#parts.clock.monotonic();
    const before = this.#tree;
    this.#tree = tree;
    if (tree.surroundings !== before.surroundings) this.refresh();
    if (this.#actor.act(tree.pose, tree.figure, now))
      for (const shown of this.#shown.values()) shown.dirty ||= shown.acts || before.figure === undefined;
    const gone = new Set(this.#shown.keys());
    for (const surface of tree.surfaces) {
      gone.delete(surface.id);
      const shown = this.#shown.get(surface.id);
      if (shown === undefined) this.#shown.set(surface.id, new Shown(surface, now));
      else if (shown.surface !== surface) shown.change(surface, now);
    }
    for (const id of gone) this.#shown.delete(id);
    this.#dirty = true;
    this.#arm();
    return this.#seq + 1;
  }

  /** Everything is looked at again: an image came, the theme changed. */
  refresh(surface?: string): void {
    if (surface === undefined) {
      this.#whole = true;
      for (const shown of this.#shown.values()) shown.dirty = true;
    } else {
      const shown = this.#shown.get(surface);
      if (shown !== undefined) shown.dirty = true;
    }
    this.#dirty = true;
    this.#arm();
  }

  /** Those that show it are looked at again. */
  picture(name: string): void {
    for (const [id, { surface }] of this.#shown) if (shows(surface, name)) this.refresh(id);
  }

  /** The mouth shows them when they are heard. */
  levels(levels: readonly AudioLevel[]): void {
    const [first] = levels;
    if (first === undefined) return;
    this.#actor.mouth.take(levels);
    for (const shown of this.#shown.values()) if (shown.speaks) shown.next = Math.min(shown.next, first.at);
    this.#arm();
  }

  pause(paused: boolean): void {
    if (this.#paused === paused) return;
    this.#paused = paused;
    this.#whole = true;
    this.#arm();
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#arm();
    this.#costs.close();
    await this.#parts.scope[Symbol.asyncDispose]();
  }

  /** PNG of everything, or of one surface. */
  async snapshot(id?: string): Promise<Uint8Array> {
    const { width, height } = this.#opening.panel;
    const [canvas, context] = canvasOf(width, height, true);
    const layers: Layer[] = [];
    for (const shown of this.#inOrder()) {
      if (id !== undefined ? shown.surface.id !== id : !visible(shown.surface)) continue;
      const layer = new Shown({ ...shown.surface, fadeMs: 0 }, 0).look(this.#base, this.#look(shown.surface));
      if (layer !== undefined) layers.push(layer);
    }
    this.#area(context, layers, this.#panel);
    return await canvas.encode('png');
  }

  #inOrder(): Shown[] {
    return this.#tree.surfaces.map(({ id }) => this.#shown.get(id)!);
  }

  #look({ id, fps }: Surface): Look {
    const { clock, texts, images } = this.#parts;
    const { surroundings } = this.#tree;
    return {
      surroundings,
      texts,
      actor: this.#actor,
      otherwise: directionIn(surroundings.locale),
      now: clock.monotonic(),
      wall: clock.now(),
      step: stepOf(surroundings, fps),
      panel: this.#panel,
      surface: id,
      turnOf: (picture) => images.turnOf(picture),
    };
  }

  /** One timer, for the next change of anything that is seen; none where nothing changes. */
  #arm(): void {
    const at = this.#due();
    if (this.#timer?.at === at) return;
    this.#timer?.handle[Symbol.dispose]();
    this.#timer = at === NEVER ? undefined : { at, handle: this.#parts.clock.at(at, () => this.#tick()) };
  }

  #due(): number {
    if (this.#closed || this.#paused || this.#sending) return NEVER;
    let next = this.#dirty || this.#whole ? Number.NEGATIVE_INFINITY : NEVER;
    for (const shown of this.#shown.values()) if (visible(shown.surface)) next = Math.min(next, shown.next);
    if (next === NEVER) return NEVER;
    const now = this.#parts.clock.monotonic();
    const soon = Math.max(
      next,
      this.#notBefore,
      this.#looked + 1,
      this.#painted + stepOf(this.#tree.surroundings, undefined) - 1,
    );
    if (this.#beat === undefined || soon <= now || soon - this.#beat > BEAT_MS) return Math.max(soon, now);
    // Right after a picture is seen there is most time for the next.
    const period = 1_000 / Math.max(1, this.#opening.panel.refresh);
    return Math.max(soon, this.#beat + Math.ceil((soon - this.#beat) / period - 0.1) * period);
  }

  #tick(): void {
    this.#timer = undefined;
    this.#frame();
    this.#arm();
  }

  #frame(): void {
    const began = cpuMs();
    this.#looked = this.#parts.clock.monotonic();
    this.#dirty = false;
    const after = this.#compose();
    const rects: Rect[] = [];
    if (this.#whole) rects.push(this.#panel);
    else differencesOf(this.#last, after, rects);
    const before = this.#last;
    this.#last = after;
    const areas = joinRects(
      rects.map((rect) => intersection(rect, this.#panel)),
      MOST_RECTS,
    );
    if (areas.length === 0) return;
    this.#whole = false;
    this.#painted = this.#parts.clock.monotonic();
    const composed = cpuMs();
    for (const area of areas) this.#area(this.#context, after, area);
    const frame = this.#read(areas);
    const pixels = areas.reduce((sum, { w, h }) => sum + w * h, 0);
    const done = cpuMs();
    this.#costs.frame(done - began, done - composed, pixels, changedIn(before, after, areas));
    this.#send(frame);
    this.#costs.report();
  }

  /** Visible layers of each surface, from below; surfaces hidden by others are left as they were. */
  #compose(): readonly Layer[] {
    const now = this.#parts.clock.monotonic();
    const covers: Rect[] = [];
    const layers: Layer[] = [];
    for (const shown of this.#inOrder().reverse()) {
      const { surface } = shown;
      const area = shown.area(this.#base, this.#panel);
      if (!visible(surface) || covers.some((cover) => within(area, cover))) {
        shown.dirty = true;
        shown.painted = undefined;
        shown.next = NEVER;
        continue;
      }
      if (shown.dirty || due(shown.next, now, stepOf(this.#tree.surroundings, surface.fps))) {
        const began = cpuMs();
        shown.dirty = false;
        shown.painted = shown.look(this.#base, this.#look(surface));
        this.#costs.surface(surface.id, cpuMs() - began);
      }
      if (shown.painted === undefined) continue;
      layers.push(shown.painted);
      for (const item of shown.painted.items) if (item.kind === 'item' && item.cover) covers.push(item.cover);
    }
    return layers.reverse();
  }

  /** Paints an area anew, from the highest thing that hides all below it. */
  #area(context: Context, layers: readonly Layer[], area: Rect): void {
    const { surroundings } = this.#tree;
    const items: Painted[] = layers.flatMap((layer) => layer.items);
    const first = items.findLastIndex((item) => item.kind === 'item' && item.cover && within(area, item.cover));
    const { x, y, w, h } = area;
    context.save();
    if (first < 0) {
      context.fillStyle = resolveColour(surroundings.theme, '@background');
      context.fillRect(x, y, w, h);
    }
    this.#painter.paint(context, items.slice(Math.max(0, first)), area, surroundings);
    if (surroundings.light < 1) {
      context.globalAlpha = 1 - surroundings.light;
      context.fillStyle = '#000000';
      context.fillRect(x, y, w, h);
    }
    context.restore();
  }

  #read(rects: readonly Rect[]): PanelFrame {
    const { format } = this.#opening.panel;
    const size = rects.reduce((sum, { w, h }) => sum + bytesOf(w * h, format), 0);
    const pixels = new Uint8Array(size);
    let at = 0;
    for (const rect of rects) {
      const { data } = this.#context.getImageData(rect.x, rect.y, rect.w, rect.h);
      convert(data, rect, format, pixels, at);
      at += bytesOf(rect.w * rect.h, format);
    }
    this.#seq += 1;
    return { seq: this.#seq, rects, pixels };
  }

  /** One at a time: what changes meanwhile is in the next. */
  #send(frame: PanelFrame): void {
    this.#sending = true;
    const { scope, clock } = this.#parts;
    scope
      .within('a frame on the panel', PRESENT_MS, () => this.#opening.present(frame))
      .then(
        ({ at }) => {
          this.#beat = at;
          this.#pauseMs = 0;
        },
        (error: unknown) => {
          if (this.#closed) return;
          // Content of the glass is unknown: the next frame is whole, after a pause.
          this.#whole = true;
          this.#beat = undefined;
          this.#pauseMs = Math.min(MOST_PAUSE_MS, Math.max(LEAST_PAUSE_MS, this.#pauseMs * 2));
          this.#notBefore = clock.monotonic() + this.#pauseMs;
          this.#parts.failed(error);
        },
      )
      .finally(() => {
        this.#sending = false;
        this.#arm();
      });
  }
}

const visible = ({ hidden, opacity = 1, fadeMs = 0 }: Surface): boolean =>
  hidden !== true && (opacity > 0 || fadeMs > 0);

function differencesOf(before: readonly Layer[], after: readonly Layer[], rects: Rect[]): void {
  differences(before, after, rects);
}

/** Surfaces that are new in a frame, by the pixels of it that are theirs. */
function changedIn(
  before: readonly Layer[],
  after: readonly Layer[],
  areas: readonly Rect[],
): ReadonlyMap<string, number> {
  const old = new Set(before);
  const shares = new Map<string, number>();
  for (const layer of after) {
    if (old.has(layer) || layer.id === undefined) continue;
    let pixels = 0;
    for (const area of areas) {
      const { w, h } = intersection(area, layer.bounds);
      if (w > 0 && h > 0) pixels += w * h;
    }
    shares.set(layer.id, pixels);
  }
  return shares;
}

function shows(surface: Surface, name: string): boolean {
  return JSON.stringify(surface.scene.nodes).includes(JSON.stringify(name));
}
