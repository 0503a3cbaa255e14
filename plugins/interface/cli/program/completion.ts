/** Candidates for the word that is being typed. All of them come from the commands there are and from what the Core answers. */

import { choicesOf, itemsOf } from '@device-core/plugin-api/inside/schema-reader';
import { Failure, type Program } from '@device-core/plugin-api/program';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';
import type { CoreClient } from './client.ts';
import { type Command, Commands } from './commands.ts';
import { GLOBALS, type Globals, globalOption } from './globals.ts';
import { programShape } from './help.ts';
import { allCommands, type Looked } from './lookup.ts';
import { shapeOf } from './operation.ts';
import { type Parameter, placesOf } from './parameters.ts';
import { dashed } from './parse.ts';
import { loadProgram } from './programs.ts';
import { openSession, type Session } from './session.ts';
import { SHELLS } from './shells.ts';
import type { Method } from './table.ts';

/** A shell waits for us at every Tab. */
const TIMEOUT_MS = 1000;
const NOWHERE = '/dev/null';

/** Candidates for the last of `words`. Never fails: without a Core there are no names. */
export async function candidates(words: readonly string[], globals: Globals): Promise<readonly string[]> {
  const typed = words.at(-1) ?? '';
  const { said, rest, open } = globalsIn(words.slice(0, -1));
  if (open) return []; // files and addresses are for the shell
  const where = { ...globals, ...said };
  // A Tab logs in nowhere: there are the words of this checkout then, and no names.
  const session = openSession(where.device === undefined ? where : { socket: NOWHERE });
  const found = await complete(session, rest, typed);
  return [...new Set(found)].filter((candidate) => candidate.startsWith(typed)).sort();
}

async function complete(session: Session, words: readonly string[], typed: string): Promise<readonly string[]> {
  const { commands, methods } = await allCommands(session.client, TIMEOUT_MS).catch(refused);
  const end = words.findIndex((word) => word.startsWith('-'));
  const names = end < 0 ? words : words.slice(0, end);
  const [first] = names;
  if (first === 'completion') return names.length === 1 ? Object.keys(SHELLS) : [];
  if (first === 'help') return commands.next(names.slice(1));
  if (names.length === 0)
    return typed.startsWith('-') ? globalFlags() : [...commands.next([]), ...(end < 0 ? ['completion', 'help'] : [])];
  const found = commands.find(names);
  const verbs = end < 0 && !typed.startsWith('-') ? commands.next(names) : [];
  if (!found) return verbs;
  // `plugin` alone is `plugin list`; what comes behind it is a verb first of all.
  const own = await ofCommand(session, methods, found.command, words.slice(found.used), typed);
  return [...verbs, ...own];
}

async function ofCommand(
  session: Session,
  methods: readonly Method[],
  command: Command,
  words: readonly string[],
  typed: string,
): Promise<readonly string[]> {
  const program = command.kind === 'program' ? await programOf(session, command) : undefined;
  if (command.kind === 'program' && !program) return [];
  const { parameters, own } = command.kind === 'operation' ? shapeOf(command) : programShape(program);
  const { places, taken, open } = walk(words, parameters);
  const value = async (parameter: Parameter) => {
    const fixed = fixedValues(parameter.schema);
    if (fixed) return fixed;
    const args = argumentsOf(places, parameters);
    const said = await program?.complete?.(parameter.name, { args, client: session.client }).catch(refusedNone);
    return said ?? namesFor(session.client, methods, command, parameter.name);
  };
  if (open) return value(open);
  if (typed.startsWith('-')) {
    const flags = parameters
      .filter(({ name, kind }) => kind === 'array' || !taken.has(name))
      .flatMap(({ flags }) => flags);
    return [...[...flags, ...Object.keys(own)].map(dashed), ...globalFlags()];
  }
  const order = placesOf(parameters).filter(({ name }) => !taken.has(name));
  const last = order.at(-1);
  const place = order[places.length] ?? (last?.kind === 'array' ? last : undefined);
  return place ? value(place) : [];
}

function programOf(session: Session, command: Command & { kind: 'program' }): Promise<Program | undefined> {
  return loadProgram(command.place, session.overSocket).catch(refusedNone);
}

