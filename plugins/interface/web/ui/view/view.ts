/** An operation as it is seen on a page: the list or the facts of its answer, and what can be done to them. */
import { html } from 'htm/preact';
import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { Operation } from '../core/operation.ts';
import { link } from '../core/route.ts';
import { type Asked, sheet, useAsk, useEvents, useVisible } from '../parts/ask.ts';
import { Button, LinkButton } from '../parts/button.ts';
import { Choice } from '../parts/field.ts';
import { Answer, Card, Empty, Facts, Head, Loading } from '../parts/frame.ts';
import { operations } from '../parts/offered.ts';
import { Table } from '../parts/table.ts';
import { type Acts, acted, pathParams, useActs } from './acts.ts';
import { pathNames, readOf } from './asking.ts';
import { columnsOf, type Drawn, drawn, factsOf, fitsRule, type Row } from './cells.ts';
import { Edit } from './edit.ts';
import type { PageRule, PageView } from './shapes.ts';
import { memberOf } from './template.ts';
import { sayIn, templateOf, text } from './text.ts';

sheet('view/view.css');

export interface ViewProps {
  /** Name of the operation. */
  readonly of: string;
  /** Address of the page, for links to one row: `['traces']`. */
  readonly base: readonly string[];
  /** Values of the path of the operation: `['4bf9...']` for `/traces/:id`. */
  readonly path?: readonly string[];
  /** Head of the page, where the view is a page of its own; else it is a card of one. */
  readonly title?: string;
  readonly lead?: ComponentChildren;
  /** Rows that are shown; all if absent. */
  readonly only?: PageRule;
  /** Members that the page has otherwise than the operation says. */
  readonly more?: Partial<PageView>;
  /** The plugin that brought the page. */
  readonly plugin?: string;
  /** Draws what stands around the answer, or instead of it. */
  readonly around?: (asked: Asked<Row>, answer: ComponentChildren) => ComponentChildren;
  readonly children?: ComponentChildren;
}

export function View(props: ViewProps) {
  const all = operations.value;
  const operation = all?.find(({ name }) => name === props.of);
  const isPage = props.title !== undefined;
  if (operation?.page !== undefined)
    return html`<${Shown} key=${props.of} ...${props} view=${{ ...operation.page, ...props.more }} operation=${operation} operations=${all} />`;
  if (!isPage) return null;
  const missing = all === undefined ? html`<${Loading} />` : html`<${Empty} title=${text('gone')} />`;
  return html`<${Head} title=${props.title} />${missing}${props.children}`;
}

interface ShownProps extends ViewProps {
  readonly view: PageView;
  readonly operation: Operation;
  readonly operations: readonly Operation[];
}

function Shown(props: ShownProps) {
  const { view, operation, operations: all, path = [], title, plugin } = props;
  const [param, ...choices] = view.choice ?? [];
  const [chosen, setChosen] = useState('all');
  const wanted = chosen === 'all' ? undefined : chosen;
  const given = { ...namedPath(operation, path), ...view.params, [param ?? 'all']: wanted };
  const read = readOf(operation.name, given, all);
  const asked = useAsk<Row>(read?.path, read?.rest);
  useRenewed(view.after === undefined, asked.reload);
  useActed(asked.reload);
  const say = sayIn(view.words);
  const one: Drawn = { ...view, say };
  const acts = useActs(one, all);
  const options = ['all', ...choices].map((word) => [word, word === 'all' ? text('all') : say(word)] as const);
  const choice =
    param && html`<${Choice} label=${say(param)} value=${chosen} options=${options} onChange=${setChosen} />`;
  const body = (data: Row) =>
    html`<${Body} ...${props} one=${one} acts=${acts} data=${data} choice=${choice} reload=${asked.reload} />`;
  const after = view.after && html`<${After} topics=${view.after} then=${asked.reload} />`;
  const framed = title === undefined && asked.data === undefined && asked.error !== undefined;
  const bare = html`<${Answer} of=${asked}>${body}<//>`;
  const answer = framed ? html`<${Card} title=${view.heading && say(view.heading)}>${bare}<//>` : bare;
  return html`${after}${title !== undefined && html`<${Heading} ...${props} acts=${acts} asked=${asked} />`}${props.around ? props.around(asked, answer) : answer}${plugin !== undefined && html`<${Called} view=${view} plugin=${plugin} />`}${acts.dialog}${props.children}`;
}

