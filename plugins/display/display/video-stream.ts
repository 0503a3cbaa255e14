/**
 * display.surface: pixels from an app into a `video` node of its scene. What is not seen is not read, so that a slow
 * panel never buffers.
 */
import { CoreError, type Scope } from '@device-core/plugin-api';
import { exactly } from '@device-core/plugin-api/operation-kit';
import { nodesOf } from '@device-core/plugin-api/scene';
import type { StreamChannel, StreamEndpoint } from '@device-core/plugin-api/services/operations';
import type { AppSurfaces } from './app-surfaces.ts';
import type { Screen } from './screen.ts';

const HEADER_BYTES = 8;
/** Pixels of one rectangle: converting it is a fraction of a millisecond. A frame is several of them. */
const MOST_PIXELS = 65_536;
const MOST_SIDE = 720;
const PAINT_MS = 5_000;

interface Params {
  readonly stream: string;
  readonly width: number;
  readonly height: number;
  readonly format: 'rgb565' | 'rgbx';
}

const BYTES = { rgb565: 2, rgbx: 4 } as const;

export function videoStream(screen: Screen, apps: AppSurfaces, scope: Scope): StreamEndpoint<Params> {
  const side = { type: 'integer', minimum: 1, maximum: MOST_SIDE };
  return {
    name: 'display.surface',
    summary:
      'Pixels of a `video` node, read while it is seen. Rectangles follow each other: x, y, w, h as 16 bit little endian, then the rows from the top',
    direction: 'write',
    capability: 'display.surface',
    params: exactly({
      stream: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$', description: '`stream` of the node' },
      width: side,
      height: side,
      format: {
        enum: ['rgb565', 'rgbx'],
        description: 'rgb565: 2 bytes, little endian. rgbx: red, green, blue, nothing.',
      },
    }),
    async run(params, channel, { caller }) {
      const surface = apps.surfaceOf(caller, 'show a video');
      const seen = () => apps.stateOf(caller) === 'foreground' && nodeOf(screen, surface, params.stream);
      const input = new Pieces(channel);
      for (;;) {
        // Nothing is read before it is seen: the app's credit is used up then, and it waits.
        await until(apps, channel, seen);
        const header = await input.take(HEADER_BYTES);
        if (!header) return;
        const view = Buffer.from(header.buffer, header.byteOffset, HEADER_BYTES);
        const [x, y, w, h] = [0, 2, 4, 6].map((at) => view.readUInt16LE(at)) as [number, number, number, number];
        check(params, x, y, w, h);
        const pixels = await input.take(w * h * BYTES[params.format]);
        if (!pixels) return;
        const { width, height } = params;
        const rgba = toRgba(pixels, params.format);
        const picture = { width, height, rect: { x, y, w, h }, rgba };
        await screen.stage
          .ask('a part of a video', PAINT_MS, (renderer) => renderer.video(surface, params.stream, picture), true)
          .catch((error: unknown) => {
            // Frames without a renderer are unseen; the next frame may be seen.
            if (!(error instanceof CoreError) || error.code !== 'PANEL_UNAVAILABLE') throw error;
          });
        if (scope.signal.aborted || channel.signal.aborted) return;
      }
    },
  };
}

function nodeOf(screen: Screen, surface: string, stream: string): boolean {
  const nodes = screen.tree.get(surface)?.surface.scene.nodes ?? [];
  for (const node of nodesOf(nodes)) if (node.kind === 'video' && node.stream === stream) return true;
  return false;
}

function check({ width, height }: Params, x: number, y: number, w: number, h: number): void {
  const refuse = (reason: string) => new CoreError('PARAMS_INVALID', { where: 'a rectangle', reason });
  if (w === 0 || h === 0 || x + w > width || y + h > height)
    throw refuse(`${w} x ${h} at ${x}, ${y} is not within ${width} x ${height}`);
  if (w * h > MOST_PIXELS) throw refuse(`it has ${w * h} pixels, ${MOST_PIXELS} are the limit`);
}

/** Resolves when it is seen, or the stream is over. */
async function until(apps: AppSurfaces, channel: StreamChannel, seen: () => boolean): Promise<void> {
  if (seen() || channel.signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  using _changes = apps.onChange(() => {
    if (seen()) resolve();
  });
  const over = () => resolve();
  channel.signal.addEventListener('abort', over, { once: true });
  await promise;
  channel.signal.removeEventListener('abort', over);
}

export function toRgba(pixels: Uint8Array, format: Params['format']): Uint8Array {
  if (format === 'rgbx') {
    const rgba = Uint8Array.from(pixels);
    for (let at = 3; at < rgba.length; at += 4) rgba[at] = 255;
    return rgba;
  }
  const rgba = new Uint8Array(pixels.length * 2);
  for (let from = 0, to = 0; from < pixels.length; from += 2, to += 4) {
    const value = pixels[from]! | (pixels[from + 1]! << 8);
    const [red, green, blue] = [value >> 11, (value >> 5) & 63, value & 31];
    rgba[to] = (red << 3) | (red >> 2);
    rgba[to + 1] = (green << 2) | (green >> 4);
    rgba[to + 2] = (blue << 3) | (blue >> 2);
    rgba[to + 3] = 255;
  }
  return rgba;
}

/** Pieces of exactly the asked length, from pieces of any length. */
class Pieces {
  readonly #source: AsyncIterator<Uint8Array>;
  #held: Uint8Array = new Uint8Array(0);

  constructor({ incoming }: StreamChannel) {
    this.#source = incoming[Symbol.asyncIterator]();
  }

  /** undefined where the app has closed. Throws PARAMS_INVALID where it did so in the middle. */
  async take(count: number): Promise<Uint8Array | undefined> {
    const parts = [this.#held];
    let length = this.#held.length;
    while (length < count) {
      const { value, done } = await this.#source.next();
      if (done) {
        if (length === 0) return undefined;
        const reason = `it ended after ${length} of ${count} bytes`;
        throw new CoreError('PARAMS_INVALID', { where: 'the last rectangle', reason });
      }
      parts.push(value);
      length += value.length;
    }
    const all = parts.length === 1 ? this.#held : Buffer.concat(parts);
    this.#held = all.subarray(count);
    return all.subarray(0, count);
  }
}
