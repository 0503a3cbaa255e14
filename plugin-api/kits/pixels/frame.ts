import { CoreError } from '../../contract/errors.ts';
import type { Rect } from '../../scene/rect.ts';
import { type PanelFrame, type PanelInfo, PIXEL_BYTES } from '../../services/panel.ts';

const MOST_RECTS = 8;

/** Throws PARAMS_INVALID for a frame that a panel of this size and format cannot take. */
export function checkFrame({ rects, pixels }: PanelFrame, { width, height, format }: PanelInfo): void {
  const refuse = (where: string, reason: string): never => {
    throw new CoreError('PARAMS_INVALID', { where: `the frame's ${where}`, reason });
  };
  if (rects.length < 1 || rects.length > MOST_RECTS)
    refuse('rects', `there are ${rects.length}, not 1 to ${MOST_RECTS}`);
  let area = 0;
  for (const [index, { x, y, w, h }] of rects.entries()) {
    const where = `rects/${index}`;
    if (![x, y, w, h].every(Number.isInteger)) refuse(where, 'it has to be of whole pixels');
    if (w < 1 || h < 1) refuse(where, 'it is empty');
    if (x < 0 || y < 0 || x + w > width || y + h > height) refuse(where, `it is not within ${width} x ${height}`);
    if (rects.slice(0, index).some((other) => overlap(rects[index]!, other))) refuse(where, 'it lies over another');
    area += w * h;
  }
  const bytes = area * PIXEL_BYTES[format];
  if (pixels.length !== bytes) refuse('pixels', `there are ${pixels.length} bytes, ${bytes} are needed`);
}

/** A brightness. Throws PARAMS_INVALID. */
export function checkLevel(level: number): void {
  if (!(level >= 0 && level <= 1))
    throw new CoreError('PARAMS_INVALID', { where: 'the brightness', reason: `${level} is not from 0 to 1` });
}

function overlap(one: Rect, other: Rect): boolean {
  return one.x < other.x + other.w && other.x < one.x + one.w && one.y < other.y + other.h && other.y < one.y + one.h;
}
