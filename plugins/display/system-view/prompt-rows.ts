/**
 * All that a question says below its head, as rows: the act, what it is about, each right. Nothing is cut: a text has
 * as many lines as it needs, and a row that is taller than a page goes on on the next one.
 */

import { maybe } from '@device-core/plugin-api';
import { actIn, claimIn, rightIn } from '@device-core/plugin-api/inside/consent';
import { foreignText, GRID, type SceneNode, type TextNode } from '@device-core/plugin-api/scene';
import type { Display } from '@device-core/plugin-api/services/display';
import type { Prompt, PromptItem } from '@device-core/plugin-api/services/prompts';
import type { TextSize } from '@device-core/plugin-api/services/renderer';
import { detailOf, quotedWords } from './question-words.ts';
import type { Strings } from './strings/index.ts';

export const SWITCH = { w: 80, h: 48 } as const;
const GAP = GRID.gap;
/** Characters of one text node, which may triple until it is drawn; what is longer stands in several. */
const MOST_TEXT = 600;

export interface Row {
  /** In the question; absent: it can be answered with the whole alone. */
  readonly place?: number;
  readonly item?: PromptItem;
  readonly nodes: readonly SceneNode[];
  /** The person may switch it. */
  readonly switched: boolean;
  readonly height: number;
}

/** A text that is wrapped to a width. */
interface Line {
  readonly text: string;
  readonly role: 'label' | 'caption';
  readonly weight?: 700;
  readonly width: number;
  readonly soft?: boolean;
}

interface Block extends Line {
  readonly height: number;
  /** Height of one of its lines. */
  readonly step: number;
}

interface Part {
  readonly place?: number;
  readonly item?: PromptItem;
  readonly lines: readonly Line[];
  readonly switched?: boolean;
}

interface Measured extends Omit<Part, 'lines'> {
  readonly blocks: readonly Block[];
}

export interface Room {
  readonly large: boolean;
  /** Width and height of the list. */
  readonly inner: number;
  readonly room: number;
  readonly locale: string;
  readonly strings: Strings;
}

/** The rows of each page. `head`: texts that did not fit into the head; they come first, in full. */
export async function pagesOf(
  display: Pick<Display, 'measure'>,
  prompt: Prompt,
  head: readonly string[],
  room: Room,
): Promise<readonly (readonly Row[])[]> {
  const parts = partsOf(prompt, head, room);
  const sizes = (
    await display.measure(parts.flatMap(({ lines }) => lines.map(({ soft: _, ...line }) => line)))
  ).values();
  const measured = parts.map(({ lines, ...part }) => ({
    ...part,
    blocks: lines.map((line) => blockOf(line, sizes.next().value)),
  }));
  return paged(measured, room.room);
}

function partsOf(prompt: Prompt, head: readonly string[], { large, inner, locale, strings }: Room): readonly Part[] {
  const { kind, act, operation, names, about, claims = [], what } = prompt;
  const big = large
    ? ({ role: 'caption', weight: 700, width: inner } as const)
    : ({ role: 'label', width: inner } as const);
  const small = { role: 'caption', width: inner } as const;
  const texts = (line: Omit<Line, 'text'>, text: string): readonly Line[] =>
    pieces(text).map((piece) => ({ ...line, text: foreignText(piece, MOST_TEXT) }));
  const parts: Part[] = head.map((text) => ({ lines: texts(small, text) }));
  if (act !== undefined) {
    const said = { act, ...maybe({ operation, names }) };
    parts.push({ lines: texts(big, actIn(locale, said)) });
  }
  if (about) {
    const { id, title, version, signer } = about;
    const signed =
      signer === undefined ? undefined : signer === null ? strings.unsigned : `${strings.signed} ${signer}`;
    const of = [version === undefined ? undefined : `${strings.version} ${version}`, signed]
      .filter(Boolean)
      .join(' · ');
    parts.push({
      lines: [
        ...(title === undefined || title.trim() === '' ? [] : texts(big, quotedWords(title))),
        ...texts({ ...small, soft: true }, id),
        ...(of === '' ? [] : texts(small, of)),
      ],
    });
  }
  const first = parts.length;
  for (const claim of claims) parts.push({ lines: texts(big, claimIn(locale, claim)) });
  for (const [place, item] of what.entries()) {
    const switched = kind !== 'confirm' && item.optional;
    const width = inner - (switched ? SWITCH.w + GAP : 0);
    const sentence = rightIn(locale, item);
    const detail = detailOf(item, sentence);
    const lines = [
      ...texts({ ...big, width }, sentence),
      ...(detail === undefined ? [] : texts({ ...small, width }, detail)),
      ...(item.reason === ''
        ? []
        : texts({ ...small, width, soft: true }, `${strings.appSays} ${quotedWords(item.reason)}`)),
    ];
    parts.push({ place, item, lines, switched });
  }
  // Beside the first right, so that it never ends a page.
  const right = parts[first];
  if (kind === 'confirm' && right)
    parts[first] = { ...right, lines: [...texts({ ...small, soft: true }, strings.gives), ...right.lines] };
  return parts;
}

