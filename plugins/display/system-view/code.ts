/** A code to scan, as one path: rows of dark modules are strokes as thick as a module. */

import { packageLater } from '@device-core/plugin-api/inside/lazy-package';
import type { SceneNode } from '@device-core/plugin-api/scene';

const uqr = packageLater<typeof import('uqr')>('uqr', import.meta.url);
/** Light modules around it, which readers want. */
const BORDER = 4;
/** Bytes of text that a code of so many segments holds with medium correction. */
const MOST = 120;

/** Code on a light ground, which ends at `end`, `size` units wide at most; whole units for each module. */
export function codeNode(
  text: string,
  { end, y, size, label }: { readonly end: number; readonly y: number; readonly size: number; readonly label: string },
): SceneNode {
  const { data } = uqr().encode(Buffer.from(text).subarray(0, MOST).toString(), { ecc: 'L', border: BORDER });
  const unit = Math.max(1, Math.floor(size / data.length));
  const whole = unit * data.length;
  return {
    kind: 'group',
    x: end - whole,
    y,
    w: whole,
    h: whole,
    label,
    nodes: [
      { kind: 'rect', w: whole, h: whole, radius: 12, fill: '#ffffff' },
      { kind: 'path', w: whole, h: whole, d: pathOf(data, unit), stroke: '#000000', strokeWidth: unit, cap: 'butt' },
    ],
  };
}

export function pathOf(data: readonly (readonly boolean[])[], unit: number): string {
  const strokes: string[] = [];
  for (const [row, modules] of data.entries()) {
    let from = -1;
    for (let at = 0; at <= modules.length; at += 1) {
      if (modules[at] && from < 0) from = at;
      if (modules[at] || from < 0) continue;
      strokes.push(`M${from * unit} ${(row + 0.5) * unit}H${at * unit}`);
      from = -1;
    }
  }
  return strokes.join('');
}
