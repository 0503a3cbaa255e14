/** Templates as devicectl has them: `{a.b}`, `{a|b}` for the first that is there, `{a:ago}` for a value with its format. */
import { agoText, bytesText, numberText, timeText, whenText } from '../core/format.ts';
import { stringOf } from '../core/text.ts';
import { clean } from '../parts/clean.ts';

/** A stretch of a filled template: text as it stands, or a value with the name of its format. */
export interface Piece {
  readonly text: string;
  readonly value?: unknown;
  readonly format?: string | undefined;
}

const FIELD = /\{([^{}:]+)(?::([a-z]+))?\}/g;
const MOST = 2_000;

const plain = (value: unknown): string =>
  clean((typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, MOST));

const FORMATS: Readonly<Record<string, (value: unknown) => string>> = {
  ago: (value) => agoText(Number(value)),
  when: (value) => whenText(Number(value)),
  time: (value) => timeText(Number(value)),
  ms: (value) => `${numberText(Number(value))} ms`,
  bytes: (value) => bytesText(Number(value)),
  json: (value) => plain(JSON.stringify(value)),
  count: (value) => String(Array.isArray(value) ? value.length : Object.keys(Object(value)).length),
  /** Only asks whether it is there. */
  if: () => '',
  list: (value) =>
    Array.isArray(value)
      ? value.map(plain).join(', ')
      : Object.entries(Object(value))
          .map(([name, one]) => clean(`${name}: ${plain(one)}`))
          .join(', '),
};
/** Formats of numbers, which stand at the right. */
export const NUMBERS: ReadonlySet<string | undefined> = new Set([undefined, 'ms', 'bytes', 'count']);

/** Own members alone; an item of a list by its number. */
export function memberOf(value: unknown, path: string): unknown {
  let found = value;
  for (const name of path.split('.')) {
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Readonly<Record<string, unknown>>)[name];
  }
  return found ?? undefined;
}

const firstOf = (paths: string, scope: unknown): unknown => {
  for (const path of paths.split('|')) {
    const value = memberOf(scope, path);
    if (value !== undefined && value !== '') return value;
  }
  return undefined;
};

/** Times that a calendar has, and numbers that are some; other values are shown as they are. */
const LATEST = 8.64e15;
const fits = (value: unknown, format: string): boolean =>
  !['ago', 'when', 'time', 'ms', 'bytes'].includes(format) || Math.abs(Number(value)) <= LATEST;

/** A value in words; that of a `badge` or `word` is a key of the room of strings where it has one. */
export function shownAs(value: unknown, format: string | undefined, room: string | undefined): string {
  const made = format !== undefined && fits(value, format) ? FORMATS[format]?.(value) : undefined;
  if (made !== undefined) return made;
  if (typeof value === 'number') return numberText(value, 3);
  if ((format === 'badge' || format === 'word') && room !== undefined) return wordOf(String(value), room);
  return plain(value);
}

/** The string of a word; of an owner as `plugin.mail` that of `plugin`, with its `{id}`. */
function wordOf(word: string, room: string): string {
  const [, kind = '', id = ''] = /^(app|plugin)\.(.*)$/.exec(word) ?? [];
  return stringOf(room, word) ?? stringOf(room, kind)?.replace('{id}', () => plain(id)) ?? plain(word);
}

/** Undefined where a member is missing. */
export function piecesOf(template: string, scope: unknown, room: string | undefined): readonly Piece[] | undefined {
  const pieces: Piece[] = [];
  let at = 0;
  for (const match of template.matchAll(FIELD)) {
    const [field, paths = '', format] = match;
    const value = firstOf(paths, scope);
    if (value === undefined) return undefined;
    if (match.index > at) pieces.push({ text: template.slice(at, match.index) });
    pieces.push({ text: shownAs(value, format, room), value, format });
    at = match.index + field.length;
  }
  if (at < template.length) pieces.push({ text: template.slice(at) });
  return pieces;
}

/** The text of a filled template. Undefined where a member is missing. */
export const fill = (template: string, scope: unknown, room: string | undefined): string | undefined =>
  piecesOf(template, scope, room)
    ?.map(({ text }) => text)
    .join('');

/** The one member that a template is made of: its value sorts a column. */
export const soleMember = (
  template: string,
): { readonly path: string; readonly format: string | undefined } | undefined => {
  const [, path, format] = /^\{([^{}:|]+)(?::([a-z]+))?\}$/.exec(template) ?? [];
  return path === undefined ? undefined : { path, format };
};
