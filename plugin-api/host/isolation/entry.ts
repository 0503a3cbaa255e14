/** First module of a worker or process that runs one plugin. */
import { registerHooks } from 'node:module';
import { Socket } from 'node:net';
import { getHeapStatistics } from 'node:v8';
import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { CoreError } from '../../errors.ts';
import type { PluginDefinition } from '../../plugin.ts';
import { Guest } from '../guest/guest.ts';
import type { GuestUsage } from '../guest/protocol.ts';
import { pipePort, threadPort } from './ports.ts';

/** What the host tells before any message. */
export interface EntryData {
  readonly plugin: string;
  /** URL of its module. */
  readonly main: string;
}

/** Pipe to the host, in a process. */
export const PIPE = 3;
const API = new URL('../../', import.meta.url).href;

const data = (isMainThread ? JSON.parse(process.argv[2] ?? '{}') : workerData) as EntryData;

/** Every module gets this Core's own plugin-api, wherever it lies: one class identity for errors. */
registerHooks({
  resolve: (specifier, context, next) =>
    /^@device-core\/plugin-api(\/|$)/.test(specifier) && !context.parentURL?.startsWith(API)
      ? next(specifier, { ...context, parentURL: import.meta.url })
      : next(specifier, context),
});

async function load(): Promise<PluginDefinition> {
  const { plugin } = (await import(data.main)) as { plugin?: PluginDefinition };
  if (typeof plugin?.setup === 'function') return plugin;
  const reason = `${data.main} exports no \`plugin\` with setup()`;
  throw new CoreError('PLUGIN_START_FAILED', { plugin: data.plugin, reason });
}

function usage(): GuestUsage {
  const { user, system } = isMainThread ? process.cpuUsage() : process.threadCpuUsage();
  const { used_heap_size, external_memory } = getHeapStatistics();
  return { cpuMs: (user + system) / 1_000, heapBytes: used_heap_size, externalBytes: external_memory };
}

const pipe = isMainThread ? new Socket({ fd: PIPE, readable: true, writable: true }) : undefined;
// A Core that is gone needs no plugins.
pipe?.on('close', () => process.exit(0));
const port = pipe ? pipePort(pipe, () => process.exit(70)) : threadPort(parentPort!, () => parentPort!.close());
const guest = new Guest(port, {
  load,
  usage,
  exit: () => (pipe ? pipe.end(() => process.exit(1)) : process.exit(1)),
});
process.on('uncaughtException', (error) => guest.crash(error));
