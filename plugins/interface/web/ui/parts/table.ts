import { html } from 'htm/preact';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Empty } from './frame.ts';

export interface Column<T> {
  readonly title: string;
  readonly cell: (row: T) => ComponentChildren;
  /** Numbers stand at the right. */
  readonly number?: boolean;
  /** Makes the column sortable by a click on its title. */
  readonly by?: ((row: T) => string | number) | undefined;
}

/** A table that is a list of cards on a narrow screen. At most `most` rows are drawn until the reader asks for more. */
export function Table<T>(props: {
  readonly label: string;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly rowKey: (row: T) => string;
  /** Link of a row; a click follows it. */
  readonly href?: (row: T) => string;
  readonly empty?: string;
  readonly most?: number;
}) {
  const [sort, setSort] = useState<{ column: number; down: boolean } | undefined>(undefined);
  const [most, setMost] = useState(props.most ?? 100);
  if (props.rows.length === 0) return html`<${Empty} title=${props.empty} />`;
  const by = sort && props.columns[sort.column]?.by;
  const sorted = by
    ? [...props.rows].sort((a, b) => {
        const [x, y] = [by(a), by(b)];
        return (x < y ? -1 : x > y ? 1 : 0) * (sort?.down ? -1 : 1);
      })
    : props.rows;
  const title = ({ title: text, by: sorts }: Column<T>, at: number) =>
    sorts
      ? html`<button type="button" onClick=${() => setSort({ column: at, down: sort?.column === at ? !sort.down : true })}>${text}<span aria-hidden="true">${sort?.column === at ? (sort.down ? ' ↓' : ' ↑') : ''}</span></button>`
      : text;
  const order = (at: number) => (sort?.column === at ? (sort.down ? 'descending' : 'ascending') : undefined);
  const cell = (row: T, column: Column<T>, at: number) =>
    html`<td key=${at} class=${column.number ? 'number' : ''} data-title=${column.title}>${at === 0 && props.href ? html`<a class="row-link" href=${props.href(row)}>${column.cell(row) || '–'}</a>` : column.cell(row)}</td>`;
  // A wide table without focusable parts takes the focus itself, so that keys scroll it.
  const still = !props.href && !props.columns.some(({ by: sorts }) => sorts);
  return html`<div class="table" tabindex=${still ? 0 : undefined} role=${still ? 'group' : undefined} aria-label=${still ? props.label : undefined}><table aria-label=${props.label}><thead><tr>${props.columns.map((column, at) => html`<th key=${at} scope="col" class=${column.number ? 'number' : ''} aria-sort=${order(at)}>${title(column, at)}</th>`)}</tr></thead><tbody>${sorted.slice(0, most).map((row) => html`<tr key=${props.rowKey(row)} class=${props.href ? 'linked' : ''}>${props.columns.map((column, at) => cell(row, column, at))}</tr>`)}</tbody></table>${sorted.length > most && html`<button type="button" class="button quiet" onClick=${() => setMost(most * 4)}>+ ${sorted.length - most}</button>`}</div>`;
}

/** Thousands of rows of one height: only those that are seen are drawn. With `follow`, it stays at its end while the reader is there. */
export function LongList<T>(props: {
  readonly label: string;
  readonly items: readonly T[];
  /** Pixels of a row. */
  readonly height: number;
  readonly row: (item: T, index: number) => ComponentChildren;
  readonly itemKey: (item: T, index: number) => string | number;
  readonly follow?: boolean;
  /** How many items went from the front so far: a reader who looks back keeps his place. */
  readonly gone?: number;
}) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const atEnd = useRef(true);
  const seen = box.current?.clientHeight ?? 600;
  const first = Math.max(0, Math.floor(top / props.height) - 8);
  const last = Math.min(props.items.length, Math.ceil((top + seen) / props.height) + 8);
  const gone = useRef(props.gone ?? 0);
  useLayoutEffect(() => {
    const went = (props.gone ?? 0) - gone.current;
    gone.current = props.gone ?? 0;
    if (!box.current) return;
    if (props.follow && atEnd.current) box.current.scrollTop = box.current.scrollHeight;
    else if (went > 0) box.current.scrollTop -= went * props.height;
  }, [props.items, props.follow, props.gone]);
  const scrolled = () => {
    // A list that has just gone may still be told of a scroll.
    if (box.current === null) return;
    const { scrollTop, scrollHeight, clientHeight } = box.current;
    // Only who goes up leaves the end: a box that becomes smaller has its end elsewhere, too.
    if (scrollTop + clientHeight >= scrollHeight - props.height) atEnd.current = true;
    else if (scrollTop < top) atEnd.current = false;
    setTop(scrollTop);
  };
  return html`<div class="long" ref=${box} tabindex="0" role="list" aria-label=${props.label} onScroll=${scrolled}><div role="presentation" style=${{ height: `${props.items.length * props.height}px`, position: 'relative' }}>${props.items.slice(first, last).map((item, at) => html`<div key=${props.itemKey(item, first + at)} role="listitem" aria-setsize=${props.items.length} aria-posinset=${first + at + 1} class="long-row" style=${{ height: `${props.height}px`, top: `${(first + at) * props.height}px` }}>${props.row(item, first + at)}</div>`)}</div></div>`;
}
