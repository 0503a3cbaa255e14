/** A rectangle of whole pixels of a panel. */
export interface Rect {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

/** A union that costs at most so much more than its parts is taken: one larger area is cheaper than two calls. */
const WORTH = 1.2;
/** Beyond so many the work of joining would cost more than painting. */
const MOST_LOOKED_AT = 64;

/** The same area and a little more, in at most `most` rectangles, none over another. Empty ones are left out. */
export function joinRects(rects: readonly Rect[], most = 8): readonly Rect[] {
  const joined: Rect[] = [];
  for (const rect of rects) if (rect.w > 0 && rect.h > 0) joined.push(rect);
  if (joined.length > MOST_LOOKED_AT) return [joined.reduce(union)];
  for (;;) {
    const pair = worst(joined, joined.length > most);
    if (pair === undefined) return joined;
    const [one, other] = pair;
    const both = union(joined[one]!, joined[other]!);
    joined.splice(other, 1);
    joined[one] = both;
  }
}

/** The pair whose union wastes least: one that must or may be joined, or any where `any`. */
function worst(rects: readonly Rect[], any: boolean): readonly [number, number] | undefined {
  let best: readonly [number, number] | undefined;
  let least = Number.POSITIVE_INFINITY;
  for (let one = 0; one < rects.length; one += 1)
    for (let other = one + 1; other < rects.length; other += 1) {
      const [a, b] = [rects[one]!, rects[other]!];
      if (overlap(a, b)) return [one, other];
      const cost = area(union(a, b)) / (area(a) + area(b));
      if (cost < least && (any || cost <= WORTH)) {
        least = cost;
        best = [one, other];
      }
    }
  return best;
}

const area = ({ w, h }: Rect): number => w * h;

export function overlap(a: Rect, b: Rect): boolean {
  return a.x < b.x + b.w && b.x < a.x + a.w && a.y < b.y + b.h && b.y < a.y + a.h;
}

/** The smallest rectangle around both. */
export function union(a: Rect, b: Rect): Rect {
  const x = Math.min(a.x, b.x);
  const y = Math.min(a.y, b.y);
  return { x, y, w: Math.max(a.x + a.w, b.x + b.w) - x, h: Math.max(a.y + a.h, b.y + b.h) - y };
}

/** Intersection of both; of no size where they do not meet. */
export function intersection(a: Rect, b: Rect): Rect {
  const x = Math.max(a.x, b.x);
  const y = Math.max(a.y, b.y);
  return {
    x,
    y,
    w: Math.max(0, Math.min(a.x + a.w, b.x + b.w) - x),
    h: Math.max(0, Math.min(a.y + a.h, b.y + b.h) - y),
  };
}
