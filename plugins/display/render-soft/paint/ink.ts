/** Fill of an area: one colour, or a gradient across a box. */
import { channels, type Paint, resolveColour, type Theme } from '@device-core/plugin-api/scene';
import type { Matrix } from './matrix.ts';

export interface Solid {
  readonly kind: 'solid';
  /** 0xRRGGBB */
  readonly rgb: number;
  /** 0..255 */
  readonly alpha: number;
}

export interface Gradient {
  readonly kind: 'gradient';
  /** Colours of 256 places from beginning to end. */
  readonly rgb: Uint32Array;
  readonly alpha: Uint8Array;
  /** The place at the middle of a pixel, 0..255. */
  at(x: number, y: number): number;
  /** It is the same along a row. */
  readonly level: boolean;
}

export type Ink = Solid | Gradient;

interface Box {
  readonly w: number;
  readonly h: number;
}

export function solid(theme: Theme, colour: string, opacity = 1): Solid {
  const [red, green, blue, alpha] = channels(resolveColour(theme, colour));
  return { kind: 'solid', rgb: (red << 16) | (green << 8) | blue, alpha: Math.round(alpha * opacity * 255) };
}

/** `matrix` leads from the box to pixels. */
export function inkOf(theme: Theme, paint: Paint, box: Box, matrix: Matrix, opacity = 1): Ink {
  if (typeof paint === 'string') return solid(theme, paint, opacity);
  const [rgb, alpha] = ramp(theme, paint.stops, opacity);
  const back = inverse(matrix);
  if (!back) return { kind: 'solid', rgb: rgb[0]!, alpha: 0 };
  const [a, b, c, d, e, f] = back;
  const { w, h } = box;
  const index = (share: number): number => (share <= 0 ? 0 : share >= 1 ? 255 : (share * 255 + 0.5) | 0);
  if ('radial' in paint) {
    const at = (x: number, y: number): number => {
      const [px, py] = [a * (x + 0.5) + c * (y + 0.5) + e, b * (x + 0.5) + d * (y + 0.5) + f];
      return index(Math.hypot((px / w - 0.5) * 2, (py / h - 0.5) * 2));
    };
    return { kind: 'gradient', rgb, alpha, at, level: false };
  }
  const angle = (paint.linear * Math.PI) / 180;
  const [dx, dy] = [Math.cos(angle), Math.sin(angle)];
  // From corner to corner of the box, along its direction.
  const length = Math.abs(w * dx) + Math.abs(h * dy) || 1;
  // A plane over the pixels: so much more with each of them.
  const [perX, perY] = [(a * dx + b * dy) / length, (c * dx + d * dy) / length];
  const origin = ((e - w / 2) * dx + (f - h / 2) * dy) / length + 0.5 + (perX + perY) / 2;
  const at = (x: number, y: number): number => index(origin + perX * x + perY * y);
  return { kind: 'gradient', rgb, alpha, at, level: Math.abs(perX) < 1e-9 };
}

function ramp(
  theme: Theme,
  stops: readonly (readonly [at: number, colour: string])[],
  opacity: number,
): readonly [Uint32Array, Uint8Array] {
  const known = stops
    .map(([at, colour]) => ({ at, colour: channels(resolveColour(theme, colour)) }))
    .sort((one, other) => one.at - other.at);
  const [rgb, alpha] = [new Uint32Array(256), new Uint8Array(256)];
  let next = 0;
  for (let place = 0; place < 256; place++) {
    const share = place / 255;
    while (next < known.length && known[next]!.at < share) next++;
    const to = known[next] ?? known.at(-1)!;
    const from = known[next - 1] ?? to;
    const part = to.at === from.at ? 1 : Math.min(1, (share - from.at) / (to.at - from.at));
    const mix = (channel: 0 | 1 | 2 | 3): number =>
      from.colour[channel] + (to.colour[channel] - from.colour[channel]) * part;
    rgb[place] = (Math.round(mix(0)) << 16) | (Math.round(mix(1)) << 8) | Math.round(mix(2));
    alpha[place] = Math.round(mix(3) * opacity * 255);
  }
  return [rgb, alpha];
}

function inverse([a, b, c, d, e, f]: Matrix): Matrix | undefined {
  const area = a * d - b * c;
  if (Math.abs(area) < 1e-9) return undefined;
  return [d / area, -b / area, -c / area, a / area, (c * f - d * e) / area, (b * e - a * f) / area];
}
