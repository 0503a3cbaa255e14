/** The result of an operation as text, by its schema and its view. */

import { itemsOf, kindOf, propertiesOf } from '@device-core/plugin-api/inside/schema-reader';
import { cell, type ProgramCell } from '@device-core/plugin-api/program';
import type { CliView, JsonSchema } from '@device-core/plugin-api/services/operations';
import { hexLines } from './hex.ts';
import { cut, type Output } from './output.ts';
import { isNothing, isScalar, summary } from './summary.ts';
import { evaluate, fill } from './template.ts';

type Members = Readonly<Record<string, unknown>>;
type Column = readonly [title: string, template: string];

/** More is not for eyes: `--out` writes it to a file. */
const MOST_HEX = 4096;

export interface Shown {
  readonly params: Members;
  readonly result: Members;
  readonly schema: JsonSchema;
  readonly view: CliView;
}

export async function show(out: Output, { params, result, schema, view }: Shown): Promise<void> {
  const done = [view.done ?? []].flat();
  const scope = { ...params, ...result };
  for (const template of done) {
    const text = fill(template, scope);
    if (text !== undefined) return out.line(text);
  }
  const members = visible(result, view);
  if (Object.keys(members).length === 0) return out.line(view.empty ?? 'done');
  const bytes = bytesMember(schema, members);
  if (bytes !== undefined) return showBytes(out, members, bytes);
  const lists = Object.keys(members).filter((name) => isList(members[name]));
  // An empty list beside something else says nothing, unless the view has a word for it.
  const [list, ...others] =
    lists.length > 1 || (view.empty === undefined && lists.length < Object.keys(members).length)
      ? lists.filter((name, at) => !isNothing(members[name]) || (at === 0 && view.empty !== undefined))
      : lists;
  if (list === undefined) return showRecord(out, members, view, schema);
  await showList(out, members[list] as readonly Members[], itemsOf(memberSchema(schema, list)), view.columns, view);
  const rest = Object.fromEntries(Object.entries(members).filter(([name]) => name !== list && !others.includes(name)));
  const told = pruned(rest);
  if (Object.keys(told).length > 0) {
    await out.line('');
    await showLines(out, told, schema);
  }
  for (const name of others)
    await section(out, name, members[name] as readonly Members[], itemsOf(memberSchema(schema, name)));
}

function visible(result: Members, { hide }: CliView): Members {
  const hidden: readonly string[] = Array.isArray(hide) ? (hide as readonly string[]) : [];
  return Object.fromEntries(
    Object.entries(result).filter(([name, value]) => value !== undefined && !hidden.includes(name)),
  );
}

/** The name of the member that is bytes, by the schema. */
export function bytesMember(schema: JsonSchema, members?: Members): string | undefined {
  return Object.keys(propertiesOf(schema)).find(
    (name) =>
      ['bytes', 'text'].includes(kindOf(memberSchema(schema, name))) && (!members || typeof members[name] === 'string'),
  );
}

async function showBytes(out: Output, members: Members, name: string): Promise<void> {
  const bytes = Buffer.from(String(members[name]), 'base64');
  if (bytes.length > MOST_HEX) await out.line(`${bytes.length} bytes; --out <file> keeps them`);
  else await out.line(bytes.length === 0 ? 'done, nothing read' : hexLines(bytes));
  const rest = Object.entries(members).filter(([key, value]) => key !== name && value !== 0 && value !== false);
  if (rest.length > 0) await showLines(out, Object.fromEntries(rest), {});
}

/** A list: of objects, or of anything where the member is empty. */
function isList(value: unknown): boolean {
  return Array.isArray(value) && !value.some((item) => isScalar(item) || Array.isArray(item));
}

async function showList(
  out: Output,
  rows: readonly Members[],
  items: JsonSchema,
  chosen: CliView['columns'],
  { empty }: Pick<CliView, 'empty'>,
): Promise<void> {
  const wanted = chosen ? chosen.map(columnOf) : columnsOf(rows, items);
  const filled = rows.map((row) => wanted.map(([, template]) => cellOf(evaluate(template, row))));
  const some = (_: unknown, column: number) => filled.some((row) => row[column] !== '');
  await out.table(
    wanted.filter(some).map(([title]) => title),
    filled.map((row) => row.filter(some)),
    empty === undefined ? {} : { empty },
  );
}

