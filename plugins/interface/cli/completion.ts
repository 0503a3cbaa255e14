import type { Command } from 'commander';
import type { Cli } from './cli.ts';
import { CoreClient } from './client.ts';
import { Failure } from './failure.ts';
import { Target } from './target.ts';

type Names =
  | 'apps'
  | 'config'
  | 'events'
  | 'functions'
  | 'handles'
  | 'plugins'
  | 'i2c'
  | 'gpio'
  | 'uart'
  | 'can'
  | 'bridge'
  | 'sensors';

/** Which names stand after a command. */
export const NAMES_AFTER: Readonly<Record<string, Names>> = {
  call: 'functions',
  functions: 'functions',
  events: 'events',
  'config get': 'config',
  'config set': 'config',
  'config unset': 'config',
  'config list': 'config',
  'apps show': 'apps',
  'apps start': 'apps',
  'apps stop': 'apps',
  'apps restart': 'apps',
  'plugin restart': 'plugins',
  'plugin release': 'plugins',
  'plugin enable': 'plugins',
  'plugin disable': 'plugins',
  'plugin remove': 'plugins',
  'plugin rollback': 'plugins',
  'spi transfer': 'handles',
  'i2c transfer': 'i2c',
  'i2c recover': 'i2c',
  'gpio read': 'gpio',
  'gpio write': 'gpio',
  'uart read': 'uart',
  'uart write': 'uart',
  'can send': 'can',
  'bridge reset': 'bridge',
  'sensors read': 'sensors',
};

/** Where the names come from: path, list in the answer, member of each item. */
const SOURCES: Readonly<Record<Exclude<Names, 'events'>, readonly [path: string, list: string, member: string]>> = {
  apps: ['/apps', 'apps', 'id'],
  config: ['/config', 'entries', 'key'],
  functions: ['/functions', 'functions', 'name'],
  handles: ['/spi/handles', 'handles', 'name'],
  plugins: ['/plugins', 'plugins', 'id'],
  i2c: ['/i2c/handles', 'handles', 'name'],
  gpio: ['/gpio/handles', 'handles', 'name'],
  uart: ['/uart/handles', 'handles', 'name'],
  can: ['/can/handles', 'handles', 'name'],
  sensors: ['/sensors', 'sensors', 'name'],
  bridge: ['/bridge', 'endpoints', 'name'],
};

const TOPICS = ['system.**', 'app.**', 'app.state', 'plugin.state', 'config.changed', 'ui.toast', 'ui.banner', '**'];

/** A shell waits for us at every Tab. */
const TIMEOUT_MS = 1000;

/** Candidates for the last of `words`, which is being typed. Never fails: without a Core there are no names. */
export async function candidates(program: Command, words: readonly string[], cli: Cli): Promise<readonly string[]> {
  const typed = words.at(-1) ?? '';
  const place = walk(program, words.slice(0, -1));
  const found = await complete(place, typed, place.target ?? cli.client);
  return [...new Set(found)].filter((candidate) => candidate.startsWith(typed)).sort();
}

interface Place {
  readonly command: Command;
  readonly path: string;
  readonly positionals: readonly string[];
  /** Option whose value is being typed. */
  readonly option?: string | undefined;
  readonly target?: CoreClient;
}

/** Where in the command line the cursor is. */
function walk(program: Command, words: readonly string[]): Place {
  let command = program;
  let option: string | undefined;
  const path: string[] = [];
  const positionals: string[] = [];
  const values: Record<string, string> = {};
  for (const word of words) {
    if (option !== undefined) {
      values[option] = word;
      option = undefined;
      continue;
    }
    if (word.startsWith('-')) {
      const known = [...command.options, ...program.options].find((one) => one.long === word || one.short === word);
      if (known?.required) option = known.attributeName();
      continue;
    }
    const next = command.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next) {
      command = next;
      path.push(next.name());
    } else positionals.push(word);
  }
  const named = ['root', 'run', 'socket', 'url', 'tokenFile'].some((key) => key in values);
  const place = { command, path: path.join(' '), positionals, option };
  return named ? { ...place, target: new CoreClient(new Target(values)) } : place;
}

async function complete(place: Place, typed: string, client: CoreClient): Promise<readonly string[]> {
  const { command, path, positionals, option } = place;
  if (option !== undefined) return option === 'app' ? names(client, 'apps') : [];
  if (typed.startsWith('-')) {
    const root = command.parent ? topOf(command).options : [];
    return [...command.options, ...root].flatMap(({ long }) => (long ? [long] : []));
  }
  const commands = command.commands.map((one) => one.name()).filter((name) => !name.startsWith('__'));
  if (commands.length > 0) return positionals.length === 0 ? [...commands, ...(command.parent ? [] : ['help'])] : [];
  const argument = command.registeredArguments[positionals.length];
  if (argument?.argChoices) return argument.argChoices;
  if (path === 'call' && positionals.length > 0) return inputNames(client, positionals);
  const kind = NAMES_AFTER[path];
  return kind && (positionals.length === 0 || kind === 'events') ? names(client, kind) : [];
}

function topOf(command: Command): Command {
  return command.parent ? topOf(command.parent) : command;
}

async function names(client: CoreClient, kind: Names): Promise<readonly string[]> {
  if (kind === 'events') return TOPICS;
  const [path, list, member] = SOURCES[kind];
  const items = (await ask(client, path))?.[list];
  return Array.isArray(items) ? items.map((item: Record<string, unknown>) => String(item[member])) : [];
}

/** `key=` for every input of the function that is not there yet. */
async function inputNames(client: CoreClient, [name, ...given]: readonly string[]): Promise<readonly string[]> {
  const body = await ask(client, `/functions/${encodeURIComponent(name ?? '')}`);
  const keys = Object.keys(body?.inputs ?? {}).map((key) => `${key}=`);
  return keys.filter((key) => !given.some((word) => word.startsWith(key)));
}

async function ask(client: CoreClient, path: string): Promise<Record<string, unknown> | undefined> {
  try {
    return (await client.get(path, { timeoutMs: TIMEOUT_MS })).body;
  } catch (error) {
    if (error instanceof Failure) return undefined;
    throw error;
  }
}
