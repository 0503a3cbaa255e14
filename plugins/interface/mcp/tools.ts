/** Functions of apps as tools of a language model: names, schemas, and three generic tools where there are too many. Pure. */
import { hash as digest } from 'node:crypto';
import { maybe } from '@device-core/plugin-api';
import type { FunctionInfo } from '@device-core/plugin-api/services/functions';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';

/** Above this number a model has the generic tools instead: each definition costs it words. */
const MOST_TOOLS = 40;
const LONGEST_NAME = 64;
const HASH_LETTERS = 8;
/** Characters of an app's own words that a model reads. */
const LONGEST_TEXT = 1_000;

const TYPES: Readonly<Record<string, JsonSchema>> = {
  string: { type: 'string' },
  int: { type: 'integer' },
  number: { type: 'number' },
  bool: { type: 'boolean' },
  object: { type: 'object' },
  array: { type: 'array' },
  bytes: { type: 'string', contentEncoding: 'base64' },
  any: {},
};

export interface Tool {
  readonly name: string;
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: JsonSchema;
  readonly outputSchema?: JsonSchema;
  readonly annotations?: Readonly<Record<string, boolean>>;
}

export interface FunctionTool extends Tool {
  readonly of: FunctionInfo;
}

/** The newest version of each function, one tool each, in the order of their names. */
export function toolsOf(functions: readonly FunctionInfo[]): readonly FunctionTool[] {
  const newest = new Map<string, FunctionInfo>();
  // The registry lists the newest version first.
  for (const one of functions) {
    const id = `${one.app}/${one.name}`;
    if (!newest.has(id)) newest.set(id, one);
  }
  const plain = [...newest].map(([id, of]) => ({ id, of, name: plainName(of) }));
  const taken = new Map<string, number>();
  for (const { name } of plain) taken.set(name, (taken.get(name) ?? 0) + 1);
  return plain
    .map(({ id, of, name }) =>
      toolOf(of, taken.get(name) === 1 && name.length <= LONGEST_NAME ? name : hashed(id, name)),
    )
    .toSorted((one, other) => (one.name < other.name ? -1 : 1));
}

export function isTooMany(tools: readonly Tool[]): boolean {
  return tools.length > MOST_TOOLS;
}

const NAME: JsonSchema = { type: 'string', description: 'Name of a function as find_functions lists it.' };

/** Instead of a list that fills the budget of a model. */
export const GENERIC: readonly Tool[] = [
  {
    name: 'find_functions',
    description: 'Lists functions of the apps on this device whose name or description contains a word.',
    inputSchema: { type: 'object', properties: { word: { type: 'string' } }, additionalProperties: false },
    annotations: { readOnlyHint: true },
  },
  {
    name: 'describe_function',
    description: 'Shows the inputs and results of one function.',
    inputSchema: { type: 'object', properties: { name: NAME }, required: ['name'], additionalProperties: false },
    annotations: { readOnlyHint: true },
  },
  {
    name: 'call_function',
    description: 'Calls one function of an app with its inputs.',
    inputSchema: {
      type: 'object',
      properties: { name: NAME, inputs: { type: 'object' } },
      required: ['name'],
      additionalProperties: false,
    },
  },
];

/** As a client sees it. */
export function shown({ of: _of, ...tool }: FunctionTool): Tool {
  return tool;
}

function toolOf(of: FunctionInfo, name: string): FunctionTool {
  const { app, name: own, description, idempotent = false, inputs = {}, returns } = of;
  const whole = plainName(of);
  // A model is shown a shortened name; which function it stands for stays readable.
  const stands = name === whole ? '' : ` (${app}/${own})`;
  const said = description?.trim().slice(0, LONGEST_TEXT) || `Function ${own} of the app ${app}.`;
  return {
    of,
    name,
    title: `${app} ${own}`,
    description: `${said}${stands}`,
    inputSchema: schemaOf(inputs),
    ...maybe({ outputSchema: returns && schemaOf(returns) }),
    annotations: { idempotentHint: idempotent },
  };
}

function schemaOf(members: Readonly<Record<string, string>>): JsonSchema {
  const types = Object.entries(members);
  const required = types.filter(([, type]) => !type.endsWith('?')).map(([name]) => name);
  const properties = Object.fromEntries(types.map(([name, type]) => [name, TYPES[type.replace(/\?$/, '')] ?? {}]));
  return { type: 'object', properties, required, additionalProperties: false };
}

/** `<last part of the app's id>_<function>`, in the letters that every client takes. */
function plainName({ app, name }: FunctionInfo): string {
  return `${app.split('.').at(-1)}_${name}`.replaceAll(/[^A-Za-z0-9_-]/g, '_');
}

function hashed(id: string, name: string): string {
  const hash = digest('sha256', id, 'hex').slice(0, HASH_LETTERS);
  return `${name.slice(0, LONGEST_NAME - HASH_LETTERS - 1)}_${hash}`;
}
