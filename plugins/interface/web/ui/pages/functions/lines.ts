/**
 * The same call as a line: for curl, for devicectl, and for the socket of an app. No token is in any of them: a Unix
 * socket knows who calls.
 */
import type { Operation, RegisteredFunction } from './catalog.ts';
import { canBeWord, quoted, safeJson } from './shell.ts';
import { wordsOf } from './words-of.ts';

type Values = Readonly<Record<string, unknown>>;

/** Socket folder of a Core started in a checkout; on a device it is /run/device. */
export const RUN = '.device/run';

export interface Lines {
  readonly curl?: string;
  readonly devicectl?: string;
  readonly rpc?: string;
}

export interface LineOptions {
  /** The folder of the sockets. */
  readonly run: string;
  /** Commands of devicectl that are programs. */
  readonly programs: ReadonlySet<string>;
}

/** The path with its params, and what of them is left. */
export function pathOf(
  { rest }: Pick<Operation, 'rest'>,
  values: Values,
): { readonly path: string; readonly left: Record<string, unknown> } {
  const left: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(values)) if (value !== undefined) left[name] = value;
  const path = (rest?.path ?? '').replace(/\{([^}]+)\}/g, (_, name: string) => {
    const value = left[name];
    delete left[name];
    return encodeURIComponent(String(value ?? ''));
  });
  return { path, left };
}

/** With the query, where it has one: a list is a name given again and again. */
export function addressOf(operation: Pick<Operation, 'rest'>, values: Values): string {
  const { path, left } = pathOf(operation, values);
  if (takesBody(operation)) return path;
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(left))
    for (const one of Array.isArray(value) ? value : [value])
      search.append(name, typeof one === 'object' ? JSON.stringify(one) : String(one));
  return search.size === 0 ? path : `${path}?${search}`;
}

export const takesBody = ({ rest }: Pick<Operation, 'rest'>): boolean =>
  rest?.method === 'POST' || rest?.method === 'PUT';

export function linesOf(operation: Operation, values: Values, options: LineOptions): Lines {
  const { rest, rpc } = operation;
  const lines: { curl?: string; devicectl?: string; rpc?: string } = {};
  if (rest !== undefined) lines.curl = curlLine(operation, values, options.run);
  const words = rest && rpc && !rest.raw && !rest.sse ? wordsOf(operation, values, options.programs) : undefined;
  if (words !== undefined) lines.devicectl = devicectlLine(words, options.run);
  if (rpc) lines.rpc = rpcLine(operation.name, values);
  return lines;
}

function curlLine(operation: Operation, values: Values, run: string): string {
  const rest = operation.rest!;
  const words = ['curl', rest.sse ? '-sN' : '-s', '--unix-socket', `${run}/core.sock`];
  const url = `http://localhost${addressOf(operation, values)}`;
  if (rest.raw)
    return line([
      ...words,
      '-X',
      rest.method,
      url,
      '-H',
      'content-type: application/octet-stream',
      '--data-binary',
      '@file',
    ]);
  if (!takesBody(operation)) return line([...words, ...(rest.method === 'GET' ? [] : ['-X', rest.method]), url]);
  const { left } = pathOf(operation, values);
  const method = rest.method === 'POST' ? [] : ['-X', rest.method];
  return line([...words, ...method, url, '-H', 'content-type: application/json', '-d', safeJson(left)]);
}

function rpcLine(method: string, values: Values): string {
  const params = Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));
  return safeJson({ jsonrpc: '2.0', id: 1, method, params });
}

/** `devicectl call agenda.add title=Tea inSeconds:=60`. */
export function linesOfCall(
  { name, app, version, inputs: types = {} }: RegisteredFunction,
  inputs: Values,
  /** Whether the name alone leads to another function: of another app, or of a newer version. */
  { run, others, newer }: { readonly run: string; readonly others: boolean; readonly newer: boolean },
): Lines {
  const given = Object.entries(inputs).filter(([, value]) => value !== undefined);
  const params = {
    name,
    ...(others && { app }),
    ...(newer && { version }),
    inputs: Object.fromEntries(given),
  };
  const rest = { method: 'POST', path: '/functions/call' } as const;
  const words = given.map(([key, value]) => {
    const text = /^(string|bytes)\??$/.test(types[key] ?? '') && typeof value === 'string';
    const word = text ? `${key}=${value}` : `${key}:=${safeJson(value)}`;
    return text && !canBeWord(word) ? `${key}:=${safeJson(value)}` : word;
  });
  const more = [...(others ? ['--app', app] : []), ...(newer ? ['--range', version] : [])];
  return {
    curl: line([
      'curl',
      '-s',
      '--unix-socket',
      `${run}/core.sock`,
      `http://localhost${rest.path}`,
      '-H',
      'content-type: application/json',
      '-d',
      safeJson(params),
    ]),
    devicectl: devicectlLine(['call', name, ...words, ...more], run),
    rpc: rpcLine('functions.call', params),
  };
}

const devicectlLine = (words: readonly string[], run: string): string =>
  line(['devicectl', ...(run === RUN ? [] : [`--run=${run}`]), ...words]);

const line = (words: readonly string[]): string => words.map(quoted).join(' ');
