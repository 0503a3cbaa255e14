/** Rows 12 and 13: what it costs to start, and to be there. Both sides are processes of their own, started in turns. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { entryOf } from '../checkout.ts';
import {
  type Measured,
  microseconds,
  processCpu,
  processMemory,
  quartiles,
  type Row,
  type RunOptions,
} from '../harness.ts';
import { Workload } from '../workloads/written-plugins.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const MAIN = entryOf({ folder: ROOT });
const PEER = join(import.meta.dirname, '../workloads/start-peer.ts');
const PLUGINS = 30;
const SETTLE_MS = 3_000;
const MIB = 1 << 20;

/** Starts a process, and resolves when it printed `text`. `cache` is a warm compile cache, which the Core has and plain fastify has not. */
async function started(args: readonly string[], text: string, cache?: string): Promise<ChildProcess> {
  const env = cache === undefined ? process.env : { ...process.env, NODE_COMPILE_CACHE: cache };
  const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface(child.stdout)) if (line.includes(text)) return child;
  throw new Error(`${args[0]} ended without saying ${text}`);
}

async function ended(child: ChildProcess): Promise<void> {
  child.stdout?.resume();
  child.kill('SIGTERM');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
}

async function cpuOfStart(args: readonly string[], text: string, cache?: string): Promise<number> {
  const child = await started(args, text, cache);
  const cpu = processCpu(child.pid!);
  await ended(child);
  return cpu;
}

async function idleMemory(args: readonly string[], text: string, cache?: string): Promise<number> {
  const child = await started(args, text, cache);
  child.stdout?.resume();
  await sleep(SETTLE_MS);
  const bytes = processMemory(child.pid!);
  await ended(child);
  return bytes;
}

async function pairs(
  rounds: number,
  ours: () => Promise<number>,
  theirs: () => Promise<number>,
  shown: (value: number) => string,
): Promise<Measured> {
  const values: { a: number; b: number }[] = [];
  for (let i = 0; i < rounds; i++) {
    const first = await (i % 2 === 0 ? ours() : theirs());
    const second = await (i % 2 === 0 ? theirs() : ours());
    values.push(i % 2 === 0 ? { a: first, b: second } : { a: second, b: first });
  }
  return {
    ...quartiles(values.map(({ a, b }) => a / b)),
    ours: shown(quartiles(values.map(({ a }) => a)).median),
    theirs: shown(quartiles(values.map(({ b }) => b)).median),
  };
}

async function start({ quick }: RunOptions): Promise<Record<string, Measured>> {
  using work = new Workload(PLUGINS);
  const core = [MAIN, '--sku', work.sku, '--root', join(work.folder, 'root'), '--port', '0'];
  const peer = [PEER, ...work.modules];
  const cache = join(work.folder, 'cache');
  await cpuOfStart(core, 'Ctrl-C', cache); // fills the compile cache, as an image is made with one
  const ours = () => cpuOfStart(core, 'Ctrl-C', cache);
  const theirs = () => cpuOfStart(peer, 'http://');
  return { 'fastify and plain imports': await pairs(quick ? 3 : 9, ours, theirs, microseconds) };
}

async function memory({ quick }: RunOptions): Promise<Record<string, Measured>> {
  const root = mkdtempSync(join(tmpdir(), 'db-'));
  const core = [MAIN, '--root', root, '--port', '0'];
  const mebibytes = (value: number) => `${(value / MIB).toFixed(0)} MiB`;
  try {
    const cache = join(root, 'cache');
    await cpuOfStart(core, 'Ctrl-C', cache);
    const ours = () => idleMemory(core, 'Ctrl-C', cache);
    const theirs = () => idleMemory([PEER], 'http://');
    return { 'bare fastify': await pairs(quick ? 1 : 3, ours, theirs, mebibytes) };
  } finally {
    rmSync(root, { recursive: true });
  }
}

export const rows: readonly Row[] = [
  {
    id: 12,
    title: 'CPU from exec to listening with 30 plugins',
    goals: [{ name: 'fastify and plain imports', goal: 0.75 }],
    run: start,
  },
  {
    id: 13,
    title: 'Idle memory of the whole simulator SKU (the peer is not bundled)',
    goals: [{ name: 'bare fastify', goal: 1.25 }],
    run: memory,
  },
];
