/** Words of somebody else on a screen of the Core: they stay words, in their own direction, and change nothing beside them. */
import type { SceneNode } from './scene.ts';
import { isolated } from './text-layout.ts';

/** Code units of one text: more than two lines hold, at any text scale. */
const MOST_SHOWN = 400;
const MOST_LABEL = 200;
/** Marks beyond so many on one letter would be drawn over what stands above and below. */
const TOWERS = /(\p{M}{4})\p{M}+/gu;
/** About so much of the field is the letter. */
const LETTER = 0.5;

function tidy(text: string, most = MOST_SHOWN): string {
  const line = text.slice(0, most).toWellFormed().normalize('NFC');
  return line
    .replace(TOWERS, '$1')
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim();
}

/** For a text node: one paragraph, isolated, and nothing in it is a binding. `most`: code units of it that are shown. */
export function foreignText(text: string, most?: number): string {
  return isolated(tidy(text, most)).replaceAll('{', '{{');
}

/** For a label: parts with a colon between them. It is spoken, so the marks of direction are gone and none are added. */
export function foreignLabel(...parts: readonly (string | undefined)[]): string {
  const all = parts
    .filter((part) => part !== undefined && part !== '')
    .map((part) => isolated(tidy(part ?? '')).slice(1, -1));
  return all.join(': ').slice(0, MOST_LABEL).toWellFormed();
}

export interface AppSignPlace {
  readonly x: number;
  readonly y: number;
  readonly size: number;
  /** Scale of the screen: its field does not grow, so its letter must not. */
  readonly textScale?: number;
}

/** The sign of an app, drawn by the Core: the first letter of its title. Without a title it is the ring of the device itself. */
export function appSign(title: string | undefined, { x, y, size, textScale = 1 }: AppSignPlace): SceneNode {
  const [letter] = title === undefined ? [] : [...new Intl.Segmenter().segment(tidy(title))];
  const third = size * 0.3;
  const inside: SceneNode =
    letter === undefined
      ? {
          kind: 'ellipse',
          x: third,
          y: third,
          w: size - 2 * third,
          h: size - 2 * third,
          stroke: '@accent',
          strokeWidth: size / 12,
        }
      : {
          kind: 'text',
          w: size,
          h: size,
          text: foreignText(letter.segment.toLocaleUpperCase()),
          size: Math.round((size * LETTER) / textScale),
          weight: 700,
          colour: '@accent',
          lines: 1,
          align: 'center',
          valign: 'middle',
        };
  const ground: SceneNode = { kind: 'rect', w: size, h: size, radius: size * 0.3, fill: '@accent-soft' };
  return { kind: 'group', x, y, w: size, h: size, nodes: [ground, inside] };
}
