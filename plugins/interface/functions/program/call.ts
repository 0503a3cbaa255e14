import { maybe } from '@device-core/plugin-api';
import { defineProgram, type ProgramClient, usage } from '@device-core/plugin-api/program';
import type { FunctionInfo } from '@device-core/plugin-api/services/functions';

interface Args {
  readonly function: string;
  readonly inputs?: readonly string[];
  readonly jsonInputs?: Readonly<Record<string, unknown>>;
  readonly app?: string;
  readonly range?: string;
}

/** A function may take 60 s; the Core says TIMEOUT before we give up. */
const CALL_TIMEOUT_MS = 65_000;

/** `devicectl call` */
export const program = defineProgram<Args>({
  params: {
    type: 'object',
    required: ['function'],
    properties: {
      function: { type: 'string' },
      inputs: {
        type: 'array',
        items: { type: 'string' },
        description: 'key=value by its declared type, key:=JSON as it is',
      },
      jsonInputs: { type: 'object', description: 'all inputs at once' },
      app: { type: 'string', description: 'the app, where several have a function of this name' },
      range: { type: 'string', description: 'versions that will do (semver); the newest if absent' },
    },
  },
  cli: { fixed: ['function', 'inputs'] },
  async complete(param, { args, client }) {
    if (param === 'function') {
      const functions = (await client.get('/functions')).body.functions as readonly FunctionInfo[];
      return functions.map(({ name }) => name);
    }
    if (param === 'app') {
      const apps = (await client.get('/apps')).body.apps as readonly { readonly id: string }[];
      return apps.map(({ id }) => id);
    }
    const { inputs = {} } = await describe(client, args.function ?? '', args);
    const given = args.inputs ?? [];
    return Object.keys(inputs)
      .map((key) => `${key}=`)
      .filter((key) => !given.some((word) => word.startsWith(key)));
  },
  async run({ client, out, args }) {
    const { function: name, inputs: words = [], jsonInputs, app, range } = args;
    if (jsonInputs !== undefined && words.length > 0) throw usage('give key=value inputs or --json-inputs, not both');
    const types = words.length > 0 ? (await describe(client, name, args)).inputs : undefined;
    const inputs = jsonInputs ?? typedInputs(words, types);
    const answer = await client.post(
      '/functions/call',
      { name, inputs, ...maybe({ app, version: range }) },
      { timeoutMs: CALL_TIMEOUT_MS },
    );
    if (out.json) return out.line(answer.text);
    const results = Object.entries((answer.body.result ?? {}) as object);
    const rows = results.map(([key, value]) => [key, typeof value === 'string' ? value : JSON.stringify(value)]);
    await out.table(['RESULT', 'VALUE'], rows, { empty: 'done' });
  },
});

async function describe(
  client: ProgramClient,
  name: string,
  { app, range }: Pick<Args, 'app' | 'range'>,
): Promise<FunctionInfo> {
  const { body } = await client.get(`/functions/${encodeURIComponent(name)}`, { query: { app, version: range } });
  return body as unknown as FunctionInfo;
}

/** `key=value` words as inputs: a value is read by the type that the function declares for it. */
function typedInputs(
  words: readonly string[],
  types: Readonly<Record<string, string>> = {},
): Readonly<Record<string, unknown>> {
  const inputs: Record<string, unknown> = {};
  for (const word of words) {
    const [, key, operator, value] = /^([^=:]+)(:=|=)([\s\S]*)$/.exec(word) ?? [];
    if (key === undefined || value === undefined) throw usage(`"${word}" is not of the form key=value or key:=JSON`);
    if (Object.hasOwn(inputs, key)) throw usage(`input ${key} is given twice`);
    inputs[key] = operator === ':=' ? parseJson(value, key) : typed(key, value, types[key]);
  }
  return inputs;
}

function typed(key: string, value: string, type: string | undefined): unknown {
  switch (type?.replace(/\?$/, '')) {
    case 'int':
    case 'number':
      if (value.trim() === '' || Number.isNaN(Number(value)))
        throw usage(`input ${key} must be a number, not "${value}"`);
      return Number(value);
    case 'bool':
      if (value !== 'true' && value !== 'false') throw usage(`input ${key} must be true or false, not "${value}"`);
      return value === 'true';
    case 'object':
    case 'array':
      return parseJson(value, key);
    // Strings and bytes (base64) go as they are; what is unknown, too: the Core then says what is wrong with it.
    default:
      return value;
  }
}

function parseJson(source: string, key: string): unknown {
  try {
    return JSON.parse(source);
  } catch (error) {
    throw usage(`input ${key} is not JSON: ${(error as Error).message}`);
  }
}
