/**
 * A question as the panel asks it: who, in its real name; what, in the words of the device; why, in those of the app
 * and marked as such. What does not fit on one page is on the next, and only the last one can be answered with yes: by
 * then all of it was shown.
 */

import { optionalIn, rightIn, yesTo } from '@device-core/plugin-api/inside/consent';
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
} from '@device-core/plugin-api/scene';
import type { Display } from '@device-core/plugin-api/services/display';
import type { Prompt } from '@device-core/plugin-api/services/prompts';
import type { TextSize } from '@device-core/plugin-api/services/renderer';
import { pagesOf, type Row, SWITCH } from './prompt-rows.ts';
import { timeOf } from './question-words.ts';
import { type QuestionWords, type Strings, stringsOf } from './strings/index.ts';

/** Buttons take no touch before it: a finger may already be on its way when the question comes. */
export const ARMED_MS = 700;
const GAP = GRID.gap;
const SIGN = 80;
/** From this text scale on there is no room for more than words. */
const LARGE = 1.5;

/** The card on the panel, below the strip of the system. */
function frameOf(textScale: number) {
  const large = textScale >= LARGE;
  const edge = large ? 8 : 24;
  const pad = large ? 24 : 32;
  const top = large ? 48 : 56;
  const w = PANEL_UNITS - 2 * edge;
  const h = PANEL_UNITS - top - edge;
  return { large, edge, pad, top, w, h, inner: w - 2 * pad, foot: h - pad - GRID.target, textScale };
}
type Frame = ReturnType<typeof frameOf>;

export const TAP = { yes: 'yes', no: 'no', more: 'more', item: 'item.' } as const;

export interface Look {
  readonly page: number;
  /** Optional capabilities that the person switched off. */
  readonly off: ReadonlySet<string>;
  /** Buttons take touch. */
  readonly armed: boolean;
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
  const strings = stringsOf(locale);
  const words = strings.questions[prompt.kind];
  const frame = frameOf(textScale);
  const { pad, inner, w, h, foot } = frame;
  const header = await headerOf(display, prompt, timeOf(prompt.until, locale, timeZone), { strings, frame });
  const top = header.height + GAP * 1.5;
  const room = foot - GAP - top;
  const pages = await pagesOf(display, prompt, header.cut, { large: frame.large, inner, room, locale, strings });
  const at = Math.min(page, pages.length - 1);
  const last = at === pages.length - 1;
  // A yes that allows nothing is none: something has to be switched on first.
  const empty = chosenOf(prompt, off).length === 0;
  const nodes: SceneNode[] = [{ kind: 'rect', w, h, radius: GRID.radius, fill: '@raised' }, ...header.nodes];
  nodes.push({ kind: 'rect', x: pad, y: top - GAP, w: inner, h: 2, fill: '@line' });
  let y = 0;
  const list: SceneNode[] = [];
  for (const row of pages[at] ?? []) {
    const on = row.item === undefined || !off.has(row.item.capability);
    list.push(...drawn(row, y, { on, armed, inner, locale, strings }));
    y += row.height;
  }
  nodes.push({ kind: 'group', x: pad, y: top, w: inner, h: room, clip: true, nodes: list });
  nodes.push(...footer({ ...words, more: strings.page }, frame, { last, armed, empty, page: at, pages: pages.length }));
  const card: SceneNode = {
    kind: 'group',
    id: 'question',
    x: frame.edge,
    y: frame.top,
    w,
    h,
    nodes: directed(nodes, w, dir),
  };
  const scene: Scene = {
    scene: 1,
    title: foreignLabel(prompt.title, words.asks),
    background: '@scrim',
    nodes: [card],
    ...(!armed && {
      timelines: ['yes', 'no'].map((node) => ({
        node,
        property: 'opacity' as const,
        from: 0.35,
        to: 1,
        ms: 200,
        delay: ARMED_MS - 200,
        ease: 'out' as const,
      })),
    }),
  };
  return { scene, pages: pages.length };
}

