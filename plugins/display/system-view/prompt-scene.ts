/**
 * A question as the panel asks it: who, in its real name; what, in the words of the device; why, in those of the app and marked as such. What does
 * not fit on one page is on the next, and only the last one can be answered with yes.
 */
import type { Display, Prompt, PromptItem, TextSize } from '@device-core/plugin-api';
import {
  appSign,
  directed,
  directionOfLocale,
  foreignLabel,
  foreignText,
  GRID,
  iconNode,
  PANEL_UNITS,
  type Scene,
  type SceneNode,
  type TextNode,
} from '@device-core/plugin-api/scene';
import { detailOf, timeOf, wordsOf } from './question-words.ts';

/** Before it buttons take no touch: nobody answers a question that has just come under the finger. */
export const ARMED_MS = 700;
const EDGE = 24;
const TOP = 56;
const PAD = 32;
const W = PANEL_UNITS - 2 * EDGE;
const H = PANEL_UNITS - TOP - EDGE;
const INNER = W - 2 * PAD;
const SIGN = 80;
const GAP = GRID.gap;
const SWITCH = { w: 80, h: 48 } as const;
const NO_FONT = 'its name has letters that no font of this device has';
const FOOT = H - PAD - GRID.target;

export const TAP = { yes: 'yes', no: 'no', more: 'more', item: 'item.' } as const;

export interface Look {
  readonly page: number;
  /** Optional capabilities that the person switched off. */
  readonly off: ReadonlySet<string>;
  /** Buttons take touch. */
  readonly armed: boolean;
}

interface Row {
  /** In the question. */
  readonly place: number;
  readonly item: PromptItem;
  readonly summary: TextNode;
  readonly detail?: TextNode;
  readonly reason: TextNode;
  readonly height: number;
}

export interface PromptPage {
  readonly scene: Scene;
  readonly pages: number;
}

export async function promptScene(
  display: Pick<Display, 'measure' | 'surroundings'>,
  prompt: Prompt,
  { page, off, armed }: Look,
): Promise<PromptPage> {
  const { locale, timeZone, textScale } = await display.surroundings();
  const dir = directionOfLocale(locale);
  const header = await headerOf(display, prompt, { until: timeOf(prompt.until, locale, timeZone), textScale });
  const top = header.height + GAP;
  const room = FOOT - GAP - top;
  const pages = paged(await rowsOf(display, prompt), room);
  const at = Math.min(page, pages.length - 1);
  const last = at === pages.length - 1;
  const nodes: SceneNode[] = [{ kind: 'rect', w: W, h: H, radius: GRID.radius, fill: '@raised' }, ...header.nodes];
  nodes.push({ kind: 'rect', x: PAD, y: top - GAP / 2, w: INNER, h: 2, fill: '@line' });
  let y = 0;
  const list: SceneNode[] = [];
  for (const row of pages[at] ?? []) {
    list.push(...drawn(row, y, { on: !off.has(row.item.capability), armed }));
    y += row.height;
  }
  nodes.push({ kind: 'group', x: PAD, y: top, w: INNER, h: room, clip: true, nodes: list });
  nodes.push(...footer(prompt, { last, armed, page: at, pages: pages.length }));
  const card: SceneNode = {
    kind: 'group',
    id: 'question',
    x: EDGE,
    y: TOP,
    w: W,
    h: H,
    nodes: directed(nodes, W, dir),
  };
  const scene: Scene = {
    scene: 1,
    title: foreignLabel(prompt.title, wordsOf(prompt).asks),
    background: '@scrim',
    nodes: [card],
    ...(!armed && {
      timelines: ['yes', 'no'].map((node) => ({
        ...{
          node,
          property: 'opacity' as const,
          from: 0.35,
          to: 1,
          ms: 200,
          delay: ARMED_MS - 200,
          ease: 'out' as const,
        },
      })),
    }),
  };
  return { scene, pages: pages.length };
}

async function headerOf(
  display: Pick<Display, 'measure'>,
  prompt: Prompt,
  { until, textScale }: { readonly until: string; readonly textScale: number },
): Promise<{ readonly nodes: readonly SceneNode[]; readonly height: number }> {
  const { subject, title, version, signer } = prompt;
  const width = INNER - SIGN - GAP * 1.5;
  const [own] = await display.measure([{ text: foreignText(title), role: 'heading', width, lines: 1 }]);
  // A name that nobody could read would be any name: then the id stands in its place.
  const legible = (own?.missing ?? 0) === 0 && title.trim() !== '';
  const name = foreignText(legible ? title : subject);
  const asks = `${wordsOf(prompt).asks} until ${until}`;
  const parts = [legible ? subject : NO_FONT, version, signer === undefined ? undefined : `signed by ${signer}`];
  const who = parts.filter(Boolean).join(' · ');
  const [big, small, line] = await display.measure([
    { text: name, role: 'heading', width, lines: 1 },
    { text: asks, role: 'caption', width, lines: 2 },
    { text: who, role: 'caption', width: INNER, lines: 2 },
  ]);
  const nameHeight = heightOf(big, 46);
  const asksHeight = heightOf(small, 34);
  const block = Math.max(SIGN, nameHeight + asksHeight);
  const x = PAD + SIGN + GAP * 1.5;
  const y = PAD + (block - nameHeight - asksHeight) / 2;
  const below = PAD + block + GAP;
  const nodes: SceneNode[] = [
    appSign(legible ? title : subject.split('.').at(-1), {
      x: PAD,
      y: PAD + (block - SIGN) / 2,
      size: SIGN,
      textScale,
    }),
    { kind: 'text', x, y, w: width, h: nameHeight, text: name, role: 'heading', lines: 1 },
    { kind: 'text', x, y: y + nameHeight, w: width, h: asksHeight, text: asks, role: 'caption', lines: 2 },
    {
      ...{ kind: 'text', x: PAD, y: below, w: INNER, h: heightOf(line, 34), text: foreignText(who), role: 'caption' },
      ...{ colour: '@text-soft', lines: 2 },
    },
  ];
  return { nodes, height: below + heightOf(line, 34) };
}

