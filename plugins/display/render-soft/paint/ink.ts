import { channels, type Paint, resolveColour, type Theme } from '@device-core/plugin-api/scene';

export interface Ink {
  /** 0xRRGGBB */
  readonly rgb: number;
  /** 0..255 */
  readonly alpha: number;
}

/** One colour; a gradient is the mean of its colours. */
export function inkOf(theme: Theme, paint: Paint, opacity = 1): Ink {
  const colours = typeof paint === 'string' ? [paint] : paint.stops.map(([, colour]) => colour);
  const known = colours.map((colour) => channels(resolveColour(theme, colour)));
  const mean = (channel: 0 | 1 | 2 | 3): number =>
    known.reduce((sum, values) => sum + values[channel], 0) / known.length;
  const rgb = (Math.round(mean(0)) << 16) | (Math.round(mean(1)) << 8) | Math.round(mean(2));
  return { rgb, alpha: Math.round(mean(3) * opacity * 255) };
}
