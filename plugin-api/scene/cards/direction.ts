/** Which way a screen runs: as its language is read. Screens are laid out from left to right and mirrored as a whole at the end. */
import type { SceneNode, TextNode } from '../scene.ts';
import { directionOf } from '../text-layout.ts';

export type Direction = 'ltr' | 'rtl';

const RIGHT_TO_LEFT = new Set([
  'ar',
  'arc',
  'ckb',
  'dv',
  'fa',
  'ha-arab',
  'he',
  'ks',
  'ku-arab',
  'ps',
  'sd',
  'syr',
  'ug',
  'ur',
  'yi',
]);

export function directionOfLocale(locale: string): Direction {
  const [language = '', script] = locale.toLowerCase().split(/[-_]/);
  return RIGHT_TO_LEFT.has(language) || (script !== undefined && RIGHT_TO_LEFT.has(`${language}-${script}`))
    ? 'rtl'
    : 'ltr';
}

/** Its letters are those of its name, not of what is shown. */
const BINDING = /\{[^{}]*\}/g;
const OTHER_END = { start: 'end', end: 'start', center: 'center' } as const;

/** A column of texts has one edge: a line of the other direction ends where the others start. */
function aligned(node: TextNode, dir: Direction): TextNode {
  const own =
    node.dir === undefined || node.dir === 'auto' ? directionOf(node.text.replaceAll(BINDING, ''), dir) : node.dir;
  if (own === dir) return node;
  return { ...node, align: OTHER_END[node.align ?? 'start'] };
}

/** Nodes that were laid out from left to right in `width`, as a screen of this direction shows them. */
export function directed(nodes: readonly SceneNode[], width: number, dir: Direction): SceneNode[] {
  return nodes.map((node) => {
    const placed = dir === 'rtl' ? { ...node, x: width - (node.x ?? 0) - (node.w ?? 0) } : node;
    if (placed.kind === 'group') return { ...placed, nodes: directed(placed.nodes, placed.w ?? width, dir) };
    return placed.kind === 'text' ? aligned(placed, dir) : placed;
  });
}
