/** x' = a x + c y + e, y' = b x + d y + f. */
export type Matrix = readonly [a: number, b: number, c: number, d: number, e: number, f: number];

/** A box moved to x, y, and turned (degrees) and scaled about its middle, within `outer`. */
export function placed(
  outer: Matrix,
  box: { readonly x: number; readonly y: number; readonly w: number; readonly h: number },
  rotate: number,
  scale: number,
): Matrix {
  const [a, b, c, d, e, f] = outer;
  const angle = (rotate * Math.PI) / 180;
  const [cos, sin] = rotate === 0 ? [scale, 0] : [Math.cos(angle) * scale, Math.sin(angle) * scale];
  const [mx, my] = [box.w / 2, box.h / 2];
  const tx = box.x + mx - (cos * mx - sin * my);
  const ty = box.y + my - (sin * mx + cos * my);
  return [
    a * cos + c * sin,
    b * cos + d * sin,
    c * cos - a * sin,
    d * cos - b * sin,
    a * tx + c * ty + e,
    b * tx + d * ty + f,
  ];
}

/** Without turning: sides stay upright. */
export const upright = ([a, b, c, d]: Matrix): boolean => b === 0 && c === 0 && a > 0 && d > 0;

/** How much larger a line gets, on the average. */
export const growth = ([a, b, c, d]: Matrix): number => Math.sqrt(Math.abs(a * d - b * c));
