/** A ring that is filled by and by. */
import type { SceneNode } from '../../scene.ts';

const THICK = 1 / 13;
export const RING = 'card-ring';

export interface Ring {
  /** Of the outer edge. */
  readonly size: number;
  /** Width and height of what fits within it. */
  readonly inner: number;
  at(x: number, y: number, sweep: number, start?: number): readonly SceneNode[];
}

export function ring(size: number, colour = '@accent'): Ring {
  const stroke = Math.max(12, Math.round(size * THICK));
  const line = size - stroke;
  return {
    size,
    inner: Math.floor((size - 2 * stroke) * 0.82),
    at: (x, y, sweep, start = 0) => {
      const box = { x: x + stroke / 2, y: y + stroke / 2, w: line, h: line, strokeWidth: stroke };
      return [
        { kind: 'ellipse', ...box, stroke: '@sunken' },
        { kind: 'ellipse', id: RING, ...box, stroke: colour, start, sweep, cap: 'round' },
      ];
    },
  };
}