function columnOf(column: string | Column): Column {
  return typeof column === 'string' ? [titleOf(column), `{${column}}`] : column;
}

/** Every member that is somewhere: in the order of the schema, the simple ones first. */
function columnsOf(rows: readonly Members[], items: JsonSchema): readonly Column[] {
  const declared = Object.keys(propertiesOf(items));
  const names = [...new Set([...declared, ...rows.flatMap((row) => Object.keys(row))])].filter((name) =>
    rows.some((row) => !isNothing(row[name])),
  );
  const simple = (name: string) => rows.every((row) => isScalar(row[name]));
  const sorted = [...names.filter(simple), ...names.filter((name) => !simple(name))];
  return sorted.map((name) => [titleOf(name), isTime(items, name) ? `{${name}:when}` : `{${name}}`]);
}

/** Milliseconds since the Unix epoch are told in these words everywhere. */
function isTime(schema: JsonSchema, name: string): boolean {
  return /since the Unix epoch/.test(String(memberSchema(schema, name).description ?? ''));
}

function titleOf(name: string): string {
  return name
    .split('.')
    .at(-1)!
    .replace(/([a-z0-9])([A-Z])/g, '$1 $2')
    .toUpperCase();
}

function cellOf(value: unknown): ProgramCell {
  return typeof value === 'number' ? value : summary(value);
}

/** A result that is one thing: the value of its only member, or `name  value` lines. */
async function showRecord(out: Output, members: Members, view: CliView, schema: JsonSchema = {}): Promise<void> {
  const { columns, empty } = view;
  const own = pruned(columns ? chosen(members, columns.map(columnOf)) : members);
  const [only] = Object.keys(own);
  if (only === undefined) return out.line(empty ?? 'done');
  const value = own[only];
  const alone = columns ? columns.length === 1 : Object.keys(members).length === 1;
  if (alone && isScalar(value)) return out.line(plain(value));
  if (alone && !Array.isArray(value))
    return showRecord(out, value as Members, empty === undefined ? {} : { empty }, memberSchema(schema, only));
  await showLines(out, own, schema);
}

async function showLines(out: Output, own: Members, schema: JsonSchema): Promise<void> {
  const lines = Object.entries(own).filter(([, one]) => !isList(one));
  const width = Math.max(0, ...lines.map(([name]) => name.length)) + 2;
  for (const [name, one] of lines) {
    const text = isTime(schema, name) ? evaluate(`{${name}:when}`, own) : summary(one);
    const fitting = isScalar(one) ? cell(text) : cut(cell(text), Math.max(10, out.width - width));
    await out.line(`${cell(name).padEnd(width)}${/^(state|status|link)$/.test(name) ? out.state(fitting) : fitting}`);
  }
  for (const [name, one] of Object.entries(own))
    if (isList(one)) await section(out, name, one as readonly Members[], itemsOf(memberSchema(schema, name)));
}

/** By the titles of the columns; what does not hold is left out. */
function chosen(members: Members, columns: readonly Column[]): Members {
  const all = columns.map(([title, template]) => [title.toLowerCase(), evaluate(template, members)] as const);
  return Object.fromEntries(all.filter(([, value]) => value !== false && value !== ''));
}

function memberSchema(schema: JsonSchema, name: string): JsonSchema {
  return propertiesOf(schema)[name] ?? {};
}

async function section(out: Output, name: string, rows: readonly Members[], items: JsonSchema): Promise<void> {
  if (rows.length === 0) return;
  await out.line('');
  await out.line(out.paint('bold', titleOf(name)));
  await showList(out, rows, items, undefined, {});
}

function pruned(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => !isNothing(value)));
}

/** Alone on its line as the program that reads it wants it; of several lines each stays one. */
function plain(value: unknown): string {
  return typeof value === 'string' ? value.trimEnd().split('\n').map(cell).join('\n') : JSON.stringify(value);
}
