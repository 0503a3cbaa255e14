import type { FunctionInfo } from '@device-core/plugin-api';
import type { Command } from 'commander';
import { action } from '../cli.ts';
import type { CoreClient } from '../client.ts';
import { usage } from '../failure.ts';
import { readInputs, typedInputs } from '../inputs.ts';
import { cell } from '../output.ts';

interface Which {
  readonly app?: string;
  readonly range?: string;
}

interface CallOptions extends Which {
  readonly jsonInputs?: string;
}

/** A function may take 60 s; the Core says TIMEOUT before we give up. */
const CALL_TIMEOUT_MS = 65_000;

export function addFunctions(program: Command): void {
  program
    .command('functions [name]')
    .description('the functions that apps have registered, or one of them')
    .option('--app <id>', 'only of this app')
    .action(
      action<[string | undefined], Which>(async ({ client, out }, [name], { app }) => {
        const answer = await client.get('/functions', { query: { name, app } });
        if (out.json) return out.line(answer.text);
        const functions = answer.body.functions as readonly FunctionInfo[];
        await out.table(
          ['FUNCTION', 'VERSION', 'APP', 'AVAILABLE', 'SIGNATURE'],
          functions.map((one) => [one.name, one.version, one.app, one.available ? 'yes' : 'no', signature(one)]),
          { empty: 'no functions are registered' },
        );
      }),
    );
  program
    .command('call <function> [inputs...]')
    .description('call a function of an app: key=value by its declared type, key:=JSON as it is')
    .option('--json-inputs <json>', 'all inputs as one JSON object; @file reads a file, - standard input')
    .option('--app <id>', 'the app, where several have a function of this name')
    .option('--range <semver>', 'versions that will do (default: the newest)')
    .action(
      action<[string, string[]], CallOptions>(async ({ client, out }, [name, words], options) => {
        const { app, range } = options;
        if (options.jsonInputs !== undefined && words.length > 0)
          throw usage('give key=value inputs or --json-inputs, not both');
        const inputs =
          options.jsonInputs === undefined
            ? typedInputs(words, words.length > 0 ? (await describe(client, name, options)).inputs : undefined)
            : await readInputs(options.jsonInputs);
        const answer = await client.post(
          '/functions/call',
          { name, inputs, ...(app !== undefined && { app }), ...(range !== undefined && { version: range }) },
          { timeoutMs: CALL_TIMEOUT_MS },
        );
        if (out.json) return out.line(answer.text);
        const results = Object.entries((answer.body.result ?? {}) as object);
        await out.table(
          ['RESULT', 'VALUE'],
          results.map(([key, value]) => [key, cell(value)]),
          { empty: 'done' },
        );
      }),
    );
}

async function describe(client: CoreClient, name: string, { app, range }: Which): Promise<FunctionInfo> {
  const { body } = await client.get(`/functions/${encodeURIComponent(name)}`, { query: { app, version: range } });
  return body as unknown as FunctionInfo;
}

function signature({ inputs = {}, returns = {} }: FunctionInfo): string {
  const list = (types: Readonly<Record<string, string>>) =>
    Object.entries(types)
      .map(([name, type]) => `${name}: ${type}`)
      .join(', ');
  return `(${list(inputs)}) -> {${list(returns)}}`;
}
