/** Parts of toasts and banners: marks of the level, the app's sign, timelines of arrival and departure. Pure. */

import {
  appSign,
  foreignText,
  GRID,
  ICONS,
  type IconName,
  iconNode,
  PANEL_UNITS,
  type Rect,
  type SceneNode,
  type Timeline,
} from '@device-core/plugin-api/scene';
import type { Display } from '@device-core/plugin-api/services/display';
import type { Level } from './request.ts';

export const WIDTH = PANEL_UNITS;
/** From the edge of the panel to a card. */
export const EDGE = GRID.gap * 2;
export const PAD = GRID.gap * 1.5;
export const SIGN = 72;
/** The strip of the system, with the capture indicator at its end, is free of both. */
export const STRIP = 48;
/** Beside a card: for its shadow, and for the way that it comes. */
export const ROOM = 48;
export const COME_MS = 280;
export const GO_MS = 180;
export const CARD = 'card';

/** Lines of a text: large letters need more of them for the same words. */
export const linesOf = (textScale: number): number => Math.round(2 * textScale);

/** Said before the text where the level is more than a colour. */
export const LEVEL_WORDS: Readonly<Record<Level, string>> = {
  info: '',
  success: 'Done',
  warn: 'Warning',
  error: 'Error',
};

const MARKS: Readonly<Record<Level, string>> = {
  info: 'M14 12.5 V20 M14 8 V8.5',
  success: 'M8 14.5 L12.2 18.7 L20.2 9.8',
  warn: 'M14 7.5 V15 M14 19.5 V20',
  error: 'M9 9 L19 19 M19 9 L9 19',
};

/** A disc with its mark, 32 units: told apart by its shape as well. A sign of the device that the app names stands in the mark's place. */
function mark(level: Level, icon: string | undefined, x: number, y: number): readonly SceneNode[] {
  const disc: SceneNode = { kind: 'ellipse', x, y, w: 32, h: 32, fill: `@${level}`, stroke: '@raised', strokeWidth: 4 };
  if (icon !== undefined && Object.hasOwn(ICONS, icon))
    return [disc, iconNode(icon as IconName, { x: x + 6, y: y + 6, size: 20 }, { colour: '@on-level' })];
  return [
    disc,
    {
      kind: 'path',
      x,
      y,
      w: 32,
      h: 32,
      view: [28, 28],
      d: MARKS[level],
      stroke: '@on-level',
      strokeWidth: 3,
      cap: 'round',
      join: 'round',
    },
  ];
}

/** Sign of the speaker, with a mark of the urgency. */
export function sign(
  title: string | undefined,
  { level, icon }: { readonly level: Level; readonly icon?: string },
  { x, y, textScale }: { readonly x: number; readonly y: number; readonly textScale: number },
): SceneNode {
  const nodes = [appSign(title, { x: 0, y: 0, size: SIGN, textScale }), ...mark(level, icon, SIGN - 24, SIGN - 24)];
  return { kind: 'group', x, y, w: SIGN + 8, h: SIGN + 8, nodes };
}

/** Title of an app, or its id where no font has the title's letters: unreadable titles all look alike. */
export async function legible(
  display: Pick<Display, 'measure'>,
  title: string | undefined,
  app: string | undefined,
): Promise<string | undefined> {
  if (title === undefined) return undefined;
  const [size] = await display.measure([{ text: foreignText(title), role: 'caption', lines: 1 }]);
  return (size?.missing ?? 0) > 0 || title.trim() === '' ? (app ?? title) : title;
}

function comes(from: number): readonly Timeline[] {
  return [
    { node: CARD, property: 'y', from, to: 0, ms: COME_MS, ease: 'out' },
    { node: CARD, property: 'opacity', from: 0, to: 1, ms: 160, ease: 'out' },
  ];
}

function goes(to: number): readonly Timeline[] {
  return [
    { node: CARD, property: 'y', to, ms: GO_MS, ease: 'in' },
    { node: CARD, property: 'opacity', to: 0, ms: GO_MS, ease: 'in' },
  ];
}

/** A card at an edge of the panel: its place in its surface, that of the surface, and how it comes and goes. */
interface Place {
  readonly y: number;
  readonly box: Rect;
  readonly enter: readonly Timeline[];
  readonly leave: readonly Timeline[];
}

/** It comes from behind the strip, not over it. */
export const atTop = (h: number): Place => ({
  y: GRID.unit,
  box: { x: 0, y: STRIP, w: WIDTH, h: GRID.unit + h + ROOM },
  enter: comes(-(h + STRIP)),
  leave: goes(-ROOM),
});

export const atBottom = (h: number): Place => ({
  y: ROOM,
  box: { x: 0, y: PANEL_UNITS - ROOM - h - EDGE, w: WIDTH, h: ROOM + h + EDGE },
  enter: comes(h + EDGE),
  leave: goes(ROOM),
});
