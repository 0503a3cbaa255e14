/** Runs the command of an operation. */
import { writeFile } from 'node:fs/promises';
import { whenChanged } from '@device-core/plugin-api/inside/program';
import { type ProgramAnswer, usage } from '@device-core/plugin-api/program';
import type { CoreClient } from './client.ts';
import type { OperationCommand } from './commands.ts';
import type { Output } from './output.ts';
import { type Parameter, parametersOf } from './parameters.ts';
import { parseWords } from './parse.ts';
import { whileWaiting, withProgress } from './progress.ts';
import { bytesMember, show } from './view.ts';

/** The Core says TIMEOUT before we give up. */
const LONGER_MS = 5_000;

export interface Shape {
  readonly parameters: readonly Parameter[];
  /** Flags that devicectl adds: what help says of them. */
  readonly own: Readonly<Record<string, { readonly kind: 'value' | 'switch'; readonly summary: string }>>;
}

export function shapeOf({ method, view }: OperationCommand): Shape {
  const parameters = parametersOf(method.params, view);
  const taken = new Set(parameters.flatMap(({ flags }) => flags));
  const has = (kind: Parameter['kind']) => parameters.some((one) => one.kind === kind && one.place !== undefined);
  const own: [string, Shape['own'][string]][] = [];
  const text = { kind: 'switch', summary: 'the word is text in any form' } as const;
  if (has('json')) own.push(['string', text]);
  if (has('text')) own.push(['hex', { kind: 'switch', summary: 'the text is hex digits, @file or base64:...' }]);
  if (bytesMember(method.result) !== undefined)
    own.push(['out', { kind: 'value', summary: 'file that the bytes of the answer are written to' }]);
  if (beginsChange(method)) own.push(['no-wait', NO_WAIT]);
  if (view.takesYes)
    own.push(['yes', { kind: 'switch', summary: 'for scripts that say it everywhere: it asks nothing' }]);
  return { parameters, own: Object.fromEntries(own.filter(([flag]) => !taken.has(flag))) };
}

export async function runOperation(
  command: OperationCommand,
  words: readonly string[],
  client: CoreClient,
  out: Output,
): Promise<void> {
  const { method, view } = command;
  const shape = shapeOf(command);
  const own = Object.fromEntries(Object.entries(shape.own).map(([flag, { kind }]) => [flag, kind]));
  const parsed = await parseWords(words, shape.parameters, { own, given: view.given ?? {}, stdin: view.stdin });
  const { params } = parsed;
  const begun = await whileWaiting(view.progress, () => call(client, command, params));
  const waits = parsed.own['no-wait'] === undefined;
  const answer = waits ? await withProgress((progress) => whenChanged(client, begun, { progress })) : begun;
  if (!waits && answer.status === 202 && !out.json) return out.line(`change ${String(answer.body.change)} has begun`);
  if (parsed.own.out !== undefined) return keep(out, command, answer, parsed.own.out);
  if (out.json) return out.line(answer.text);
  const { ok: _, ...rest } = answer.body;
  const result = method.rest.bare ? answer.body : rest;
  // A document that no schema describes is for programs to read.
  if (method.rest.bare && !method.result.properties) return out.line(JSON.stringify(result, null, 2));
  await show(out, { params, result, schema: method.result, view });
}

const NO_WAIT = { kind: 'switch', summary: 'print the change that was begun, and do not wait for its end' } as const;

/** Its answer may be the id of a change. */
function beginsChange({ result }: OperationCommand['method']): boolean {
  const { change } = (result.properties ?? {}) as { readonly change?: { readonly type?: unknown } };
  return change?.type === 'string';
}

function call(
  client: CoreClient,
  { method }: OperationCommand,
  params: Readonly<Record<string, unknown>>,
): Promise<ProgramAnswer> {
  const { rest, timeoutMs } = method;
  const left = { ...params };
  const path = rest.path.replace(/:([A-Za-z][A-Za-z0-9]*)/g, (_, name: string) => {
    const value = left[name];
    delete left[name];
    return encodeURIComponent(String(value));
  });
  const options = { timeoutMs: timeoutMs + LONGER_MS };
  if (rest.method === 'POST' || rest.method === 'PUT')
    return client.request(rest.method, path, { ...options, body: left });
  const query = Object.fromEntries(Object.entries(left).map(([name, value]) => [name, queryValue(value)]));
  return client.request(rest.method, path, { ...options, query });
}

function queryValue(value: unknown): string | readonly string[] {
  if (Array.isArray(value)) return value.map(String);
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

async function keep(out: Output, { method }: OperationCommand, { body }: ProgramAnswer, file: string): Promise<void> {
  const { [bytesMember(method.result)!]: bytes, ok: _, ...rest } = body;
  const written = Buffer.from(String(bytes), 'base64');
  try {
    await writeFile(file, written);
  } catch (error) {
    throw usage(`cannot write ${file}: ${(error as NodeJS.ErrnoException).code}`);
  }
  await out.line(out.json ? JSON.stringify({ ok: true, file, ...rest }) : `${file}: ${written.length} bytes`);
}
