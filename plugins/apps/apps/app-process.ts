import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { type Clock, reasonOf, settlesWithin } from '@device-core/plugin-api';
import type { AppLog } from './app-log.ts';
import { killSession, leaderOf, type SessionLeader, signal } from './process-session.ts';

/** What SIGKILL is given to take effect, and the output to run dry. */
const KILL_MS = 2_000;
const DRAIN_MS = 500;

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  readonly folder: string;
  /** HOME of the environment, the app's alone. */
  readonly home: string;
  readonly environment: Readonly<Record<string, string>>;
  readonly log: AppLog;
  readonly clock: Clock;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The processes of one run of an app: a session of their own, so that all of them can be found and ended. */
export class AppProcess {
  readonly leader: SessionLeader;
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly #drained: Promise<unknown>;
  readonly #home: string;
  readonly #clock: Clock;
  #over = false;

  /** Synchronous but for the look-up of the program, which the caller has done: the process must be known before it can connect anywhere. */
  constructor(launch: Launch) {
    const child = spawn(launch.command, launch.args, {
      cwd: launch.folder,
      env: launch.environment,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#home = launch.home;
    this.#clock = launch.clock;
    const { promise, resolve, reject } = Promise.withResolvers<Exit>();
    child.once('exit', (code, exitSignal) => {
      this.#over = true;
      resolve({ code, signal: exitSignal });
    });
    child.once('error', (thrown) => {
      if (child.pid === undefined) reject(thrown);
    });
    this.exited = promise;
    // Whoever waits sees the rejection; this keeps one that nobody waits for from ending the Core.
    promise.catch(() => undefined);
    this.leader = child.pid === undefined ? { pid: 0, startTime: '' } : leaderOf(child.pid);
    // Where descriptors ran out there are no streams, whatever the type says.
    const streams = (['stdout', 'stderr'] as const).map((name) => {
      const stream: Readable | undefined = child[name];
      stream?.setEncoding('utf8');
      return stream && launch.log.follow(stream, name);
    });
    this.#drained = Promise.all(streams);
  }

  /** False when the program could not be run at all; `exited` rejects with the reason. */
  get spawned(): boolean {
    return this.leader.pid > 0;
  }

  /** Its last words are written, or nobody waits for them any more: a process that it left behind may hold its output open. */
  async drained(): Promise<void> {
    await settlesWithin(this.#clock, DRAIN_MS, this.#drained);
  }

  /** SIGTERM to the group, SIGKILL to every process of the app when the grace is over. Resolves with processes that could not be ended. */
  async end(graceMs: number): Promise<readonly number[]> {
    if (!this.spawned) return [];
    if (!this.#over && graceMs > 0) {
      signal(-this.leader.pid, 'SIGTERM');
      await settlesWithin(this.#clock, graceMs, this.exited);
    }
    if (!this.#over) signal(-this.leader.pid, 'SIGKILL');
    const left = await killSession(this.#clock, this.leader, KILL_MS, this.#home, 'recent');
    await settlesWithin(this.#clock, KILL_MS, this.exited);
    if (!(await settlesWithin(this.#clock, DRAIN_MS, this.#drained))) {
      this.#child.stdout?.destroy();
      this.#child.stderr?.destroy();
    }
    return left;
  }
}

/** The program was there a moment ago: what the system does not find is what its first line asks for. */
export function describeFailure(thrown: unknown): string {
  const absent = (thrown as NodeJS.ErrnoException).code === 'ENOENT';
  return `${reasonOf(thrown)}${absent ? ' (is the program after #! in its first line there?)' : ''}`;
}

export function describeExit(exit: Exit): string {
  return exit.signal ? `it was ended by ${exit.signal}` : `it ended with code ${exit.code}`;
}

/**
 * Path of the program: a file of the app's folder where the command has a slash or such a file exists, the Core's own `node`, or the first one in the
 * search path. Rejects with the reason.
 */
export async function findProgram(command: string, folder: string, searchPath: string): Promise<string> {
  const own = resolve(folder, command);
  if (command.includes('/')) {
    await access(own, constants.X_OK).catch((thrown) => {
      throw new Error(`cannot run ${command}: ${reasonOf(thrown)}`);
    });
    return own;
  }
  if (command === 'node') return process.execPath;
  const places = searchPath.split(delimiter).filter((place) => isAbsolute(place));
  for (const file of [own, ...places.map((place) => join(place, command))]) if (await runnable(file)) return file;
  throw new Error(`cannot find ${command} in the app's folder or in ${searchPath}`);
}

async function runnable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    // Not there or not to be run: the next place is looked at.
    return false;
  }
}