/** State of the words before the cursor; `open` is a flag whose value is being typed. */
function walk(words: readonly string[], parameters: readonly Parameter[]) {
  const places: string[] = [];
  const taken = new Set<string>();
  let open: Parameter | undefined;
  for (const word of words) {
    if (open) {
      open = undefined;
      continue;
    }
    const flagged = word.startsWith('-')
      ? parameters.find(({ flags }) => flags.some((flag) => dashed(flag) === word.split('=', 1)[0]))
      : undefined;
    if (flagged) taken.add(flagged.name);
    if (flagged && flagged.kind !== 'boolean' && !word.includes('=')) open = flagged;
    if (!word.startsWith('-')) places.push(word);
  }
  return { places, taken, open };
}

function argumentsOf(places: readonly string[], parameters: readonly Parameter[]): Readonly<Record<string, unknown>> {
  const named = placesOf(parameters).map(({ name, kind }, at) => [
    name,
    kind === 'array' ? places.slice(at) : places[at],
  ]);
  return Object.fromEntries(named);
}

function fixedValues(schema: JsonSchema): readonly string[] | undefined {
  const choices = choicesOf(schema);
  if (choices) return choices.map(String);
  if (schema.type === 'boolean') return ['true', 'false'];
  return schema.type === 'array' ? fixedValues(itemsOf(schema)) : undefined;
}

/** Names that the Core knows for a param: from the operation that lists what the param names. */
async function namesFor(
  client: CoreClient,
  methods: readonly Method[],
  command: Command,
  param: string,
): Promise<readonly string[]> {
  const source = sourceOf(methods, command, param);
  if (!source) return [];
  const answer = await client.get(source.method.rest.path, { timeoutMs: TIMEOUT_MS }).catch(refusedNone);
  const items = answer?.body[source.list];
  if (!Array.isArray(items)) return [];
  return items.flatMap((item: Readonly<Record<string, unknown>>) => {
    const name = item[param] ?? item.id ?? item.name;
    return typeof name === 'string' ? [name] : [];
  });
}

interface Source {
  readonly method: Method;
  readonly list: string;
}

/**
 * `handle` of `spi.transfer` is a `name` in the `handles` of `spi.*`, `id` of `apps.stop` an `id` in what `apps.list`
 * tells, and `app` of whatever an `id` in `apps.list`: the shapes of the table say it.
 */
function sourceOf(methods: readonly Method[], command: Command, param: string): Source | undefined {
  const room = command.kind === 'operation' ? command.method.name.split('.')[0]! : command.path[0]!;
  const lists = methods.flatMap((method) => listsOf(method));
  const near = lists.filter(({ method }) => [room, plural(room)].includes(method.name.split('.')[0]!));
  const rank = (a: Source, b: Source) =>
    Number(b.method.name.endsWith('.list')) - Number(a.method.name.endsWith('.list'));
  return (
    near.find(({ list }) => list === plural(param)) ??
    near.toSorted(rank).find((one) => hasMember(one, param)) ??
    lists.toSorted(rank).find(({ list }) => list === plural(param))
  );
}

/** Lists of things that an operation tells without being told anything. */
function listsOf(method: Method): readonly Source[] {
  if (method.rest.method !== 'GET' || method.rest.path.includes(':')) return [];
  if (((method.params.required ?? []) as readonly string[]).length > 0) return [];
  const properties = (method.result.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  return Object.entries(properties)
    .filter(([, { type, items }]) => type === 'array' && (items as JsonSchema | undefined)?.type !== 'string')
    .map(([list]) => ({ method, list }));
}

function hasMember(source: Source, param: string): boolean {
  const properties = source.method.result.properties as Readonly<Record<string, JsonSchema>>;
  const items = (properties[source.list]?.items ?? {}) as JsonSchema;
  return param in ((items.properties ?? {}) as object);
}

function plural(noun: string): string {
  return /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : `${noun}s`;
}

function globalFlags(): readonly string[] {
  return GLOBALS.map(({ flag }) => flag);
}

function globalsIn(words: readonly string[]) {
  const said: Record<string, string | boolean> = {};
  const rest: string[] = [];
  let open: string | undefined;
  for (const word of words) {
    const option = open === undefined ? globalOption(word) : undefined;
    if (open !== undefined) {
      said[open] = word;
      open = undefined;
    } else if (!option) rest.push(word);
    else if (option.value === undefined) said[option.key] = true;
    else if (word.includes('=')) said[option.key] = word.slice(word.indexOf('=') + 1);
    else open = option.key;
  }
  return { said, rest, open };
}

/** A Failure is no reason to disturb somebody who types. */
function refusedNone(error: unknown): undefined {
  if (error instanceof Failure) return undefined;
  throw error;
}

function refused(error: unknown): Pick<Looked, 'commands' | 'methods'> {
  refusedNone(error);
  return { commands: new Commands([]), methods: [] };
}