/** The plugin that fixed the buttons, and the operations that they call. */
function Called({ view: { head = [], actions = [], edit }, plugin }: { view: PageView; plugin: string }) {
  const names = new Set([...head, ...actions, edit].flatMap((one) => one?.operation ?? []));
  const codes = [...names].map((name) => html` <code>${name}</code>`);
  return names.size > 0 && html`<p class="note">${text('buttons', { plugin })}${codes}</p>`;
}

/** Params of the path by their names, from values in its order. */
const namedPath = ({ path }: Operation, values: readonly string[]): Row =>
  Object.fromEntries(pathNames(path).map((name, at) => [name, values[at]]));

function After({ topics, then }: { topics: readonly string[]; then: (cause: unknown) => void }) {
  useEvents(topics, then);
  return null;
}

/** An answer that no event renews is asked again when the reader comes back to the tab. */
function useRenewed(wanted: boolean, reload: () => void): void {
  const visible = useVisible();
  const first = useRef(true);
  useEffect(() => {
    if (visible && wanted && !first.current) reload();
    first.current = false;
  }, [visible]);
}

/** Other views of the page may show what an act changed. */
function useActed(reload: () => void): void {
  const times = acted.value;
  const seen = useRef(times);
  useEffect(() => {
    if (seen.current !== times) reload();
    seen.current = times;
  }, [times]);
}

function Heading(props: ShownProps & { acts: Acts; asked: Asked<Row> }) {
  const { view, title, path = [], base, plugin, acts, asked } = props;
  const say = sayIn(view.words);
  const back =
    path.length > 0 && html`<${LinkButton} kind="quiet" icon="undo" href=${linkTo(base)}>${text('back')}<//>`;
  const owner =
    plugin !== undefined &&
    html`<${LinkButton} kind="quiet" icon="plugins" href=${link('plugins', [plugin])}>${plugin}<//>`;
  const renew =
    view.after === undefined && !back && html`<${Button} onClick=${() => asked.reload()}>${text('reload')}<//>`;
  const lead = path.length > 0 ? html`<code>${path.join(' ')}</code>` : (props.lead ?? (view.lead && say(view.lead)));
  const buttons = acts.buttons(view.head ?? [], asked.data ?? {});
  return html`<${Head} title=${title} lead=${lead} actions=${html`${owner}${back}${renew}${buttons}`} />`;
}

const linkTo = ([page = '', ...rest]: readonly string[]): string => link(page, rest);

interface BodyProps extends ShownProps {
  readonly one: Drawn;
  readonly acts: Acts;
  readonly data: Row;
  readonly choice: ComponentChildren;
  readonly reload: () => void;
}

