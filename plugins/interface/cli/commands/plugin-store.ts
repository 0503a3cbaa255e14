import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { CoreError } from '@device-core/plugin-api';
import { replaceFile } from '@device-core/plugin-api/durable';
import { packedFilesOf, readTree, SIGNATURE_FILE, signTree } from '@device-core/plugin-api/package-tree';
import { type Command, Option } from 'commander';
import { action, type Cli } from '../cli.ts';
import type { Answer } from '../client.ts';
import { EXIT, Failure, usage } from '../failure.ts';
import { cell } from '../output.ts';

/** The Core answers when the plugin runs, or what it replaced runs again. */
const CHANGE_TIMEOUT_MS = 185_000;
const LIMITS = { files: 100_000, bytes: 1 << 30 };

interface InstallOptions {
  readonly isolation?: string;
  readonly config?: readonly string[];
  readonly check?: boolean;
}

interface Outcome {
  readonly state: 'checked' | 'probation' | 'good';
  readonly id: string;
  readonly version: string;
  readonly former?: string;
  readonly hash: string;
  readonly isolation: string;
  readonly capabilities: readonly string[];
  readonly signer?: string;
}

interface Installed {
  readonly id: string;
  readonly version: string;
  readonly state: 'probation' | 'good';
  readonly probationEndsAt?: number;
  readonly isolation: string;
  readonly lastGood?: { readonly version: string };
}

interface RolledBack {
  readonly id: string;
  readonly version: string;
  readonly reason: string;
}

/** Plugins that are installed on the device, beside those of its SKU. */
export function addPluginStore(plugin: Command): void {
  plugin
    .command('install <source>')
    .description('install or upgrade a plugin from a folder or a .tgz; the path is one of the device')
    .addOption(
      new Option('--isolation <level>', 'default: as before, else process').choices(['inline', 'worker', 'process']),
    )
    .option('--config <key=value>', 'a setting, JSON where it reads as JSON; may be repeated', collect)
    .option('--check', 'only tell what would be installed')
    .action(action<[string], InstallOptions>(install));
  plugin
    .command('installed')
    .description('plugins that were installed, their versions and what did not pass its probation')
    .action(
      action(async (cli) => {
        if (cli.out.json) return cli.out.line((await cli.client.get('/plugins/installed')).text);
        const listing = await installedPlugins(cli);
        const remarks = storeRemarks(listing);
        const ids = new Set([...listing.plugins, ...listing.rolledBack].map(({ id }) => id));
        const rows = [...ids].map((id) => {
          const one = listing.plugins.find((other) => other.id === id);
          return [id, one?.version ?? '', one?.lastGood?.version ?? '', one?.isolation ?? '', remarks.get(id) ?? ''];
        });
        await cli.out.table(['PLUGIN', 'VERSION', 'BEFORE', 'RUNS', 'REMARK'], rows, {
          empty: 'nothing was installed; add a plugin with: devicectl plugin install <folder|tgz>',
        });
      }),
    );
  for (const [verb, text] of [
    ['remove', 'remove a plugin that was installed, with its files'],
    ['rollback', 'bring the version before back'],
  ] as const)
    plugin
      .command(`${verb} <plugin>`)
      .description(text)
      .action(
        action<[string]>(async ({ client, out }, [id]) => {
          const timeoutMs = CHANGE_TIMEOUT_MS;
          const answer = await client.post(`/plugins/${encodeURIComponent(id)}/${verb}`, {}, { timeoutMs });
          if (out.json) return out.line(answer.text);
          const { version } = answer.body.plugin as Installed;
          await out.line(verb === 'remove' ? `${id} ${version} was removed` : `${id} ${version} is back`);
        }),
      );
  plugin
    .command('sign <folder>')
    .description(`write ${SIGNATURE_FILE} over what npm pack would take; needs no Core`)
    .requiredOption('--key <file>', 'Ed25519 private key, PEM')
    .action(action<[string], { readonly key: string }>(sign));
}

