import { readlinkSync } from 'node:fs';
import { registerHooks, syncBuiltinESMExports } from 'node:module';
import { Socket } from 'node:net';
import { getHeapStatistics } from 'node:v8';
import workerThreads, { isMainThread, parentPort } from 'node:worker_threads';
import type { PluginDefinition } from '@device-core/plugin-api';
import { CoreError } from '@device-core/plugin-api';
import type { GuestUsage } from '../usage/guest-watch.ts';
import type { EntryData } from './entry-data.ts';
import { Guest } from './guest/guest.ts';
import { pipePort, threadPort } from './ports.ts';

/** Pipe to the host, in a process. */
const PIPE = 3;
const KERNEL = new URL('../', import.meta.url).href;

/** A worker may look at itself alone; a process is known to the Core that started it. */
const THREAD = isMainThread ? undefined : threadNumber();

/** Every module gets this Core's own plugin-api, wherever it lies: one class identity for errors. */
registerHooks({
  resolve: (specifier, context, next) =>
    /^@device-core\/plugin-api(\/|$)/.test(specifier) && !context.parentURL?.startsWith(KERNEL)
      ? next(specifier, { ...context, parentURL: import.meta.url })
      : next(specifier, context),
});

/** Serves the plugin at its end of the border, until one side ends. */
export function serve(data: EntryData): void {
  const { plugin, main, port: thread } = data;
  // What goes to the Core goes through the border, which waits until the Core takes it in.
  delete data.port;
  parentPort?.close();
  workerThreads.postMessageToThread = noThread;
  syncBuiltinESMExports();
  const pipe = isMainThread ? new Socket({ fd: PIPE, readable: true, writable: true }) : undefined;
  // A Core that is gone needs no plugins.
  pipe?.on('close', () => process.exit(0));
  const port = pipe ? pipePort(pipe, () => process.exit(70)) : threadPort(thread!, () => process.exit(70));
  const guest = new Guest(port, {
    load: () => load(plugin, main),
    usage,
    exit: () => (pipe ? pipe.end(() => process.exit(1)) : process.exit(1)),
  });
  process.on('uncaughtException', (error) => guest.crash(error));
}

const noThread = () => Promise.reject(new Error('a plugin has no other thread to talk to'));

async function load(id: string, main: string): Promise<PluginDefinition> {
  const { plugin } = (await import(main)) as { plugin?: PluginDefinition };
  if (typeof plugin?.setup === 'function') return plugin;
  throw new CoreError('PLUGIN_START_FAILED', { plugin: id, reason: `${main} exports no \`plugin\` with setup()` });
}

function usage(): GuestUsage {
  const { user, system } = isMainThread ? process.cpuUsage() : process.threadCpuUsage();
  const { used_heap_size, external_memory } = getHeapStatistics();
  const usage = { cpuMs: (user + system) / 1_000, heapBytes: used_heap_size, externalBytes: external_memory };
  return THREAD === undefined ? usage : { ...usage, thread: THREAD };
}

function threadNumber(): number | undefined {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1));
  } catch {
    return undefined; // not Linux
  }
}