/** A list, in its groups or as cards, or facts; then further lists and notes. */
function Body(props: BodyProps) {
  const { view, one, acts, data, title, choice } = props;
  const { say } = one;
  const found = view.rows === undefined ? undefined : memberOf(data, view.rows);
  const all = (Array.isArray(found) ? found : []).map(Object) as readonly Row[];
  const rows = all.filter((row) => fitsRule(row, props.only));
  const heading = view.heading && say(view.heading, data);
  const notes = (view.notes ?? []).map(
    (note) => html`<${Note} one=${one} note=${templateOf(view.words, note)} data=${data} />`,
  );
  if (view.edit) return html`<${Cards} ...${props} rows=${rows} />${notes}`;
  const further = view.tables?.map((table) => html`<${Further} one=${one} table=${table} data=${data} spare />`);
  if (view.groups && rows.length > 0) {
    const groups = view.groups.map(([name, only]) => {
      const those = rows.filter((row) => fitsRule(row, only));
      return (
        those.length > 0 &&
        html`<${Card} title=${say(name)}><${List} ...${props} rows=${those} label=${say(name)} /><//>`
      );
    });
    return html`${groups}${further}`;
  }
  const aside = view.aside ? drawn(one, [templateOf(view.words, view.aside)], data) : choice;
  if (view.rows === undefined)
    return html`<${Card} title=${heading} aside=${aside}><${Facts} rows=${factsOf(view.columns, one, data)} />${view.actions && html`<div class="actions">${acts.buttons(view.actions, data)}</div>`}${view.tables === undefined && notes}<//>${view.tables?.map((table, at) => html`<${Further} one=${one} table=${table} data=${data} notes=${at === view.tables!.length - 1 && notes} />`)}`;
  // A card without rows and without a word for that is left out.
  if (rows.length === 0 && view.empty === undefined && title === undefined) return null;
  const label = heading ?? title ?? say(view.rows);
  return html`<${Card} title=${heading} label=${label} aside=${aside}>${title === undefined && view.lead && html`<p class="note">${say(view.lead)}</p>`}<${List} ...${props} rows=${rows} label=${label} />${notes}<//>${further}`;
}

/** A note with a count of 0 says nothing. */
function Note({ one, note, data }: { one: Drawn; note: string; data: Row }) {
  const zero = [...note.matchAll(/\{([^{}:|]+)/g)].some(([, path = '']) => memberOf(data, path) === 0);
  const shown = zero ? undefined : drawn(one, [note], data);
  return shown === undefined ? null : html`<p class="note">${shown}</p>`;
}

const keyOf = ({ key = ['id'] }: PageView, row: Row): string =>
  key.map((name) => String(memberOf(row, name))).join(' ');

function List(props: BodyProps & { rows: readonly Row[]; label: string }) {
  const { view, one, acts, rows, base, operations: all, label } = props;
  const { actions = [], detail } = view;
  const last = {
    title: text('actions'),
    cell: (row: Row) => html`<span class="view-acts">${acts.buttons(actions, row)}</span>`,
  };
  const columns = columnsOf(view.columns, one, rows);
  if (actions.length > 0) columns.push(last);
  const href = (row: Row) => linkTo([...base, ...Object.values(pathParams(detail!, row, all)).map(String)]);
  return html`<${Table} label=${label} columns=${columns} rows=${rows} rowKey=${(row: Row) => keyOf(view, row)} href=${detail === undefined ? undefined : href} empty=${view.empty && one.say(view.empty)} />`;
}

interface FurtherProps extends Pick<BodyProps, 'one' | 'data'> {
  readonly table: NonNullable<PageView['tables']>[number];
  readonly notes?: ComponentChildren;
  /** Left out where it has no rows. */
  readonly spare?: boolean;
}

function Further({ one, table, data, notes, spare }: FurtherProps) {
  const found = memberOf(data, table.rows);
  const rows = (Array.isArray(found) ? found : []).map(Object) as readonly Row[];
  const title = one.say(table.title);
  if (spare && rows.length === 0) return null;
  return html`<${Card} title=${title}><${Table} label=${title} columns=${columnsOf(table.columns, one, rows, false)} rows=${rows} rowKey=${(row: Row) => String(rows.indexOf(row))} most=${500} />${notes}<//>`;
}

function Cards({ rows, ...props }: BodyProps & { rows: readonly Row[] }) {
  const { view, one } = props;
  if (rows.length === 0) return html`<${Empty} title=${view.empty && one.say(view.empty)} />`;
  return html`<div class="grid">${rows.map((row) => html`<${Edit} key=${keyOf(view, row)} ...${props} row=${row} />`)}</div>`;
}
