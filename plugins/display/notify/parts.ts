/** What toasts and banners are made of: words that stay words, marks of the level, the app's sign. Pure. */
import { GRID, isolated, type SceneNode, type Timeline } from '@device-core/plugin-api/scene';
import type { Level } from './asked.ts';

/** Of the panel. */
export const WIDTH = 720;
/** From the edge of the panel to a card. */
export const EDGE = GRID.gap * 2;
export const PAD = GRID.gap * 1.5;
export const SIGN = 72;
export const COME_MS = 280;
export const GO_MS = 180;
export const CARD = 'card';

/** Said before the text where the level is more than a colour. */
export const LEVEL_WORDS: Readonly<Record<Level, string>> = {
  info: '',
  success: 'Done',
  warn: 'Warning',
  error: 'Error',
};

/** More than two lines hold, at any text scale. */
const MOST_SHOWN = 400;
const MOST_LABEL = 200;
/** Marks beyond so many on one letter would be drawn over what stands above and below. */
const TOWERS = /(\p{M}{4})\p{M}+/gu;

function tidy(text: string): string {
  const line = text.slice(0, MOST_SHOWN).toWellFormed().normalize('NFC');
  return line
    .replace(TOWERS, '$1')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
}

/** Words of somebody else: one paragraph, in their own direction, and nothing in them is a binding. */
export function words(text: string): string {
  return isolated(tidy(text)).replaceAll('{', '{{');
}

/** The same for a screen reader. */
export function said(...parts: readonly (string | undefined)[]): string {
  const all = parts.filter((part) => part !== undefined && part !== '').map((part) => isolated(tidy(part ?? '')));
  return all.join(': ').slice(0, MOST_LABEL).toWellFormed();
}

const MARKS: Readonly<Record<Level, string>> = {
  info: 'M14 12.5 V20 M14 8 V8.5',
  success: 'M8 14.5 L12.2 18.7 L20.2 9.8',
  warn: 'M14 7.5 V15 M14 19.5 V20',
  error: 'M9 9 L19 19 M19 9 L9 19',
};

/** A disc with its mark, 32 units: told apart by its shape as well. */
function mark(level: Level, x: number, y: number): readonly SceneNode[] {
  return [
    { kind: 'ellipse', x, y, w: 32, h: 32, fill: `@${level}`, stroke: '@raised', strokeWidth: 4 },
    {
      ...{ kind: 'path', x, y, w: 32, h: 32, view: [28, 28], d: MARKS[level] },
      ...{ stroke: '@on-level', strokeWidth: 3, cap: 'round', join: 'round' },
    },
  ];
}

/** The app's first letter on its ground, a ring for the device itself, and the level at its corner. */
export function sign(title: string | undefined, level: Level, x: number, y: number): SceneNode {
  const [letter] = title === undefined ? [] : [...new Intl.Segmenter().segment(title.trim())];
  const inside: SceneNode =
    letter === undefined
      ? { kind: 'ellipse', x: 22, y: 22, w: 28, h: 28, stroke: '@accent', strokeWidth: 6 }
      : {
          ...{ kind: 'text', x: 0, y: 0, w: SIGN, h: SIGN, text: words(letter.segment.toLocaleUpperCase()), size: 36 },
          ...{ weight: 700, colour: '@accent', align: 'center', valign: 'middle', lines: 1 },
        };
  const ground: SceneNode = { kind: 'rect', w: SIGN, h: SIGN, radius: 22, fill: '@accent-soft' };
  return {
    kind: 'group',
    x,
    y,
    w: SIGN + 8,
    h: SIGN + 8,
    nodes: [ground, inside, ...mark(level, SIGN - 24, SIGN - 24)],
  };
}

export function comes(from: number): readonly Timeline[] {
  return [
    { node: CARD, property: 'y', from, to: 0, ms: COME_MS, ease: 'out' },
    { node: CARD, property: 'opacity', from: 0, to: 1, ms: 160, ease: 'out' },
  ];
}

export function goes(to: number): readonly Timeline[] {
  return [
    { node: CARD, property: 'y', to, ms: GO_MS, ease: 'in' },
    { node: CARD, property: 'opacity', to: 0, ms: GO_MS, ease: 'in' },
  ];
}

/** Whether lines run from the right in the language of the device. */
export function isMirrored(locale: string): boolean {
  try {
    const { textInfo, getTextInfo } = new Intl.Locale(locale) as Intl.Locale & {
      readonly textInfo?: { readonly direction?: string };
      getTextInfo?(): { readonly direction?: string };
    };
    return (getTextInfo ? getTextInfo.call(new Intl.Locale(locale)) : textInfo)?.direction === 'rtl';
  } catch {
    // Not a language tag: the rest of the screen goes on from the left, too.
    return false;
  }
}