async function rowsOf(display: Pick<Display, 'measure'>, { what }: Prompt): Promise<readonly Row[]> {
  const texts = what.map((item) => {
    const width = INNER - (item.optional ? SWITCH.w + GAP : 0);
    const detail = detailOf(item);
    return {
      item,
      width,
      summary: foreignText(capital(item.summary)),
      detail: detail === undefined ? undefined : foreignText(detail),
      // Quotation marks that the app cannot close: inside there are none.
      reason: `The app says: “${foreignText(item.reason.replace(/[“”"]/g, '’'))}”`,
    };
  });
  const sizes = await display.measure(
    texts.flatMap(({ width, summary, detail, reason }) => [
      { text: summary, role: 'label' as const, width, lines: 2 },
      { text: detail ?? '', role: 'caption' as const, width, lines: 2 },
      { text: reason, role: 'caption' as const, width, lines: 2 },
    ]),
  );
  return texts.map(({ item, width, summary, detail, reason }, index): Row => {
    const heights = [38, 34, 34].map((least, part) => heightOf(sizes[index * 3 + part], least));
    const [high = 0, middle = 0, low = 0] = heights;
    const between = detail === undefined ? 0 : middle;
    const text = (y: number, h: number, said: string): TextNode => ({
      ...{ kind: 'text', y, w: width, h, text: said, lines: 2, role: 'caption', colour: '@text-soft' },
    });
    return {
      item,
      place: index,
      summary: { ...text(0, high, summary), role: 'label', colour: '@text' },
      ...(detail !== undefined && { detail: { ...text(high, middle, detail), colour: '@text' } }),
      reason: text(high + between, low, reason),
      height: high + between + low + GAP,
    };
  });
}

/** As many rows on a page as fit; at least one. */
function paged(rows: readonly Row[], room: number): readonly (readonly Row[])[] {
  const pages: Row[][] = [[]];
  let used = 0;
  for (const row of rows) {
    if (used > 0 && used + row.height - GAP > room) {
      pages.push([]);
      used = 0;
    }
    pages.at(-1)?.push(row);
    used += row.height;
  }
  return pages;
}

function drawn(
  { item, place, summary, detail, reason, height }: Row,
  y: number,
  { on, armed }: { on: boolean; armed: boolean },
) {
  const moved = [summary, detail, reason].flatMap((node) => (node ? [{ ...node, y: (node.y ?? 0) + y }] : []));
  if (!item.optional) return moved;
  const { w, h } = SWITCH;
  const knob = h - 12;
  const at = { x: INNER - w, y: y + (height - GAP - h) / 2 };
  const toggle: SceneNode = {
    ...{ kind: 'group', ...at, w, h, label: foreignLabel(item.summary, on ? 'on' : 'off') },
    ...(armed && { tap: itemTap(place) }),
    nodes: [
      { kind: 'rect', w, h, radius: h / 2, fill: on ? '@accent' : '@sunken', stroke: '@outline', strokeWidth: 2 },
      { kind: 'ellipse', x: on ? w - knob - 6 : 6, y: 6, w: knob, h: knob, fill: on ? '@on-accent' : '@text-soft' },
      iconNode(
        on ? 'check' : 'close',
        { x: on ? w - knob : 12, y: 12, size: knob - 12 },
        { colour: on ? '@accent' : '@sunken' },
      ),
    ],
  };
  return [...moved, toggle];
}

interface Foot {
  readonly last: boolean;
  readonly armed: boolean;
  readonly page: number;
  readonly pages: number;
}

function footer(prompt: Prompt, { last, armed, page, pages }: Foot): readonly SceneNode[] {
  const { yes, no } = wordsOf(prompt);
  const w = (INNER - GAP) / 2;
  const button = (id: 'yes' | 'no', x: number, title: string, tap: string): SceneNode => ({
    ...{ kind: 'group', id, x, y: FOOT, w, h: GRID.target, label: title, opacity: armed ? 1 : 0.35 },
    ...(armed && { tap }),
    nodes: [
      {
        ...{ kind: 'rect', w, h: GRID.target, radius: GRID.target / 2, stroke: '@outline', strokeWidth: 2 },
        fill: id === 'yes' ? '@accent' : '@sunken',
      },
      {
        ...{ kind: 'text', x: GAP, w: w - 2 * GAP, h: GRID.target, text: title, role: 'label', lines: 1 },
        ...{ align: 'center', valign: 'middle', colour: id === 'yes' ? '@on-accent' : '@text' },
      },
    ],
  });
  const more = `More  ${page + 1} / ${pages}`;
  return [
    button('no', PAD, no, TAP.no),
    last ? button('yes', PAD + w + GAP, yes, TAP.yes) : button('yes', PAD + w + GAP, more, TAP.more),
  ];
}

/** The tap of an optional item, by its place in the question. */
export function itemTap(index: number): string {
  return `${TAP.item}${index}`;
}

function capital(text: string): string {
  return text.charAt(0).toLocaleUpperCase() + text.slice(1);
}

function heightOf(size: TextSize | undefined, least: number): number {
  return Math.ceil(size?.height ?? least);
}
