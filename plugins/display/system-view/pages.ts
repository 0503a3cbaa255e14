/** Whole screens of the system: safe mode, and the last one before the power goes. Pure but for measuring. */

import {
  directed,
  directionOfLocale,
  foreignLabel,
  foreignText,
  GRID,
  iconNode,
  PANEL_UNITS,
  type Scene,
  type SceneNode,
} from '@device-core/plugin-api/scene';
import type { Display } from '@device-core/plugin-api/services/display';
import { codeNode } from './code.ts';
import { type Strings, stringsOf } from './strings/index.ts';

const PAD = GRID.margin;
const W = PANEL_UNITS - 2 * PAD;
const CODE = 248;
export const SWITCH_OFF = 'switch-off';

export interface Blame {
  /** Most likely to blame. */
  readonly plugin?: string;
  readonly outcome: string;
  readonly message?: string;
  /** Why the boot loader chose safe mode. */
  readonly cause?: string;
  /** It is switched off. */
  readonly done?: true;
}

export async function safeModeScene(
  display: Pick<Display, 'measure' | 'surroundings'>,
  blame: Blame,
  code: string,
): Promise<Scene> {
  const { locale } = await display.surroundings();
  const { safeMode: words } = stringsOf(locale);
  const { plugin, outcome, message, cause, done } = blame;
  const said = [words.outcomes[outcome] ?? words.unknown, plugin === undefined ? '' : words.blame(foreignText(plugin))]
    .filter(Boolean)
    .join(' ');
  const narrow = W - CODE - GRID.gap * 2;
  const reasons = [cause, message].filter((one) => one !== undefined).map((one) => foreignText(sentenceCase(one)));
  const why = reasons.length === 0 ? undefined : reasons.join(' · ');
  const then = done && plugin !== undefined ? words.done(foreignText(plugin)) : words.again;
  const [first, second, third] = await display.measure([
    { text: said, role: 'body', width: W, lines: 4 },
    { text: why ?? '', role: 'caption', width: narrow, lines: 5 },
    { text: then, role: 'caption', width: W, lines: 2 },
  ]);
  const saidHeight = Math.ceil(first?.height ?? 88);
  const whyHeight = Math.ceil(second?.height ?? 34);
  const thenHeight = Math.ceil(third?.height ?? 34);
  let y = 56;
  const nodes: SceneNode[] = [
    iconNode('shield', { x: PAD, y, size: 60 }, { colour: '@warn' }),
    {
      kind: 'text',
      x: PAD + 76,
      y,
      w: W - 76 - 48,
      h: 60,
      text: words.title,
      role: 'title',
      lines: 1,
      valign: 'middle',
    },
  ];
  y += 60 + GRID.gap * 1.5;
  nodes.push({ kind: 'text', x: PAD, y, w: W, h: saidHeight, text: said, role: 'body', lines: 4 });
  y += saidHeight + GRID.gap * 1.5;
  nodes.push(codeNode(code, { end: why === undefined ? PAD + CODE : PAD + W, y, size: CODE, label: words.code }));
  if (why !== undefined)
    nodes.push({
      kind: 'text',
      x: PAD,
      y,
      w: narrow,
      h: Math.min(whyHeight, CODE),
      text: why,
      role: 'caption',
      colour: '@text-soft',
      lines: 5,
    });
  const foot = PANEL_UNITS - PAD - GRID.target;
  // Nothing is left to be touched.
  const isOver = plugin === undefined || done !== undefined;
  nodes.push({
    kind: 'text',
    x: PAD,
    y: isOver ? PANEL_UNITS - PAD - thenHeight : foot - thenHeight - GRID.gap,
    w: W,
    h: thenHeight,
    text: then,
    role: 'caption',
    lines: 2,
  });
  if (!isOver)
    nodes.push({
      kind: 'group',
      x: PAD,
      y: foot,
      w: W,
      h: GRID.target,
      tap: SWITCH_OFF,
      label: foreignLabel(words.switchOff.replace(/:$/u, ''), plugin),
      nodes: [
        {
          kind: 'rect',
          w: W,
          h: GRID.target,
          radius: GRID.target / 2,
          fill: '@accent',
          stroke: '@outline',
          strokeWidth: 2,
        },
        {
          kind: 'text',
          x: GRID.gap,
          w: W - 2 * GRID.gap,
          h: GRID.target,
          role: 'label',
          lines: 1,
          align: 'center',
          valign: 'middle',
          colour: '@on-accent',
          text: `${words.switchOff} ${foreignText(plugin)}`,
        },
      ],
    });
  return {
    scene: 1,
    title: words.title,
    background: '@background',
    nodes: directed(nodes, PANEL_UNITS, directionOfLocale(locale)),
  };
}

export function goodbyeScene(reason: string | undefined, { goodbye }: Pick<Strings, 'goodbye'>): Scene {
  const nodes: SceneNode[] = [
    iconNode('power', { x: 300, y: 224, size: 120 }, { colour: '@accent' }),
    { kind: 'text', x: PAD, y: 376, w: W, h: 72, text: goodbye, role: 'title', align: 'center', lines: 1 },
  ];
  if (reason !== undefined)
    nodes.push({
      kind: 'text',
      x: PAD,
      y: 456,
      w: W,
      h: 88,
      text: foreignText(reason),
      role: 'body',
      colour: '@text-soft',
      align: 'center',
      lines: 2,
    });
  return { scene: 1, title: goodbye, background: '@background', nodes };
}

const sentenceCase = (text: string): string => text.charAt(0).toLocaleUpperCase() + text.slice(1);
