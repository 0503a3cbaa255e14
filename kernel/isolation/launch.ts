import { spawn } from 'node:child_process';
import { getCompileCacheDir } from 'node:module';
import { constants } from 'node:os';
import { dirname } from 'node:path';
import type { Duplex, Writable } from 'node:stream';
import { pathToFileURL } from 'node:url';
import type { Isolation, PluginBudget, PluginManifest, PluginSource } from '@device-core/plugin-api';
import { implies } from '@device-core/plugin-api';
import { HeldMemory } from '@device-core/plugin-api/inside/held-memory';
import type { SandboxSpec } from '@device-core/plugin-api/inside/sandbox';
import type { Launcher, WalledProgram } from '@device-core/plugin-api/inside/services/launcher';
import type { Guest } from '@device-core/plugin-api/inside/services/processes';
import { GUEST_LIMITS } from '../usage/guest-watch.ts';
import { programOf } from '../walls/descent.ts';
import { permissionFlags, withReal } from '../walls/permissions.ts';
import { type DevicePaths, ownFolder, reachOf, sandboxFiles } from '../walls/reach.ts';
import { ENTRY, type EntryData, HEAP_MB } from './entry-data.ts';
import { crashOnce, type Launched } from './launched.ts';
import { pipePort } from './ports.ts';
import { type SharedThreads, Thread } from './thread.ts';
import { launchUnit, type UnitOptions } from './unit.ts';

export interface LaunchOptions extends UnitOptions {
  readonly level: Exclude<Isolation, 'inline'>;
  readonly manifest: PluginManifest;
  readonly budget?: PluginBudget;
  /** The worker that it shares with others; what of them runs is in `threads`. */
  readonly share?: PluginSource['share'];
  readonly threads?: SharedThreads;
  /** Absolute path of its module. */
  readonly main: string;
  /** Folders that `files` of a manifest may name: `{etc}`, `{var}`, `{run}`. */
  readonly paths: DevicePaths;
  /** Puts a process inside walls. */
  readonly launcher: Launcher;
}

/** A launch with all that takes time before it done: the process is made in the turn of the call. */
export type ReadyLaunch = () => Launched;

/** Makes the start of the entry module for one plugin ready. */
export async function prepareLaunch(options: LaunchOptions): Promise<ReadyLaunch> {
  const { level, manifest, main, share, threads = new Map(), budget } = options;
  const heapMB = share?.heapMB ?? budget?.heapMB ?? HEAP_MB;
  const guest = { plugin: manifest.id, main: pathToFileURL(main).href };
  if (level === 'worker') return () => Thread.join(guest, { heapMB, share: share?.name, threads });
  const spec = await specOf(options, { cache: getCompileCacheDir(), guest });
  const unit = await launchUnit(options, { manifest, code: ownFolder(dirname(main)), spec });
  if (unit) return unit;
  const walled = await options.launcher.prepare(spec, { descriptors: DESCRIPTORS });
  return () => launchProcess(options, walled);
}

/** Standard streams, and the channel to the Core. */
const DESCRIPTORS = 4;

async function specOf({ manifest, budget, main, paths }: LaunchOptions, data: EntryData): Promise<SandboxSpec> {
  const reach = reachOf(manifest, main, paths, data.cache);
  const flags = [`--max-old-space-size=${budget?.heapMB ?? HEAP_MB}`, ...permissionFlags(reach)];
  const files = await sandboxFiles(manifest.id, reach, paths);
  return {
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
    limits: { memoryMaxMB: (budget?.heapMB ?? HEAP_MB) + GUEST_LIMITS.outsideMB },
  };
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
  const { exited, ended } = crashOnce(manifest.id);
  let said = '';
  child.stderr?.on('data', (chunk: Buffer) => {
    said = `${said}${chunk}`.slice(-4_096);
  });
  child.on('error', (error) => ended(`it cannot be started: ${error.message}`, error));
  child.on('close', (code, signal) => {
    if (/heap out of memory/i.test(said)) ended(`its heap grew past ${heapMB} MB`);
    else {
      const name = signal ?? (above > 0 ? signalOf(code) : undefined);
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
  const held = new HeldMemory();
  const program = () => (child.pid === undefined ? undefined : programOf(child.pid, above));
  return {
    port: pipePort(child.stdio[3] as Duplex, (error) => {
      ended(`it broke the rules of the border: ${error.message}`, error);
      child.kill('SIGKILL');
    }),
    program,
    heapMB,
    output: [child.stdout!, child.stderr!],
    exited,
    async memory() {
      const pid = program();
      return pid === undefined ? undefined : held.withResident(pid);
    },
    async kill() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await gone;
    },
  };
}

/** Walls report the signal that ended a program as shells do. */
function signalOf(code: number | null): string | undefined {
  return Object.entries(constants.signals).find(([, number]) => code === 128 + number)?.[0];
}
