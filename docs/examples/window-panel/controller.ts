/** A controller that takes windows: left, top, width and height as 16 bits each, little endian, and then their pixels in RGB565. */
import { open } from 'node:fs/promises';
import type { PanelHardware } from '@device-core/plugin-api/panel-driver';
import { monotonicMs } from '@device-core/plugin-api/services/audio';

export interface Settings {
  readonly device: string;
  readonly width: number;
  readonly height: number;
}

const PIXEL_BYTES = 2;

/** Rejects with the reason why there is no panel; it is called again later. */
export async function openController({ device, width, height }: Settings): Promise<PanelHardware> {
  const node = await open(device, 'r+');
  return {
    info: { driver: 'window', width, height, format: 'rgb565', refresh: 60, brightness: false, power: false },
    async show({ rects, pixels }) {
      let from = 0;
      for (const { x, y, w, h } of rects) {
        const bytes = w * h * PIXEL_BYTES;
        const head = Buffer.alloc(8);
        for (const [index, value] of [x, y, w, h].entries()) head.writeUInt16LE(value, 2 * index);
        await node.writev([head, pixels.subarray(from, from + bytes)]);
        from += bytes;
      }
      return { at: monotonicMs() };
    },
    [Symbol.asyncDispose]: () => node.close(),
  };
}
