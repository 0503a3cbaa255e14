/** A framebuffer as the hardware of a panel: rows go to their places by writes, and nothing flips. */

import { reasonOf } from '@device-core/plugin-api';
import type { Backlight, PanelHardware } from '@device-core/plugin-api/panel-driver';
import { monotonicMs } from '@device-core/plugin-api/services/audio';
import { type PanelFrame, type PanelInfo, PIXEL_BYTES } from '@device-core/plugin-api/services/panel';
import { type Layout, layoutOf } from './layout.ts';
import type { FramebufferNode } from './node.ts';

const BLANK = { on: 0, off: 4 } as const;

export class Framebuffer implements PanelHardware {
  readonly info: PanelInfo;
  readonly layout: Layout;
  readonly #node: FramebufferNode;
  readonly #light: Backlight | undefined;
  readonly #blanks: boolean;
  /** Pixels on the glass, row by row as in the framebuffer: one write carries all rows of a rectangle, and the bytes between them. */
  readonly #rows: Uint8Array;

  private constructor(node: FramebufferNode, layout: Layout, light: Backlight | undefined, blanks: boolean) {
    const { width, height, format, stride, refresh } = layout;
    this.layout = layout;
    this.#node = node;
    this.#light = light;
    this.#blanks = blanks;
    this.#rows = new Uint8Array((height - 1) * stride + width * PIXEL_BYTES[format]);
    const power = blanks || light !== undefined;
    this.info = { driver: 'fbdev', width, height, format, refresh, brightness: light !== undefined, power };
  }

  /** Rejects with the reason why it cannot be used; the node is closed then. */
  static async open(node: FramebufferNode, light: Backlight | undefined): Promise<Framebuffer> {
    try {
      const layout = layoutOf(await node.variable(), await node.fixed());
      const blanks = await node.blank(BLANK.on).then(
        () => true,
        () => false, // not every driver can: VESA says EINVAL
      );
      await light?.power(true);
      const framebuffer = new Framebuffer(node, layout, light, blanks);
      // Former pixels, most likely of a console, belong to no frame.
      await node.write(framebuffer.#rows, layout.offset);
      return framebuffer;
    } catch (error) {
      await node[Symbol.asyncDispose]();
      throw error;
    }
  }

  async show({ rects, pixels }: PanelFrame, signal: AbortSignal): Promise<{ readonly at: number }> {
    const { format, stride, offset } = this.layout;
    const bytes = PIXEL_BYTES[format];
    let from = 0;
    for (const { x, y, w, h } of rects) {
      const first = y * stride + x * bytes;
      for (let row = 0; row < h; row++) {
        this.#rows.set(pixels.subarray(from, from + w * bytes), first + row * stride);
        from += w * bytes;
      }
      signal.throwIfAborted();
      const [begin, end] = this.#span(first, first + (h - 1) * stride + w * bytes);
      await this.#node.write(this.#rows.subarray(begin, end), offset + begin);
    }
    return { at: monotonicMs() };
  }

  /**
   * Framebuffers over DRM (Linux 6.1) lose a write that lies within one row and ends with it: they take its end for the
   * beginning of the row. So it begins with the last pixel of the row above, or ends with the first one below.
   */
  #span(begin: number, end: number): readonly [begin: number, end: number] {
    const { format, stride, offset, height } = this.layout;
    const bytes = PIXEL_BYTES[format];
    if (height === 1 || offset % stride !== 0 || end % stride !== 0 || end - begin > stride) return [begin, end];
    return end > stride ? [end - stride - bytes, end] : [begin, end + bytes];
  }

  async power(on: boolean): Promise<void> {
    try {
      if (this.#blanks) await this.#node.blank(on ? BLANK.on : BLANK.off);
      else await this.#light?.power(on);
    } catch (cause) {
      throw new Error(`it cannot be switched ${on ? 'on' : 'off'}: ${reasonOf(cause)}`, { cause });
    }
  }

  async brightness(level: number): Promise<void> {
    await this.#light?.level(level);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#node[Symbol.asyncDispose]();
  }
}
