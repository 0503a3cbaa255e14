/** Remote watchers of the panel, each with its unseen damage. Pixels are copied only while there is a watcher. */
import type { Caller, Clock } from '@device-core/plugin-api';
import { checkFrame, Glass } from '@device-core/plugin-api/pixels';
import { joinRects, type Rect } from '@device-core/plugin-api/scene';
import type { StreamChannel } from '@device-core/plugin-api/services/operations';
import { type PanelFrame, type PanelInfo, PIXEL_BYTES } from '@device-core/plugin-api/services/panel';

/** Each costs a frame that it has not read, and a place for rectangles. */
export const MOST_WATCHERS = 8;
/** Maximum watchers of one page: it opens a new one before it knows that the former is gone. */
export const MOST_OF_ONE = 2;
/** Effort of DEFLATE: a panel has few colours side by side, and more effort would not pay. */
const EFFORT = 1;
/** Bytes that are packed on the spot, in two milliseconds at most: the way to a thread and back would cost more than most frames do. */
const MOST_AT_ONCE = 256 * 1024;

export interface Watching {
  readonly encoding?: 'raw' | 'deflate';
  /** Frames a second at most. */
  readonly fps?: number;
}

/** Codes are visible to callers who may make them, not to viewers and apps. */
export const seesAll = ({ kind, signedIn }: Caller): boolean => kind === 'operator' && signedIn?.role !== 'viewer';

interface Watcher {
  damage: readonly Rect[];
  wake: () => void;
  /** The session of a page, where it is one. */
  readonly session: string | undefined;
  /** Sees what is sensitive, too. */
  readonly clear: boolean;
}

export class FrameWatch {
  readonly #watchers = new Set<Watcher>();
  readonly #clock: Clock;
  /** Makes the renderer paint a whole frame. */
  readonly #anew: () => void;
  #info: PanelInfo | undefined;
  /** Pixels on the panel, once a whole frame came: half a picture is none. */
  #glass: Glass | undefined;
  /** When the latest frame was on its way, milliseconds since the Unix epoch. */
  #at = 0;
  /** Something sensitive is on the glass; or it was, and no whole frame came since. */
  #cover: 'off' | 'on' | 'until a whole frame' = 'off';

  constructor(clock: Clock, anew: () => void) {
    this.#clock = clock;
    this.#anew = anew;
  }

