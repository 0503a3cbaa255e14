import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { api } from '../core/api.ts';
import { numberText } from '../core/format.ts';
import type { Operation } from '../core/operation.ts';
import { said } from '../core/text.ts';
import { errorsOf } from '../form/errors.ts';
import { Form } from '../form/form.ts';
import { type Schema, startOf } from '../form/schema.ts';
import { messageOf, useAsk, useEvents, useVisible } from '../parts/ask.ts';
import { Button } from '../parts/button.ts';
import { Card, Facts, Loading, Problem } from '../parts/frame.ts';
import { Table } from '../parts/table.ts';
import { tell } from '../parts/toast.ts';
import { call, reads } from './acts.ts';
import { at, readOf } from './asking.ts';
import { Chart, type Point } from './chart.ts';
import type { PageButton, PagePanel, PageSource, PageValue } from './shapes.ts';
import { text } from './text.ts';

interface PanelProps {
  readonly panel: PagePanel;
  readonly plugin: string;
  readonly operations: readonly Operation[] | undefined;
}

const MOST_POINTS = 600;

export function Panel({ panel, plugin, operations }: PanelProps) {
  const { title, from, buttons = [], form } = panel;
  return html`<${Card} title=${said(title)} class=${panel.table ? 'across' : ''}>${panel.text && html`<p>${said(panel.text)}</p>`}${from && operations && html`<${Shown} panel=${panel} from=${from} operations=${operations} />`}${buttons.length > 0 && html`<div class="actions">${buttons.map((button) => html`<${Act} key=${said(button.label)} button=${button} operations=${operations ?? []} />`)}</div><p class="note">${text('buttons', { plugin })}</p>`}${form && html`<${Ask} button=${form} plugin=${plugin} operations=${operations ?? []} />`}<//>`;
}

/** Current answer of the source of a panel. */
function Shown({ panel, from, operations }: { panel: PagePanel; from: PageSource; operations: readonly Operation[] }) {
  const { data, error, turn } = useSource(from, operations);
  if (error !== undefined) return html`<${Problem} error=${error} />`;
  if (data === undefined) return from.event ? html`<p class="note">${text('noEvent')}</p>` : html`<${Loading} />`;
  return html`${panel.values && html`<${Facts} rows=${panel.values.map((one) => [said(one.label), shown(at(data, one.at), one)])} />`}${panel.chart && html`<${Lines} lines=${panel.chart} data=${data} turn=${turn} />`}${panel.table && html`<${Rows} table=${panel.table} data=${data} />`}`;
}

/** Asks what changes nothing; what would change something is refused here, whatever the plugin says. */
function useSource(from: PageSource, operations: readonly Operation[]) {
  const visible = useVisible();
  const [last, setLast] = useState<{ readonly data: unknown; readonly turn: number } | undefined>(undefined);
  const read = from.operation === undefined ? undefined : readOf(from.operation, from.params ?? {}, operations);
  const asked = useAsk<unknown>(read?.path, read?.rest);
  useEvents(from.event !== undefined ? [from.event] : (from.after ?? ['plugin.changed']), (items) => {
    if (from.event === undefined) asked.reload();
    else if (items.length > 0)
      setLast((now) => ({ data: Object(items.at(-1)?.data).payload, turn: (now?.turn ?? 0) + 1 }));
  });
  useEffect(() => {
    if (from.everyMs === undefined || !visible || read === undefined) return;
    const timer = setInterval(asked.reload, Math.max(1000, from.everyMs));
    return () => clearInterval(timer);
  }, [visible, from.everyMs, read?.path]);
  useEffect(() => {
    if (asked.data !== undefined) setLast((now) => ({ data: asked.data, turn: (now?.turn ?? 0) + 1 }));
  }, [asked.data]);
  if (from.operation !== undefined && read === undefined)
    return { data: undefined, turn: 0, error: new Error(text('notRead', { operation: from.operation })) };
  return { data: last?.data, turn: last?.turn ?? 0, error: asked.error };
}

