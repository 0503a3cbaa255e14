import type { ConfigEntry } from '@device-core/plugin-api';
import type { Command } from 'commander';
import { action, type Cli } from '../cli.ts';
import { parseJson } from '../inputs.ts';
import { cell } from '../output.ts';

interface Scope {
  readonly app?: string;
}

interface SetOptions extends Scope {
  readonly string?: boolean;
  readonly ifRevision?: string;
}

const APP = ['--app <id>', "an app's view: its overrides over the device's settings"] as const;

export function addConfig(program: Command): void {
  const config = program.command('config').description('settings of the device, or of an app');
  config
    .command('get <key>')
    .description('print a value')
    .option(...APP)
    .action(
      action<[string], Scope>(async (cli, [key], { app }) => {
        const answer = await cli.client.get(path(key), { query: { app } });
        await cli.out.line(cli.out.json ? answer.text : cell(answer.body.value));
      }),
    );
  config
    .command('set <key> <value>')
    .description('set a value: JSON where it reads as JSON, a string otherwise')
    .option(...APP)
    .option('--string', 'take the value as a string, whatever it looks like')
    .option('--if-revision <n>', 'only if the revision is still this one')
    .action(
      action<[string, string], SetOptions>(async (cli, [key, text], options) => {
        await put(cli, key, options.string ? text : readValue(text), options);
      }),
    );
  config
    .command('unset <key>')
    .description('remove a value, so that the layer below shows again')
    .option(...APP)
    .action(action<[string], Scope>(async (cli, [key], scope) => put(cli, key, null, scope)));
  config
    .command('list [prefix]', { isDefault: true })
    .description('every value, which layer it comes from and who set it')
    .option(...APP)
    .action(
      action<[string | undefined], Scope>(async (cli, [prefix], { app }) => {
        const answer = await cli.client.get('/config', { query: { prefix, app } });
        if (cli.out.json) return cli.out.line(answer.text);
        const entries = answer.body.entries as readonly ConfigEntry[];
        await cli.out.table(
          ['KEY', 'VALUE', 'SOURCE', 'REVISION', 'SET BY'],
          entries.map((one) => [one.key, cell(one.value), one.source, String(one.revision), one.setBy ?? '']),
          { empty: 'nothing is set' },
        );
      }),
    );
}

async function put(cli: Cli, key: string, value: unknown, options: SetOptions): Promise<void> {
  const revision = options.ifRevision === undefined ? undefined : parseJson(options.ifRevision, '--if-revision');
  const { app } = options;
  const body = { value, ...(revision !== undefined && { ifRevision: revision }), ...(app !== undefined && { app }) };
  const answer = await cli.client.put(path(key), body);
  if (cli.out.json) return cli.out.line(answer.text);
  const { source, revision: now } = answer.body;
  await cli.out.line(
    value === null ? `${key} is not set any more` : `${key} = ${cell(value)} (${source}, revision ${now})`,
  );
}

function path(key: string): string {
  return `/config/${encodeURIComponent(key)}`;
}

function readValue(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Not JSON: the word itself is the value, as in `config set device.name kitchen`.
    return text;
  }
}
