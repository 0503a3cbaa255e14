import { type Clock, CoreError, type Logger, reasonOf } from '@device-core/plugin-api';
import { encodePng } from '@device-core/plugin-api/pixels';
import { imageSize } from '@device-core/plugin-api/scene';
import {
  type Opening,
  PLAIN_SURROUNDINGS,
  type Renderer,
  type Surroundings,
  type TextQuestion,
  type TextSize,
  type TreePatch,
} from '@device-core/plugin-api/services/renderer';
import { EMPTY_TREE, patched, type Tree } from '../shared/tree.ts';
import type { Canvas } from './paint/canvas.ts';
import type { Moment } from './paint/painter.ts';
import { styleOf, Texts } from './paint/text.ts';
import { Picture, pixelsOf } from './picture.ts';
import { type Bitmap, decodePng } from './png.ts';

const REPORT_MS = 1_000;
/** A panel that does not answer for so long is asked again, with a whole frame. */
const PRESENT_MS = 5_000;
/** After a panel refused a frame, the next attempt; doubled each time. */
const RETRY_MS = 100;
const MOST_RETRY_MS = 5_000;
/** Nothing far away is waited for in one piece: the time of the day may be set. */
const MOST_WAIT_MS = 60_000;

interface Open {
  readonly opening: Opening;
  readonly picture: Picture;
}

/**
 * Paints in the thread of the Core, without a package: a few milliseconds for a whole screen, and at most `fps` frames
 * a second. It shows boxes, text, icons and images; `left-out.ts` names what it does without.
 */
export class SoftRenderer implements Renderer {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #fps: number;
  readonly #texts = new Texts();
  #open: Open | undefined;
  readonly #images = new Map<string, Bitmap>();
  #tree: Tree = EMPTY_TREE;
  #timer: Disposable | undefined;
  #flight: Promise<void> | undefined;
  #reportTimer: Disposable | undefined;
  #whole = true;
  #paused = false;
  #presenting = false;
  #due = false;
  #seq = 0;
  #painted = Number.NEGATIVE_INFINITY;
  #retryMs = RETRY_MS;
  #report = { since: 0, frames: 0, pixels: 0, cpuMs: 0 };

  constructor(clock: Clock, log: Logger, fps: number) {
    this.#clock = clock;
    this.#log = log;
    this.#fps = fps;
  }