function blockOf(line: Line, size: TextSize | undefined): Block {
  const height = Math.ceil(size?.height ?? 34);
  return { ...line, height, step: height / Math.max(1, size?.lines ?? 1) };
}

/** As many rows on a page as fit; at least one. */
function paged(parts: readonly Measured[], room: number): readonly (readonly Row[])[] {
  const pages: Row[][] = [[]];
  let used = 0;
  const place = (row: Row) => {
    if (used > 0 && used + row.height - GAP > room) {
      pages.push([]);
      used = 0;
    }
    pages.at(-1)?.push(row);
    used += row.height;
  };
  for (const part of parts) for (const row of rowsOf(part, room)) place(row);
  return pages;
}

/** One row, or where it is taller than a page one for each page that it fills. The switch stands beside its beginning. */
function rowsOf({ blocks, switched = false, ...part }: Measured, room: number): readonly Row[] {
  const rows: Row[] = [];
  let nodes: SceneNode[] = [];
  let y = 0;
  const end = () => {
    if (nodes.length > 0) rows.push({ ...part, nodes, switched: switched && rows.length === 0, height: y + GAP });
    nodes = [];
    y = 0;
  };
  const whole = blocks.reduce((sum, { height }) => sum + height, 0);
  for (const block of blocks) {
    const { height, step } = block;
    if (whole <= room || y + height <= room) {
      nodes.push(textOf(block, y));
      y += height;
      continue;
    }
    const count = Math.round(height / step);
    for (let from = 0; from < count; ) {
      const fit = Math.floor((room - y + 0.5) / step);
      if (fit < 1 && y > 0) {
        end();
        continue;
      }
      const to = Math.min(count, from + Math.max(1, fit));
      nodes.push(slice(block, y, from, to));
      y += (to - from) * step;
      from = to;
      if (from < count) end();
    }
  }
  end();
  return rows;
}

function textOf({ text, role, weight, width, soft, height }: Block, y: number): TextNode {
  const colour = soft ? '@text-soft' : '@text';
  return { kind: 'text', y, w: width, h: height, colour, text, role, ...maybe({ weight }) };
}

/** Lines of a text, the first of them at `y`. */
function slice(block: Block, y: number, from: number, to: number): SceneNode {
  const { width, step } = block;
  return { kind: 'group', y, w: width, h: (to - from) * step, clip: true, nodes: [textOf(block, -from * step)] };
}

/** A text in parts that a node takes, broken at blanks where there are some. */
function pieces(text: string): readonly string[] {
  const found: string[] = [];
  let rest = text;
  while (rest.length > MOST_TEXT) {
    const blank = rest.lastIndexOf(' ', MOST_TEXT);
    const half = /[\udc00-\udfff]/.test(rest.charAt(MOST_TEXT)) ? 1 : 0;
    const at = blank > MOST_TEXT / 2 ? blank : MOST_TEXT - half;
    found.push(rest.slice(0, at));
    rest = rest.slice(at);
  }
  return [...found, rest];
}
