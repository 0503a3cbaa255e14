/** A ring that is filled by and by. */
import type { Layout, SceneNode } from '@device-core/plugin-api/scene';
import type { Room } from '../template.ts';

const THICK = 1 / 13;
/** Between a ring and what is said below it. */
const GAP = 32;
/** Least height of a ring: the text below it gets fewer lines instead. */
const LEAST = 160;
export const RING = 'card-ring';

export interface Ring {
  /** Size of the outer edge. */
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

export interface Below {
  /** With the gap; 0 where nothing is said. */
  readonly height: number;
  /** Below what ends at `bottom`. */
  at(bottom: number): readonly SceneNode[];
}

/** Text below the ring, of so many lines at most. */
export async function belowRing(
  text: string | undefined,
  most: number,
  { width, height }: Room,
  layout: Layout,
): Promise<Below> {
  const lines = Math.min(most, Math.floor((height - GAP - LEAST) / layout.line('body')));
  const [body] = await layout.blocks(
    text === undefined || lines < 1
      ? undefined
      : { text, role: 'body' as const, width, lines, colour: '@text-soft', align: 'center' as const },
  );
  if (body === undefined) return { height: 0, at: () => [] };
  return { height: body.height + GAP, at: (bottom) => [body.at(0, bottom + GAP)] };
}