  /** Each frame on its way to the panel, before it is handed over. Throws PARAMS_INVALID, as the panel would. */
  take(info: PanelInfo, frame: PanelFrame): void {
    if (this.#watchers.size === 0) return;
    checkFrame(frame, info);
    const whole = isWhole(frame, info);
    if (whole && this.#cover === 'until a whole frame') this.#cover = 'off';
    const fresh = !this.#glass || !sameShape(info, this.#glass);
    if (fresh) {
      // Unread damage belongs to another panel.
      for (const watcher of this.#watchers) watcher.damage = [];
      this.#glass = whole ? new Glass(info) : undefined;
      this.#info = info;
      if (!whole) return;
    }
    this.#glass?.put(frame);
    this.#at = this.#clock.now();
    for (const watcher of this.#watchers) {
      if (this.#hides(watcher)) {
        if (fresh) this.#mask(watcher);
        continue;
      }
      watcher.damage = whole ? frame.rects : joinRects([...watcher.damage, ...frame.rects]);
      watcher.wake();
    }
  }

  /** Before something sensitive is handed to a renderer. */
  cover(): void {
    const masked = this.#cover !== 'off';
    this.#cover = 'on';
    for (const watcher of this.#watchers) if (!watcher.clear && !masked) this.#mask(watcher);
  }

  /** Frames from now on show nothing sensitive; the glass does until a whole frame comes. */
  uncover(): void {
    this.#cover = this.#watchers.size === 0 ? 'off' : 'until a whole frame';
  }

  /** One frame is with the reader and one is ready; while both are, damage adds up. */
  async watch(
    channel: StreamChannel,
    { encoding, fps, clear }: Watching & Pick<Watcher, 'clear'>,
    session?: string,
  ): Promise<void> {
    const { signal } = channel;
    const damage = this.#glass ? [wholeOf(this.#glass)] : [];
    const watcher: Watcher = { damage, wake: () => undefined, session, clear };
    this.#watchers.add(watcher);
    let next = Number.NEGATIVE_INFINITY;
    let seq = 0;
    try {
      if (watcher.damage.length === 0) this.#anew();
      while (!signal.aborted) {
        if (watcher.damage.length === 0) await changed(watcher, signal);
        const early = next - this.#clock.monotonic();
        if (early > 0 && !signal.aborted) await this.#clock.sleep(early, signal);
        const { damage } = watcher;
        watcher.damage = [];
        if (damage.length === 0 || signal.aborted) continue;
        if (fps !== undefined) next = this.#clock.monotonic() + 1_000 / fps;
        seq += 1;
        const frame = await this.#frame(watcher, damage, encoding, seq);
        if (!signal.aborted) await channel.send(frame);
      }
    } finally {
      this.#watchers.delete(watcher);
      if (this.#watchers.size === 0) this.#glass = undefined;
    }
  }

  #mask(watcher: Watcher): void {
    if (!this.#glass) return;
    watcher.damage = [wholeOf(this.#glass)];
    watcher.wake();
  }

  #hides({ clear }: Watcher): boolean {
    return !clear && this.#cover !== 'off';
  }

  /** How many there may be, where there is no room for one more: of all, or of this session. */
  limit(session: string | undefined): number | undefined {
    if (this.#watchers.size >= MOST_WATCHERS) return MOST_WATCHERS;
    const mine = [...this.#watchers].filter((one) => session !== undefined && one.session === session);
    return mine.length >= MOST_OF_ONE ? MOST_OF_ONE : undefined;
  }

  /**
   * A line of JSON, then the pixels that it speaks of: many are packed beside the event loop, from a copy, for the
   * panel goes on meanwhile.
   */
  async #frame(
    watcher: Watcher,
    rects: readonly Rect[],
    encoding: Watching['encoding'],
    seq: number,
  ): Promise<Uint8Array> {
    const { width, height, format } = this.#info!;
    const masked = this.#hides(watcher);
    const about = { width, height, format, rects, ...(masked && { masked }) };
    const pixels = masked ? blackOf(rects, format) : this.#glass!.read(rects);
    if (encoding !== 'deflate') return framed({ ...about, bytes: pixels.length }, pixels);
    const at = this.#at;
    const packed = await pack(pixels);
    return framed({ ...about, bytes: packed.length, seq, at }, packed);
  }
}

const blackOf = (rects: readonly Rect[], format: PanelInfo['format']): Uint8Array =>
  new Uint8Array(rects.reduce((sum, { w, h }) => sum + w * h, 0) * PIXEL_BYTES[format]);

const framed = (head: object, body: Uint8Array): Uint8Array =>
  Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]);

async function pack(pixels: Uint8Array): Promise<Uint8Array> {
  // Only who watches needs it.
  const { deflateRaw, deflateRawSync } = await import('node:zlib');
  if (pixels.length <= MOST_AT_ONCE) return deflateRawSync(pixels, { level: EFFORT });
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  deflateRaw(pixels, { level: EFFORT }, (error, packed) => (error ? reject(error) : resolve(packed)));
  return promise;
}

const wholeOf = ({ width, height }: Pick<PanelInfo, 'width' | 'height'>): Rect => ({ x: 0, y: 0, w: width, h: height });

/** None of its rectangles lies over another. */
const isWhole = ({ rects }: PanelFrame, { width, height }: PanelInfo): boolean =>
  rects.reduce((sum, { w, h }) => sum + w * h, 0) === width * height;

const sameShape = (one: PanelInfo, { width, height, format }: Glass): boolean =>
  one.width === width && one.height === height && one.format === format;

/** Resolves when there is damage, or the stream is over. */
async function changed(watcher: Watcher, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  watcher.wake = resolve;
  const over = () => resolve();
  signal.addEventListener('abort', over, { once: true });
  await promise;
  signal.removeEventListener('abort', over);
}
