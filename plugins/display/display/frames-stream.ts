/** display.frames: what the panel shows, for somebody far away. Pixels are copied while somebody watches, and only then. */
import {
  CoreError,
  type PanelFrame,
  type PanelInfo,
  PIXEL_BYTES,
  type StreamChannel,
  type StreamEndpoint,
} from '@device-core/plugin-api';
import { exactly } from '@device-core/plugin-api/operation-kit';
import { joinRects, type Rect } from '@device-core/plugin-api/scene';

const MOST_WATCHERS = 4;

interface Watcher {
  damage: readonly Rect[];
  wake: () => void;
}

export class FrameWatch {
  readonly #watchers = new Set<Watcher>();
  /** Makes the renderer paint a whole frame. */
  readonly #anew: () => void;
  #info: PanelInfo | undefined;
  #picture: Uint8Array | undefined;

  constructor(anew: () => void) {
    this.#anew = anew;
  }

  /** Each frame on its way to the panel, before it is handed over. */
  take(info: PanelInfo, { rects, pixels }: PanelFrame): void {
    if (this.#watchers.size === 0) return;
    const { width, height, format } = info;
    const bytes = PIXEL_BYTES[format];
    if (this.#info?.width !== width || this.#info.height !== height || this.#info.format !== format) {
      this.#picture = new Uint8Array(width * height * bytes);
      this.#info = info;
    }
    const picture = this.#picture!;
    let from = 0;
    for (const { x, y, w, h } of rects) {
      for (let row = 0; row < h; row++, from += w * bytes)
        picture.set(pixels.subarray(from, from + w * bytes), ((y + row) * width + x) * bytes);
    }
    for (const watcher of this.#watchers) {
      watcher.damage = joinRects([...watcher.damage, ...rects]);
      watcher.wake();
    }
  }

  /** One frame is with the reader and one is ready; while both are, damage adds up. */
  async watch(channel: StreamChannel): Promise<void> {
    const watcher: Watcher = { damage: [], wake: () => undefined };
    this.#watchers.add(watcher);
    try {
      this.#anew();
      while (!channel.signal.aborted) {
        if (watcher.damage.length === 0) await next(watcher, channel.signal);
        const { damage } = watcher;
        watcher.damage = [];
        if (damage.length > 0 && !channel.signal.aborted) await channel.send(this.#frame(damage));
      }
    } finally {
      this.#watchers.delete(watcher);
      if (this.#watchers.size === 0) {
        this.#picture = undefined;
        this.#info = undefined;
      }
    }
  }

  get full(): boolean {
    return this.#watchers.size >= MOST_WATCHERS;
  }

  /** A line of JSON, then the pixels that it speaks of. */
  #frame(rects: readonly Rect[]): Uint8Array {
    const { width, height, format } = this.#info!;
    const bytes = PIXEL_BYTES[format];
    const length = rects.reduce((sum, { w, h }) => sum + w * h * bytes, 0);
    const head = Buffer.from(`${JSON.stringify({ width, height, format, rects, bytes: length })}\n`);
    const frame = Buffer.alloc(head.length + length);
    head.copy(frame);
    let to = head.length;
    for (const { x, y, w, h } of rects) {
      for (let row = 0; row < h; row++, to += w * bytes) {
        const at = ((y + row) * width + x) * bytes;
        frame.set(this.#picture!.subarray(at, at + w * bytes), to);
      }
    }
    return frame;
  }
}

async function next(watcher: Watcher, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  watcher.wake = resolve;
  const over = () => resolve();
  signal.addEventListener('abort', over, { once: true });
  await promise;
  signal.removeEventListener('abort', over);
}

export function framesStream(watch: FrameWatch): StreamEndpoint<never> {
  return {
    name: 'display.frames',
    summary:
      'What the panel shows. For each change comes a line of JSON {width, height, format, rects, bytes}, then the rows of each rectangle in the format of the panel',
    direction: 'read',
    capability: 'system.display',
    params: exactly({}),
    async run(_params, channel) {
      if (watch.full) throw new CoreError('STREAM_LIMIT', { stream: 'display.frames', limit: MOST_WATCHERS });
      await watch.watch(channel);
    },
  };
}