async function headerOf(
  display: Pick<Display, 'measure'>,
  prompt: Prompt,
  until: string,
  { strings, frame: { large, pad, inner, textScale } }: { readonly strings: Strings; readonly frame: Frame },
): Promise<{ readonly nodes: readonly SceneNode[]; readonly height: number; readonly cut: readonly string[] }> {
  const { kind, subject, title, version, signer, operation } = prompt;
  const side = large ? 0 : SIGN + GAP * 1.5;
  const width = inner - side;
  const [own] = await display.measure([{ text: foreignText(title), role: 'heading', width, lines: 1 }]);
  // An unreadable name looks like any other: the id stands in its place.
  const legible = (own?.missing ?? 0) === 0 && title.trim() !== '';
  const name = foreignText(legible ? title : subject);
  const asks = `${strings.questions[prompt.kind].asks} ${strings.until} ${until}`;
  const signed = signer === undefined ? strings.unsigned : `${strings.signed} ${signer}`;
  const by = [version, kind === 'consent' || signer !== undefined ? signed : undefined].filter(Boolean).join(' · ');
  // An act of a page has no subject: its session says nothing to a person.
  const named = legible ? (operation === undefined ? subject : '') : strings.noFont;
  const most = large ? 1 : 2;
  // With large letters each page has the name and the id alone.
  const below = [named, ...(large ? [] : [by])].filter((text) => text !== '');
  const lines = [
    ...(large ? [] : [{ text: asks, role: 'caption' as const, width, lines: 2 }]),
    ...below.map((text) => ({ text: foreignText(text), role: 'caption' as const, width: inner, lines: most })),
  ];
  const [big, ...sizes] = await display.measure([{ text: name, role: 'heading', width, lines: most }, ...lines]);
  const nameHeight = heightOf(big, 46);
  const asksHeight = large ? 0 : heightOf(sizes[0], 34);
  const block = Math.max(large ? 0 : SIGN, nameHeight + asksHeight);
  let y = pad + (block - nameHeight - asksHeight) / 2;
  const nodes: SceneNode[] = [
    { kind: 'text', x: pad + side, y, w: width, h: nameHeight, text: name, role: 'heading', lines: most },
  ];
  const sign = legible ? title : subject.split('.').at(-1);
  if (!large) nodes.push(appSign(sign, { x: pad, y: pad + (block - SIGN) / 2, size: SIGN, textScale }));
  y += nameHeight;
  for (const [index, line] of lines.entries()) {
    const beside = !large && index === 0;
    const h = heightOf(sizes[index], 34);
    if (index === (large ? 0 : 1)) y = pad + block + (large ? 0 : GAP);
    nodes.push({
      kind: 'text',
      x: beside ? pad + side : pad,
      y,
      w: line.width,
      h,
      text: line.text,
      role: 'caption',
      lines: line.lines,
      colour: beside ? '@text' : '@text-soft',
    });
    y += h;
  }
  // Words that the head has no room for stand in full on the first page.
  const shown = [legible ? title : subject, ...(large ? [] : [asks]), ...below];
  const cut = [big, ...sizes].flatMap((size, index) => (size?.cut ? [shown[index] ?? ''] : []));
  return { nodes, height: y, cut: [...cut, ...(large ? [asks, by].filter((text) => text !== '') : [])] };
}

function drawn(
  { item, place, nodes, switched, height }: Row,
  y: number,
  {
    on,
    armed,
    inner,
    locale,
    strings,
  }: {
    readonly on: boolean;
    readonly armed: boolean;
    readonly inner: number;
    readonly locale: string;
    readonly strings: Strings;
  },
): readonly SceneNode[] {
  const moved = nodes.map((node): SceneNode => ({ ...node, y: Number(node.y ?? 0) + y }));
  if (!switched || item === undefined || place === undefined) return moved;
  const { w, h } = SWITCH;
  const knob = h - 12;
  const at = { x: inner - w, y: y + (height - GAP - h) / 2 };
  const toggle: SceneNode = {
    kind: 'group',
    ...at,
    w,
    h,
    label: foreignLabel(rightIn(locale, item), on ? strings.on : strings.off),
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
  /** A yes would allow nothing. */
  readonly empty: boolean;
  readonly page: number;
  readonly pages: number;
}

function footer(
  { yes, no, more: next }: QuestionWords & { readonly more: string },
  { pad, inner, foot: y, large }: Frame,
  { last, armed, empty, page, pages }: Foot,
): readonly SceneNode[] {
  const w = (inner - GAP) / 2;
  const button = (id: 'yes' | 'no', x: number, title: string, tap: string, on = armed): SceneNode => ({
    kind: 'group',
    id,
    x,
    y,
    w,
    h: GRID.target,
    label: title,
    opacity: on ? 1 : 0.35,
    ...(on && { tap }),
    nodes: [
      {
        kind: 'rect',
        w,
        h: GRID.target,
        radius: GRID.target / 2,
        stroke: '@outline',
        strokeWidth: 2,
        fill: id === 'yes' ? '@accent' : '@sunken',
      },
      {
        kind: 'text',
        x: GAP,
        w: w - 2 * GAP,
        h: GRID.target,
        text: title,
        role: 'label',
        lines: 1,
        align: 'center',
        valign: 'middle',
        colour: id === 'yes' ? '@on-accent' : '@text',
      },
    ],
  });
  const more = large ? next : `${next}  ${page + 1} / ${pages}`;
  return [
    button('no', pad, no, TAP.no),
    last ? button('yes', pad + w + GAP, yes, TAP.yes, armed && !empty) : button('yes', pad + w + GAP, more, TAP.more),
  ];
}

/** Rights that a yes allows with these switched off. */
export function chosenOf(prompt: Prompt, off: ReadonlySet<string>): readonly string[] {
  return yesTo(
    prompt,
    optionalIn(prompt).filter((one) => !off.has(one)),
  );
}

/** The tap of an optional item, by its place in the question. */
export function itemTap(index: number): string {
  return `${TAP.item}${index}`;
}

function heightOf(size: TextSize | undefined, least: number): number {
  return Math.ceil(size?.height ?? least);
}
