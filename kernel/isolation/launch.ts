import { spawn } from 'node:child_process';
import { getCompileCacheDir } from 'node:module';
import type { Duplex, Readable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { Worker } from 'node:worker_threads';
import type { Guest, Isolation, PluginBudget, PluginManifest, Processes } from '@device-core/plugin-api';
import { CoreError } from '@device-core/plugin-api';
import { systemClock } from '../clock.ts';
import { outcome } from '../deadline.ts';
import type { EntryData } from './entry-data.ts';
import { permissionFlags } from './permissions.ts';
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
  readonly paths: Readonly<Record<'etc' | 'var' | 'run', string>>;
  /** Hears of its process, in the turn in which it is made. */
  readonly processes?: Pick<Processes, 'add' | 'end'> | undefined;
}

/** A worker or process that was started. */
export interface Launched {
  readonly port: Port;
  /** Process id; absent for a worker. */
  readonly pid?: number;
  readonly output: readonly Readable[];
  /** Resolves when it has ended, with what can be said of it. */
  readonly exited: Promise<CoreError>;
  kill(): Promise<void>;
}

// Built for publishing, this file and the entry are JavaScript.
const ENTRY = new URL(`./entry${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);

/** Starts the entry module for one plugin. */
export function launch(options: LaunchOptions): Launched {
  const cache = getCompileCacheDir();
  const data: EntryData = { plugin: options.manifest.id, main: pathToFileURL(options.main).href, cache };
  return options.level === 'worker' ? launchWorker(options, data) : launchProcess(options, data);
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
  const worker = new Worker(ENTRY, {
    ...{ name: `plugin ${manifest.id}`, workerData, env: {}, execArgv: [], stdout: true, stderr: true },
    resourceLimits: { maxOldGenerationSizeMb: heapMB, maxYoungGenerationSizeMb: YOUNG_MB },
  });
  const { promise: exited, resolve } = Promise.withResolvers<CoreError>();
  const ended = (reason: string, cause?: unknown) => resolve(crash(manifest.id, reason, cause));
  worker.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'ERR_WORKER_OUT_OF_MEMORY') ended(`its heap grew past ${heapMB} MB`);
    else ended(`an error escaped from it: ${error.message}`, error);
  });
  worker.on('messageerror', () => ended('it sent what cannot be read'));
  worker.on('exit', (code) => ended(`it ended by itself with exit code ${code}`));
  return {
    port: threadPort(worker, () => undefined),
    output: [worker.stdout, worker.stderr],
    exited,
    // A thread that cannot be interrupted ends with the Core; nobody waits for it.
    kill: async () => void (await outcome(systemClock, worker.terminate(), TERMINATE_MS)),
  };
}

function launchProcess({ manifest, budget, main, paths, processes }: LaunchOptions, data: EntryData): Launched {
  const heapMB = budget?.heapMB ?? HEAP_MB;
  const flags = [`--max-old-space-size=${heapMB}`, ...permissionFlags(manifest, main, paths, data.cache)];
  const child = spawn(process.execPath, [...flags, ENTRY.pathname, JSON.stringify(data)], {
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: {},
    cwd: '/',
  });
  const guest: Guest = { kind: 'plugin', id: manifest.id };
  void processes?.add(guest, child.pid === undefined ? {} : { pid: child.pid });
  const { promise: exited, resolve } = Promise.withResolvers<CoreError>();
  const ended = (reason: string, cause?: unknown) => resolve(crash(manifest.id, reason, cause));
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said = `${said}${chunk}`.slice(-4_096);
  });
  child.on('error', (error) => ended(`it cannot be started: ${error.message}`, error));
  child.on('close', (code, signal) => {
    if (/heap out of memory/i.test(said)) ended(`its heap grew past ${heapMB} MB`);
    else ended(signal ? `it was ended by ${signal}` : `it ended by itself with exit code ${code}`);
  });
  const gone = new Promise<void>((done) => {
    child.on('exit', () => {
      void processes?.end(guest);
      done();
    });
    child.on('error', () => done());
  });
  return {
    port: pipePort(child.stdio[3] as Duplex, (error) => {
      ended(`it broke the rules of the border: ${error.message}`, error);
      child.kill('SIGKILL');
    }),
    ...(child.pid === undefined ? {} : { pid: child.pid }),
    output: [child.stdout!, child.stderr!],
    exited,
    async kill() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await gone;
    },
  };
}

/** Why a plugin is not there any more, for whoever waits for it. */
export function crash(plugin: string, reason: string, cause?: unknown): CoreError {
  return new CoreError('UNAVAILABLE', { what: `plugin ${plugin}`, reason }, { cause });
}