/** A value as text; what is no text, number or yes and no is said in short. */
export function shown(value: unknown, { unit, digits = 1 }: Pick<PageValue, 'unit' | 'digits'> = {}): string {
  if (value === undefined || value === null) return '–';
  const word =
    typeof value === 'number'
      ? numberText(value, digits)
      : typeof value === 'boolean'
        ? text(value ? 'yes' : 'no')
        : typeof value === 'string'
          ? value
          : (JSON.stringify(value) ?? '');
  return `${word.slice(0, 500)}${unit ? ` ${unit}` : ''}`;
}

function Lines({ lines, data, turn }: { lines: readonly PageValue[]; data: unknown; turn: number }) {
  const [points, setPoints] = useState<readonly Point[]>([]);
  useEffect(() => {
    const values = lines.map((line) => at(data, line.at)).map((one) => (typeof one === 'number' ? one : undefined));
    setPoints((now) => [...now, { at: Date.now(), values }].slice(-MOST_POINTS));
  }, [turn]);
  return html`<${Chart} points=${points} lines=${lines.map(({ label, unit, digits }) => ({ label: said(label), shown: (value: number) => shown(value, { ...(unit && { unit }), ...(digits !== undefined && { digits }) }) }))} />`;
}

function Rows({ table, data }: { table: NonNullable<PagePanel['table']>; data: unknown }) {
  const found = at(data, table.rows);
  const rows = (Array.isArray(found) ? found : []).map((row: unknown, place) => ({ row, key: String(place) }));
  const columns = table.columns.map((column) => ({
    title: said(column.label),
    cell: ({ row }: (typeof rows)[number]) => shown(at(row, column.at), column),
  }));
  return html`<${Table} label=${text('rows')} columns=${columns} rows=${rows} rowKey=${({ key }: (typeof rows)[number]) => key} />`;
}

async function press(name: string, params: object, operations: readonly Operation[]): Promise<void> {
  await call(name, { ...params }, operations);
  tell(text('done', { operation: name }));
}

function Act({ button, operations }: { button: PageButton; operations: readonly Operation[] }) {
  const { label, operation, params = {} } = button;
  return html`<${Button} writes=${!reads(operation, operations)} onClick=${() => press(operation, params, operations)}>${said(label)} <code>${operation}</code><//>`;
}

interface Method {
  readonly name: string;
  readonly params: readonly { readonly name: string; readonly required?: boolean; readonly schema: Schema }[];
}

/** A form from the types of the operation, with what the plugin fixes left out. */
function Ask(props: { button: PageButton; plugin: string; operations: readonly Operation[] }) {
  const { label, operation, params = {} } = props.button;
  const [schema, setSchema] = useState<Schema | undefined>(undefined);
  const [value, setValue] = useState<unknown>({});
  const [error, setError] = useState<unknown>(undefined);
  useEffect(() => {
    api.get<{ readonly methods: readonly Method[] }>('/openrpc.json').then(({ methods }) => {
      const free = (methods.find(({ name }) => name === operation)?.params ?? []).filter(
        ({ name }) => !(name in params),
      );
      const made = {
        type: 'object',
        properties: Object.fromEntries(free.map((one) => [one.name, one.schema])),
        required: free.filter((one) => one.required).map(({ name }) => name),
      };
      setSchema(made);
      setValue(startOf(made, made) ?? {});
    }, setError);
  }, [operation]);
  const send = () =>
    press(operation, { ...(value as object), ...params }, props.operations).then(() => setError(undefined), setError);
  if (schema === undefined) return error === undefined ? html`<${Loading} />` : html`<${Problem} error=${error} />`;
  return html`<div class="stack"><${Form} schema=${schema} value=${value} errors=${errorsOf(error)} onChange=${setValue} />${error !== undefined && html`<p class="wrong-text" role="alert">${messageOf(error)}</p>`}<div class="actions"><${Button} kind="main" writes onClick=${send}>${said(label)} <code>${operation}</code><//></div><p class="note">${text('buttons', { plugin: props.plugin })}</p></div>`;
}