  async open(opening: Opening): Promise<AsyncDisposable> {
    await this.close();
    const open = { opening, picture: new Picture(opening.panel) };
    this.#open = open;
    this.#report = { since: this.#clock.monotonic(), frames: 0, pixels: 0, cpuMs: 0 };
    return { [Symbol.asyncDispose]: () => (this.#open === open ? this.close() : Promise.resolve()) };
  }

  async close(): Promise<void> {
    this.#stopTimer();
    this.#reportTimer?.[Symbol.dispose]();
    this.#reportTimer = undefined;
    this.#open = undefined;
    this.#tree = EMPTY_TREE;
    this.#whole = true;
    this.#paused = false;
    this.#presenting = false;
    this.#due = false;
    this.#seq = 0;
    this.#painted = Number.NEGATIVE_INFINITY;
    this.#retryMs = RETRY_MS;
    // The panel takes one frame at a time: the next renderer would be refused while this one's is on its way.
    await this.#flight;
  }

  async apply(patch: TreePatch): Promise<{ readonly frame: number }> {
    this.#opened();
    const next = patched(this.#tree, patch);
    const { surroundings } = next;
    const fps = Math.min(surroundings.fps, this.#fps);
    if (surroundings.light !== this.#tree.surroundings.light) this.#whole = true;
    const same = surroundings.fps === fps;
    this.#tree = same ? next : { ...next, surroundings: { ...surroundings, fps } };
    this.#wake();
    return { frame: this.#seq + 1 };
  }

  async measure(texts: readonly TextQuestion[], surroundings?: Surroundings): Promise<readonly TextSize[]> {
    const around = surroundings ?? (this.#open ? this.#tree.surroundings : PLAIN_SURROUNDINGS);
    return texts.map(({ text, width, lines, ...asked }) => {
      const style = styleOf(asked, around);
      const layout = this.#texts.layout(text, style, { width, lines });
      return {
        width: layout.lines.reduce((most, line) => Math.max(most, line.width), 0),
        height: layout.lines.length * style.line,
        lines: layout.lines.length,
        cut: layout.cut,
      };
    });
  }

  async image(name: string, bytes: Uint8Array): Promise<{ readonly width: number; readonly height: number }> {
    const bitmap = await decodePng(bytes, name);
    if (bitmap) this.#images.set(name, bitmap);
    else this.#images.delete(name);
    if (this.#open) this.#wake();
    const { width, height } = imageSize(bytes, name);
    return { width, height };
  }

  async dropImages(names: readonly string[]): Promise<void> {
    for (const name of names) this.#images.delete(name);
    if (this.#open) this.#wake();
  }

  async video(): Promise<void> {
    this.#opened();
  }

  async levels(): Promise<void> {
    this.#opened();
  }

  async snapshot({ surface }: { readonly surface?: string } = {}): Promise<Uint8Array> {
    const { picture, opening } = this.#opened();
    if (surface === undefined) {
      // The panel gets it with its next frame.
      picture.paint(this.#moment());
      this.#wake();
      return pngOf(picture.canvas);
    }
    const only = this.#tree.surfaces.filter(({ id }) => id === surface);
    if (only.length === 0)
      throw new CoreError('UNAVAILABLE', { what: `the surface ${surface}`, reason: 'it is not on the screen' });
    const alone = new Picture(opening.panel);
    alone.paint({ ...this.#moment(), tree: { ...this.#tree, surfaces: only.map((one) => ({ ...one, opacity: 1 })) } });
    return pngOf(alone.canvas);
  }

  async pause(paused: boolean): Promise<void> {
    this.#opened();
    if (this.#paused === paused) return;
    this.#paused = paused;
    this.#whole = true;
    if (paused) this.#stopTimer();
    else this.#wake();
  }

  #opened(): Open {
    if (this.#open) return this.#open;
    throw new CoreError('UNAVAILABLE', { what: 'the soft renderer', reason: 'it is not open' });
  }

  #moment(): Moment {
    const [now, wall] = [this.#clock.monotonic(), this.#clock.now()];
    return { tree: this.#tree, now, wall, texts: this.#texts, images: this.#images };
  }

  /** A frame as soon as the rate allows: changes of the same turn share it. */
  #wake(): void {
    const step = 1_000 / this.#tree.surroundings.fps;
    this.#arm(Math.max(this.#clock.monotonic(), this.#painted + step));
  }

  #arm(at: number): void {
    if (this.#paused || !this.#open) return;
    this.#due = true;
    if (this.#presenting) return;
    this.#stopTimer();
    this.#timer = this.#clock.at(at, () => this.#frame());
  }

  #stopTimer(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
  }

  #frame(): void {
    const open = this.#open;
    this.#timer = undefined;
    if (!open || this.#paused || this.#presenting) return;
    this.#due = false;
    const began = performance.now();
    open.picture.paint(this.#moment());
    const rects = open.picture.take(this.#whole);
    this.#whole = false;
    this.#painted = this.#clock.monotonic();
    if (rects.length === 0) {
      this.#next(open);
      return;
    }
    const { panel } = open.opening;
    const pixels = pixelsOf(open.picture.canvas, rects, panel.format, this.#tree.surroundings.light);
    const { since, frames, pixels: many, cpuMs } = this.#report;
    const area = rects.reduce((sum, { w, h }) => sum + w * h, 0);
    this.#report = { since, frames: frames + 1, pixels: many + area, cpuMs: cpuMs + performance.now() - began };
    this.#seq++;
    this.#reportTimer ??= this.#clock.at(Math.max(this.#painted, since + REPORT_MS), () => this.#tell(open));
    this.#present(open, { seq: this.#seq, rects, pixels });
  }

  #present(open: Open, frame: Parameters<Opening['present']>[0]): void {
    this.#presenting = true;
    const flight = Promise.withResolvers<void>();
    this.#flight = flight.promise;
    const done = (problem?: string) => {
      limit[Symbol.dispose]();
      flight.resolve();
      this.#presented(open, frame.seq, problem);
    };
    const limit = this.#clock.after(PRESENT_MS, () => done('it does not answer'));
    const given = async () => {
      await open.opening.present(frame);
    };
    given().then(
      () => done(),
      (error: unknown) => done(reasonOf(error)),
    );
  }

  /** Once for each frame: an answer that comes after the limit, or after it was closed, changes nothing. */
  #presented(open: Open, seq: number, problem: string | undefined): void {
    if (this.#open !== open || this.#seq !== seq || !this.#presenting) return;
    this.#presenting = false;
    if (problem === undefined) {
      this.#retryMs = RETRY_MS;
      this.#next(open);
      return;
    }
    this.#log.debug({ reason: problem }, 'the panel took no frame');
    this.#whole = true;
    this.#arm(this.#clock.monotonic() + this.#retryMs);
    this.#retryMs = Math.min(MOST_RETRY_MS, this.#retryMs * 2);
  }

  /** The one timer: for what changed meanwhile, or for what will look different by itself. */
  #next(open: Open): void {
    if (this.#due) {
      this.#wake();
      return;
    }
    const { next } = open.picture;
    if (next === Number.POSITIVE_INFINITY) return;
    const now = this.#clock.monotonic();
    const step = 1_000 / this.#tree.surroundings.fps;
    this.#arm(Math.max(this.#painted + step, Math.min(next, now + MOST_WAIT_MS)));
  }

  #tell(open: Open): void {
    this.#reportTimer = undefined;
    const now = this.#clock.monotonic();
    const { since, frames, pixels, cpuMs } = this.#report;
    const ms = now - since;
    this.#report = { since: now, frames: 0, pixels: 0, cpuMs: 0 };
    const surfaces = open.picture.costs();
    open.opening.report({ frames, pixels, cpuMs, ms, surfaces, missingGlyphs: this.#texts.missing() });
  }
}

function pngOf({ width, height, pixels }: Canvas): Promise<Uint8Array> {
  const words = new Uint32Array(pixels.length);
  for (let at = 0; at < words.length; at++) {
    const value = pixels[at]!;
    words[at] = 0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16);
  }
  const rgba = new Uint8Array(words.buffer);
  return encodePng({ width, height, rgba });
}
