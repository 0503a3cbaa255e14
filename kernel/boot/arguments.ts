/** The command line of the Core. Runs before everything else: node:* imports only. */
import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';

const USAGE = `usage: node kernel/start.js [options]          run the Core
       node kernel/start.js check FILE [--json]  validate a SKU without running plugin code

  --sku FILE        SKU manifest (manifests/skus/simulator.yaml)
  --safe-mode       health, HTTP, logs and plugin management only, and what the SKU lists in safeMode
  --root DIR        folder of its etc, var and run (.device in the checkout)
  --system          use the folders that systemd gives instead (RUNTIME_, STATE_ and CONFIGURATION_DIRECTORY)
  --port N          TCP port on localhost (http.port)
  --socket PATH     shared Unix socket (http.socket)
  --no-tcp          no TCP port at all (http.tcp=false)
  --app DIR         an app to run beside those installed; may be repeated
  --set P.KEY=JSON  a setting of plugin P; may be repeated
  --log FILE        log file (var/log/core.log below the root), - for stdout
  --log-level L     trace, debug, info, warn or error (info)
  --version, --help`;

const TEXT = { type: 'string' } as const;
const TEXTS = { type: 'string', multiple: true } as const;
const FLAG = { type: 'boolean' } as const;
const OPTIONS = {
  sku: TEXT,
  root: TEXT,
  system: FLAG,
  port: TEXT,
  socket: TEXT,
  'no-tcp': FLAG,
  app: TEXTS,
  set: TEXTS,
  log: TEXT,
  'log-level': TEXT,
  json: FLAG,
  version: FLAG,
  help: FLAG,
  'safe-mode': FLAG,
} as const;

export interface Setting {
  readonly plugin: string;
  readonly key: string;
  readonly value: unknown;
  readonly append?: boolean;
}

export interface Arguments {
  readonly command: 'run' | 'check' | 'version';
  readonly sku: string;
  readonly safeMode: boolean;
  /** The SKU that the command line names beside --safe-mode. */
  readonly saved: string | undefined;
  readonly json: boolean;
  /** Folder in which people look for the device's files; the development root, or the run folder of the system. */
  readonly root: string;
  readonly paths: { readonly etc: string; readonly var: string; readonly run: string };
  readonly settings: readonly Setting[];
  readonly log: { readonly to: string; readonly level: string };
}

const CHECKOUT = resolve(import.meta.dirname, '../..');
const SIMULATOR = join(CHECKOUT, 'manifests/skus/simulator.yaml');

/** Reads the command line. A string is what to print instead of running: the usage, after the complaint if there is one. */
export function readArguments(
  argv: readonly string[],
  env: NodeJS.ProcessEnv,
): Arguments | { readonly print: string; readonly status: number } {
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options: OPTIONS, allowPositionals: true });
    if (values.help) return { print: USAGE, status: 0 };
    const [command, file, ...rest] = positionals;
    if (command !== undefined && (command !== 'check' || file === undefined || rest.length > 0)) {
      throw new Error(command === 'check' ? 'check takes one SKU file' : `there is no command ${command}`);
    }
    const safeMode = values['safe-mode'] ?? false;
    const level = values['log-level'] ?? 'info';
    if (!/^(trace|debug|info|warn|error)$/.test(level)) throw new Error(`there is no log level ${level}`);
    const { port = '' } = values;
    if (!/^\d*$/.test(port) || Number(port) > 65535) throw new Error(`--port takes 0 to 65535, not ${port}`);
    const root = resolve(values.root ?? join(CHECKOUT, '.device'));
    const folder = (name: string, variable: string) => (values.system ? given(env, variable) : join(root, name));
    const paths = {
      etc: folder('etc', 'CONFIGURATION_DIRECTORY'),
      var: folder('var', 'STATE_DIRECTORY'),
      run: folder('run', 'RUNTIME_DIRECTORY'),
    };
    for (const app of values.app ?? [])
      if (!statSync(resolve(app), { throwIfNoEntry: false })?.isDirectory())
        throw new Error(`--app takes the folder of an app, and ${app} is none`);
    return {
      command: values.version ? 'version' : command === 'check' ? 'check' : 'run',
      sku: safeMode ? join(CHECKOUT, 'manifests/skus/safe-mode.yaml') : resolve(file ?? values.sku ?? SIMULATOR),
      safeMode,
      saved: safeMode && values.sku !== undefined ? resolve(values.sku) : undefined,
      json: values.json ?? false,
      root: values.system ? paths.run : root,
      paths,
      settings: [
        ...(port === '' ? [] : [{ plugin: 'http', key: 'port', value: Number(port) }]),
        ...(values.socket === undefined ? [] : [{ plugin: 'http', key: 'socket', value: resolve(values.socket) }]),
        ...(values['no-tcp'] ? [{ plugin: 'http', key: 'tcp', value: false }] : []),
        ...(values.app ?? []).map((dir) => ({ plugin: 'apps', key: 'folders', value: resolve(dir), append: true })),
        ...(values.set ?? []).map(setting),
      ],
      log: { to: values.log === '-' ? '-' : resolve(values.log ?? join(paths.var, 'log/core.log')), level },
    };
  } catch (error) {
    return { print: `${error instanceof Error ? error.message : error}\n\n${USAGE}`, status: 2 };
  }
}

function given(env: NodeJS.ProcessEnv, variable: string): string {
  const first = env[variable]?.split(':')[0]; // systemd joins several with a colon
  if (first) return first;
  throw new Error(`--system needs ${variable}, which systemd sets for a unit that asks for it`);
}

function setting(text: string): Setting {
  const [, plugin, key, json] = /^([a-z][a-z0-9-]*)\.([^=]+)=(.*)$/s.exec(text) ?? [];
  if (plugin === undefined || key === undefined || json === undefined)
    throw new Error(`--set takes plugin.key=json, not ${text}`);
  try {
    return { plugin, key, value: JSON.parse(json) };
  } catch {
    return { plugin, key, value: json }; // a bare word stands for itself, so that shells need no second quotes
  }
}
