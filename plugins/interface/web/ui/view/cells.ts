/** Values of a view as they are drawn: columns of a list, facts of one answer, badges. */
import { html } from 'htm/preact';
import type { ComponentChildren } from 'preact';
import { link } from '../core/route.ts';
import { session } from '../core/session.ts';
import { Badge } from '../parts/frame.ts';
import type { Column } from '../parts/table.ts';
import type { PageColumn, PageRule, PageView } from './shapes.ts';
import { memberOf, NUMBERS, type Piece, piecesOf, soleMember } from './template.ts';
import { type Say, templateOf } from './text.ts';

/** A declaration with the room of its strings. */
export type Drawn = Pick<PageView, 'levels' | 'marks' | 'words'> & { readonly say: Say };
export type Row = Readonly<Record<string, unknown>>;

/** Whether a row fits a rule; an absent rule fits every row. */
export function fitsRule(row: Row, rule: PageRule = {}): boolean {
  const mine = session.value;
  const fits = (value: unknown, wanted: unknown) =>
    wanted === '$session'
      ? value !== undefined && (value === mine?.id || value === mine?.browser)
      : wanted === '$any'
        ? value !== undefined
        : (value ?? null) === wanted;
  return Object.entries(rule).every(([path, values]) => values.some((one) => fits(memberOf(row, path), one)));
}

/** The first template that has all its members, drawn; undefined where none has. */
export function drawn(view: Drawn, templates: readonly string[], scope: unknown): ComponentChildren | undefined {
  for (const template of templates) {
    const pieces = piecesOf(template, scope, view.words);
    if (pieces !== undefined) return pieces.map((piece) => node(view, piece));
  }
  return undefined;
}

function node({ levels }: Drawn, { text, value, format }: Piece): ComponentChildren {
  if (format === 'plugin') return html`<a href=${link('plugins', [String(value)])}>${text}</a>`;
  if (format === 'code') return html`<code class="view-code">${text}</code>`;
  if (format !== 'badge') return text;
  const word = String(value);
  const level = levels !== undefined && Object.hasOwn(levels, word) ? levels[word] : 'quiet';
  return html`<${Badge} level=${level}>${text}<//>`;
}

/** Title and templates of a column. */
export function parts(
  column: PageColumn,
  { say, words }: Drawn,
): readonly [title: string, templates: readonly string[]] {
  const [title, ...templates] = typeof column === 'string' ? [column, `{${column}}`] : column;
  return [say(title), templates.map((one) => templateOf(words, one))];
}

/** Columns of a list. Those of one member sort it, and numbers stand at the right. */
export function columnsOf(
  columns: readonly PageColumn[],
  view: Drawn,
  rows: readonly Row[],
  sorts = true,
): Column<Row>[] {
  return columns.map((column, place) => {
    const [title, templates] = parts(column, view);
    const sole = soleMember(templates[0]!);
    const rawOf = (row: Row) => memberOf(row, sole!.path);
    const number = sole !== undefined && NUMBERS.has(sole.format) && rows.some((row) => typeof rawOf(row) === 'number');
    const by = (row: Row) => {
      const value = rawOf(row);
      return typeof value === 'number' || typeof value === 'string' ? value : '';
    };
    const cell = (row: Row) => {
      const shown = drawn(view, templates, row) ?? '';
      return place === 0 && view.marks
        ? html`<span class="view-marked">${shown}<${Marks} view=${view} row=${row} /></span>`
        : shown;
    };
    return { title, cell, number, by: sorts && sole ? by : undefined };
  });
}

function Marks({ view: { marks = [], say }, row }: { view: Drawn; row: Row }) {
  return marks
    .filter(({ only }) => fitsRule(row, only))
    .map(({ text, level }) => html`<${Badge} level=${level ?? 'quiet'}>${say(text, row)}<//>`);
}

/** Facts of one answer. */
export const factsOf = (columns: readonly PageColumn[], view: Drawn, data: Row) =>
  columns.map((column) => {
    const [title, templates] = parts(column, view);
    return [title, drawn(view, templates, data) ?? '–'] as const;
  });