async function install({ client, out }: Cli, [source]: [string], options: InstallOptions): Promise<void> {
  const { isolation, check, config = [] } = options;
  const body = {
    source: resolve(source),
    ...(isolation ? { isolation } : {}),
    ...(check ? { check } : {}),
    ...(config.length > 0 ? { config: Object.fromEntries(config.map(setting)) } : {}),
  };
  const answer = await client.post('/plugins/install', body, { timeoutMs: CHANGE_TIMEOUT_MS });
  if (out.json) return out.line(answer.text);
  const outcome = answer.body as unknown as Outcome;
  const { id, version, former, state } = outcome;
  const instead = former === undefined || former === version ? '' : ` instead of ${former}`;
  const done = { checked: 'could be installed', probation: 'is active, on probation', good: 'was installed before' };
  await out.line(`${id} ${version} ${done[state]}${instead}`);
  await out.line(`runs     ${outcome.isolation}`);
  await out.line(`asks for ${outcome.capabilities.join(', ') || 'no capability'}`);
  await out.line(
    `files    ${outcome.hash}, ${outcome.signer ? `signed by ${outcome.signer}` : 'no trusted signature'}`,
  );
}

async function sign({ out }: Cli, [folder]: [string], { key }: { readonly key: string }): Promise<void> {
  const pem = await readFile(key, 'utf8').catch((error: Error) => {
    throw usage(`cannot read ${key}: ${error.message}`);
  });
  try {
    const files = await packedFilesOf(folder, LIMITS.files);
    const { hash } = await readTree(folder, files, LIMITS.bytes);
    await replaceFile(join(folder, SIGNATURE_FILE), signTree(hash, pem));
    await out.line(`${SIGNATURE_FILE} signs ${hash}`);
  } catch (error) {
    if (error instanceof CoreError) throw new Failure(EXIT.answered, error.code, error.message);
    throw usage(`cannot sign ${folder}: ${(error as Error).message}`);
  }
}

interface Listing {
  readonly plugins: readonly Installed[];
  readonly rolledBack: readonly RolledBack[];
}

/** Empty where there is no plugin-store, or the caller may not know. */
export async function installedPlugins({ client }: Cli): Promise<Listing> {
  const answer = await unlessMissing(client.get('/plugins/installed'));
  return { plugins: [], rolledBack: [], ...answer?.body };
}

/** Undefined where the Core has no plugin-store. */
export async function unlessMissing(answer: Promise<Answer>): Promise<Answer | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Failure && ['METHOD_NOT_FOUND', 'CAPABILITY_DENIED'].includes(error.code)) return undefined;
    throw error;
  }
}

/** What is to be said of plugins that were installed, by id. */
export function storeRemarks({ plugins, rolledBack }: Listing): ReadonlyMap<string, string> {
  const remarks = new Map<string, string>();
  for (const { id, state, probationEndsAt = 0 } of plugins) {
    const left = Math.max(0, Math.ceil((probationEndsAt - Date.now()) / 1000));
    remarks.set(id, state === 'good' ? 'installed' : `on probation${left > 0 ? ` for ${left} s more` : ''}`);
  }
  for (const { id, version, reason } of rolledBack) {
    const now = remarks.get(id);
    remarks.set(id, `${now ? `${now}; ` : ''}${version} was rolled back: ${cell(reason)}`);
  }
  return remarks;
}

function collect(word: string, words: readonly string[] = []): readonly string[] {
  return [...words, word];
}

function setting(word: string): readonly [string, unknown] {
  const [, key, value = ''] = /^([^=]+)=([\s\S]*)$/.exec(word) ?? [];
  if (key === undefined) throw usage(`"${word}" is not of the form key=value`);
  try {
    return [key, JSON.parse(value)];
  } catch {
    return [key, value]; // not JSON: the word itself is the value
  }
}
