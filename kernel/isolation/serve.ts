import { readlinkSync } from 'node:fs';
import { flushCompileCache, registerHooks, syncBuiltinESMExports } from 'node:module';
import { connect, Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { getHeapStatistics } from 'node:v8';
import workerThreads, { isMainThread, parentPort } from 'node:worker_threads';
import type { PluginDefinition } from '@device-core/plugin-api';
import { CoreError } from '@device-core/plugin-api';
import { originOf } from '../blame.ts';
import { systemClock } from '../clock.ts';
import type { GuestUsage } from '../usage/guest-watch.ts';
import type { EntryData, GuestData } from './entry-data.ts';
import { Guest } from './guest/guest.ts';
import { pipePort, threadPort } from './ports.ts';
import type { Port } from './remote/index.ts';

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

/** Guests of this thread or process, with the folder of their code. */
const guests = new Map<Guest, string>();

/** Serves plugins at their end of the border, until one side ends. */
export function serve(data: EntryData): void {
  const { guest, joins, shared } = data;
  // Messages to the Core must use the border, which waits for the Core; the other ways are closed.
  delete data.joins;
  parentPort?.close();
  workerThreads.postMessageToThread = () => Promise.reject(new Error('a plugin has no other thread to talk to'));
  syncBuiltinESMExports();
  // A unit of the system inherits nothing: it is given the path of its channel.
  const [, , , channel] = process.argv;
  const pipe = guest && (channel ? connect(channel) : new Socket({ fd: PIPE, readable: true, writable: true }));
  const exit = () => (pipe ? pipe.end(() => process.exit(1)) : process.exit(1));
  process.on('uncaughtException', (error) => {
    crash(error);
    exit();
  });
  // A Core that is gone needs no plugins.
  pipe?.on('close', () => process.exit(0));
  if (pipe)
    host(
      guest,
      pipePort(pipe, () => process.exit(70)),
      exit,
    );
  // Code that only workers load is cached for the next start, too, and survives a power cut. A process may not write there.
  if (joins) systemClock.after(5_000, flushCompileCache);
  joins?.on('message', (joining: GuestData) => {
    if (!shared) joins.close();
    const { port } = joining;
    const one = host(
      joining,
      threadPort(port!, () => process.exit(70)),
      exit,
    );
    port!.on('close', () => {
      guests.delete(one);
      one.close();
    });
  });
}

function host({ plugin, main }: GuestData, port: Port, exit: () => void): Guest {
  const guest = new Guest(port, { load: () => load(plugin, main), usage, exit });
  guests.set(guest, fileURLToPath(new URL('./', main)));
  return guest;
}

/** Blames the guest whose code threw; all guests, if the origin is unknown. */
function crash(error: unknown): void {
  const folders = [...new Set(guests.values())].map((folder) => [folder, folder] as const);
  const origin = guests.size > 1 ? originOf(error, folders)?.owner : undefined;
  const suspects = [...guests].filter(([, folder]) => origin === undefined || folder === origin);
  for (const [guest] of suspects) guest.crash(error, suspects.length === 1);
}

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
