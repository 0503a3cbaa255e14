import { spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { getCompileCacheDir } from 'node:module';
import { constants } from 'node:os';
import type { Duplex, Readable, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { MessageChannel, Worker } from 'node:worker_threads';
import type {
  Guest,
  Isolation,
  Launcher,
  PluginBudget,
  PluginManifest,
  Processes,
  WalledProgram,
} from '@device-core/plugin-api';
import { CoreError, implies } from '@device-core/plugin-api';
import type { SandboxSpec } from '@device-core/plugin-api/sandbox';
import { systemClock } from '../clock.ts';
import { outcome } from '../deadline.ts';
import { programOf } from '../walls/descent.ts';
import { permissionFlags, withReal } from '../walls/permissions.ts';
import { type DevicePaths, reachOf, sandboxFiles } from '../walls/reach.ts';
import type { EntryData } from './entry-data.ts';
import { pipePort, threadPort } from './ports.ts';
import type { Port } from './remote/index.ts';

/** Megabytes of heap where the manifest's budget says nothing. */
export const HEAP_MB = 256;

export interface LaunchOptions {
  readonly level: Exclude<Isolation, 'inline'>;
  readonly manifest: PluginManifest;
  readonly budget?: PluginBudget;
  /** Absolute path of its module. */
  readonly main: string;
  /** Folders that `files` of a manifest may name: `{etc}`, `{var}`, `{run}`. */
  readonly paths: DevicePaths;
  /** Hears of its process, in the turn in which it is made. */
  readonly processes?: Pick<Processes, 'add' | 'end'> | undefined;
  /** Puts a process inside walls. */
  readonly launcher: Launcher;
}

/** A worker or process that was started. */
export interface Launched {
  readonly port: Port;
  /** Process id of the outermost process; absent for a worker. */
  readonly pid?: number;
  /** Process id of the plugin itself; undefined for a worker, before it has begun and after its end. */
  program(): number | undefined;
  readonly output: readonly Readable[];
  /** Bytes that it holds, asked without its help; undefined when it has just ended. */
  memory(): Promise<number | undefined>;
  /** Resolves when it has ended, with what can be said of it. */
  readonly exited: Promise<CoreError>;
  kill(): Promise<void>;
}

// Built for publishing, this file and the entry are JavaScript.
const ENTRY = new URL(`./entry${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

/** A launch with all that takes time before it done: the process is made in the turn of the call. */
export type ReadyLaunch = () => Launched;

/** Makes the start of the entry module for one plugin ready. */
export async function prepareLaunch(options: LaunchOptions): Promise<ReadyLaunch> {
  const cache = getCompileCacheDir();
  const data: EntryData = { plugin: options.manifest.id, main: pathToFileURL(options.main).href, cache };
  if (options.level === 'worker') return () => launchWorker(options, data);
  const walled = await processOf(options, data);
  return () => launchProcess(options, walled);
}

/**
 * With V8's own 48 MB, one collection can move more to a full heap than the leeway that Node gives it, and V8 then ends the whole process.
 * Measured with this: 96 of 96 heaps that ran full ended their worker alone; without, about every fourth ended the Core.
 */
const YOUNG_MB = 8;
const TERMINATE_MS = 2_000;

function launchWorker({ manifest, budget }: LaunchOptions, workerData: EntryData): Launched {
  const heapMB = budget?.heapMB ?? HEAP_MB;
  // TurboFan leaves out a loop's check for interrupts where it replaces the loop on the stack, and such a loop can be ended by nobody.
  setFlagsFromString('--no-use-osr');
  // The worker's own channel cannot be left unread for a while; this one can.
  const { port1: own, port2: port } = new MessageChannel();
  const worker = new Worker(ENTRY, {
    ...{ name: `plugin ${manifest.id}`, env: {}, execArgv: [], stdout: true, stderr: true },
    ...{ workerData: { ...workerData, port }, transferList: [port] },
    resourceLimits: { maxOldGenerationSizeMb: heapMB, maxYoungGenerationSizeMb: YOUNG_MB },
  });
  const { promise: exited, resolve } = Promise.withResolvers<CoreError>();
  const ended = (reason: string, cause?: unknown) => resolve(crash(manifest.id, reason, cause));
  worker.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') ended(`its heap grew past ${heapMB} MB`);
    else ended(`an error escaped from it: ${error.message}`, error);
  });
  const border = threadPort(own, () => ended('it sent what cannot be read'));
  worker.on('exit', async (code) => {
    await border.drained(); // what it said last is heard first
    ended(`it ended by itself with exit code ${code}`);
  });
  return {
    port: border,
    program: () => undefined,
    output: [worker.stdout, worker.stderr],
    exited,
    // V8 answers in the middle of whatever the worker does.
    memory: () =>
      worker.getHeapStatistics().then(
        ({ used_heap_size, external_memory, malloced_memory }) => used_heap_size + external_memory + malloced_memory,
        () => undefined,
      ),
    // A thread that cannot be interrupted ends with the Core; nobody waits for it.
    kill: async () => void (await outcome(systemClock, worker.terminate(), TERMINATE_MS)),
  };
}

/** Standard streams, and the channel to the Core. */
const DESCRIPTORS = 4;

async function processOf(options: LaunchOptions, data: EntryData): Promise<WalledProgram> {
  const { manifest, budget, main, paths, launcher } = options;
  const reach = reachOf(manifest, main, paths, data.cache);
  const flags = [`--max-old-space-size=${budget?.heapMB ?? HEAP_MB}`, ...permissionFlags(reach)];
  const files = await sandboxFiles(manifest.id, reach, paths);
  const spec: SandboxSpec = {
    name: `plugin-${manifest.id}`.slice(0, 63),
    program: process.execPath,
    args: [...flags, ENTRY.pathname, JSON.stringify(data)],
    cwd: '/',
    env: {},
    files: {
      ...files,
      read: [...new Set(files.read.flatMap(withReal))],
      write: [...new Set(files.write.flatMap(withReal))],
    },
    sockets: [],
    network: manifest.capabilities?.some((capability) => implies('network', capability)) ? 'open' : 'none',
    nodes: [],
  };
  return launcher.prepare(spec, { descriptors: DESCRIPTORS });
}

function launchProcess({ manifest, budget, processes }: LaunchOptions, walled: WalledProgram): Launched {
  const heapMB = budget?.heapMB ?? HEAP_MB;
  const { command, args, env, cwd, feeds, above } = walled;
  const stdio = ['ignore', 'pipe', 'pipe', 'pipe', ...feeds.map(() => 'pipe' as const)] as const;
  const child = spawn(command, args, { stdio: [...stdio], env, cwd });
  const guest: Guest = { kind: 'plugin', id: manifest.id };
  void processes?.add(guest, child.pid === undefined ? {} : { pid: child.pid });
  for (const { descriptor, bytes } of feeds) {
    const feed = child.stdio[descriptor] as Writable | undefined;
    feed?.on('error', () => undefined); // who does not read it ends, which is told below
    feed?.end(bytes);
  }
  const { promise: exited, resolve } = Promise.withResolvers<CoreError>();
  const ended = (reason: string, cause?: unknown) => resolve(crash(manifest.id, reason, cause));
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said = `${said}${chunk}`.slice(-4_096);
  });
  child.on('error', (error) => ended(`it cannot be started: ${error.message}`, error));
  child.on('close', (code, signal) => {
    if (/heap out of memory/i.test(said)) ended(`its heap grew past ${heapMB} MB`);
    else {
      const name = signal ?? (above === 2 ? signalOf(code) : undefined);
      ended(name ? `it was ended by ${name}` : `it ended by itself with exit code ${code}`);
    }
  });
  const gone = new Promise<void>((done) => {
    child.on('exit', () => {
      void processes?.end(guest);
      done();
    });
    child.on('error', () => done());
  });
  const program = () => (child.pid === undefined ? undefined : programOf(child.pid, above));
  return {
    port: pipePort(child.stdio[3] as Duplex, (error) => {
      ended(`it broke the rules of the border: ${error.message}`, error);
      child.kill('SIGKILL');
    }),
    ...(child.pid === undefined ? {} : { pid: child.pid }),
    program,
    output: [child.stdout!, child.stderr!],
    exited,
    async memory() {
      const pid = program();
      return pid === undefined ? undefined : resident(pid);
    },
    async kill() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await gone;
    },
  };
}

/** As bubblewrap and shells tell the signal that ended a program. */
function signalOf(code: number | null): string | undefined {
  return Object.entries(constants.signals).find(([, number]) => code === 128 + number)?.[0];
}

const PAGE = 4_096;

async function resident(pid: number): Promise<number | undefined> {
  try {
    return Number((await readFile(`/proc/${pid}/statm`, 'utf8')).split(' ')[1]) * PAGE;
  } catch {
    return undefined; // it has just ended, which is told elsewhere
  }
}

/** Why a plugin is not there any more, for whoever waits for it. */
export function crash(plugin: string, reason: string, cause?: unknown): CoreError {
  return new CoreError('UNAVAILABLE', { what: `plugin ${plugin}`, reason }, { cause });
}
