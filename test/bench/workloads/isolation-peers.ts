/** The least that a round trip to a worker or a process can cost in Node: bare echoes, and the Core that is measured against them. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { type Invocation, operations } from '@device-core/plugin-api/services/operations';
import { type Core, startCore } from '../../fixtures/core.ts';
import { type Echo, echoRef } from './isolation-plugin/echo.ts';

export const LEVELS = ['inline', 'worker', 'process'] as const;
export type Level = (typeof LEVELS)[number];

const FOLDER = join(import.meta.dirname, 'isolation-plugin');
const ECHO = join(import.meta.dirname, 'isolation-echo.ts');

/** Sends a value and resolves with what comes back, whatever else is under way: the least protocol is a number. */
export interface BareEcho extends AsyncDisposable {
  say(value: unknown): Promise<unknown>;
  /** Of the other process. */
  readonly pids: readonly number[];
}

export async function bareWorker(): Promise<BareEcho> {
  const worker = new Worker(ECHO);
  await once(worker, 'online');
  const say = correlated((message) => worker.postMessage(message), worker);
  return { say, pids: [], [Symbol.asyncDispose]: async () => void (await worker.terminate()) };
}

export async function bareProcess(): Promise<BareEcho> {
  const child: ChildProcess = fork(ECHO, { serialization: 'advanced' });
  await once(child, 'spawn');
  const say = correlated((message) => void child.send(message as object), child);
  const end = async () => {
    child.disconnect();
    await once(child, 'exit');
  };
  return { say, pids: [child.pid!], [Symbol.asyncDispose]: end };
}

type Numbered = readonly [number: number, value: unknown];

function correlated(
  post: (message: Numbered) => void,
  from: { on(event: 'message', listener: (message: Numbered) => void): unknown },
): BareEcho['say'] {
  const waiting = new Map<number, (value: unknown) => void>();
  let last = 0;
  from.on('message', ([number, value]) => {
    waiting.get(number)?.(value);
    waiting.delete(number);
  });
  return (value) =>
    new Promise((resolve) => {
      waiting.set(++last, resolve);
      post([last, value]);
    });
}

export interface IsolationCore extends AsyncDisposable {
  readonly core: Core;
  /** Processes of plugins. */
  readonly pids: readonly number[];
  echo(level: Level): Echo;
  operate(level: Level, params: object): Promise<unknown>;
}

/** A Core with the gate and the echo at each level. */
export async function isolationCore(): Promise<IsolationCore> {
  const lines = LEVELS.map(
    (level) => [`bench-${level}`, { version: '*', path: join(FOLDER, `${level}.yaml`), isolation: level }] as const,
  );
  const before = new Set(children());
  const core = await startCore({ plugins: { operations: '^1.0.0', limits: '^1.0.0', ...Object.fromEntries(lines) } });
  const { state, plugins } = await core.kernel.status();
  if (state !== 'ok') throw new Error(plugins.map(({ id, reason }) => `${id}: ${reason}`).join('\n'));
  const table = core.service(operations);
  const call: Omit<Invocation, 'deadline'> = {
    caller: { kind: 'operator', id: 'operator' },
    signal: new AbortController().signal,
  };
  return {
    core,
    pids: children().filter((pid) => !before.has(pid)),
    echo: (level) => core.service(echoRef(level)),
    operate: (level, params) => table.invoke(`bench.${level}`, params, { ...call, deadline: Date.now() + 5_000 }),
    [Symbol.asyncDispose]: () => core.stop(),
  };
}

/** Of this process, and theirs: a plugin is a grandchild where walls stand around it. */
function children(of: number = process.pid): readonly number[] {
  return globSync(`/proc/${of}/task/*/children`)
    .flatMap((file) => readFileSync(file, 'latin1').split(' '))
    .filter(Boolean)
    .map(Number)
    .flatMap((pid) => [pid, ...children(pid)]);
}
