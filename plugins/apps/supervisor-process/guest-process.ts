import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { constants as osConstants } from 'node:os';
import type { Readable, Writable } from 'node:stream';
import { type Clock, reasonOf, settlesWithin } from '@device-core/plugin-api';
import type { WalledProgram } from '@device-core/plugin-api/inside/services/launcher';
import type { GuestLog } from './guest-log.ts';
import { isOfUser, killSession, leaderOf, programOf, type SessionLeader, signal } from './process-session.ts';
import type { TaskGroup } from './task-group.ts';

/** Time for SIGKILL to take effect, and for the output to run dry. */
const KILL_MS = 2_000;
const DRAIN_MS = 500;
const LOOK_MS = 10;

export interface Launch {
  readonly walled: WalledProgram;
  /** Its user, which the processes around it do not have. */
  readonly uid?: number;
  /** HOME of the environment, the guest's alone. */
  readonly home: string;
  readonly run: string;
  readonly log: GuestLog;
  readonly clock: Clock;
  /** Limits its tasks; absent where the system has no such thing. */
  readonly group: Pick<TaskGroup, 'add'> | undefined;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** The processes of one run of a guest: a session of their own, so that all of them can be found and ended. */
export class GuestProcess {
  readonly leader: SessionLeader;
  /** Rejects where the program could not be run at all. */
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;
  readonly #drained: Promise<unknown>;
  readonly #home: string;
  readonly #clock: Clock;
  readonly #above: WalledProgram['above'];
  readonly #uid: number | undefined;
  #program: number | undefined;
  #over = false;

  /** Synchronous: the process must be known before it can connect anywhere. */
  constructor(launch: Launch) {
    const { command, args, cwd, env, feeds, above } = launch.walled;
    const child = spawn(command, args, {
      cwd,
      env,
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe', ...feeds.map(() => 'pipe' as const)],
    }) as ChildProcessByStdio<null, Readable, Readable>;
    // Before bubblewrap is fed: it makes no process until then.
    if (child.pid !== undefined) launch.group?.add(child.pid);
    for (const { descriptor, bytes } of feeds) {
      const feed = child.stdio[descriptor] as Writable | undefined;
      feed?.on('error', () => undefined); // who does not read it ends, which `exited` tells
      feed?.end(bytes);
    }
    this.#child = child;
    this.#above = above;
    this.#uid = launch.uid;
    this.#home = launch.home;
    this.#clock = launch.clock;
    const { promise, resolve, reject } = Promise.withResolvers<Exit>();
    child.once('exit', (code, exitSignal) => {
      this.#over = true;
      resolve(above > 0 ? exitInside(code, exitSignal) : { code, signal: exitSignal });
    });
    child.once('error', (thrown) => {
      if (child.pid === undefined) reject(thrown);
    });
    this.exited = promise;
    // A waiting caller sees the rejection; without one this keeps it from ending the Core.
    promise.catch(() => undefined);
    this.leader = child.pid === undefined ? { pid: 0, startTime: '' } : leaderOf(child.pid);
    // Without free descriptors there are no streams, whatever the type says.
    const streams = (['stdout', 'stderr'] as const).map((name) => {
      const stream: Readable | undefined = child[name];
      stream?.setEncoding('utf8');
      return stream && launch.log.follow(stream, name, launch.run);
    });
    this.#drained = Promise.all(streams);
  }

  /** Pid of the program itself, which may have walls around it; undefined while it has not begun. */
  get pid(): number | undefined {
    if (this.#above === 0) return this.leader.pid || undefined;
    if (!this.#over) this.#program ??= this.#find();
    return this.#program;
  }

  /** While the walls are made, other programs run in this place: those that map a user, for one. */
  #find(): number | undefined {
    const pid = programOf(this.leader.pid, this.#above);
    return pid !== undefined && (this.#uid === undefined || isOfUser(pid, this.#uid)) ? pid : undefined;
  }

  /** Whatever it starts stays below it. */
  get walled(): boolean {
    return this.#above > 0;
  }

  /** False when the program could not be run at all; `exited` rejects with the reason. */
  get spawned(): boolean {
    return this.leader.pid > 0;
  }

  /** At once; what it leaves behind goes when its end is seen. */
  kill(): void {
    signal(this.leader.pid, 'SIGKILL');
  }

  /**
   * SIGTERM to the program, SIGKILL to every process of the guest when the grace is over. Resolves with processes that
   * could not be ended.
   */
  async end(graceMs: number): Promise<readonly number[]> {
    if (!this.spawned) return [];
    if (!this.#over && graceMs > 0) {
      const end = this.#clock.monotonic() + graceMs;
      // Walls take some milliseconds to stand: until then there is no program to ask.
      while (!this.#ask() && !this.#over && this.#clock.monotonic() < end) await this.#clock.sleep(LOOK_MS);
      await settlesWithin(this.#clock, Math.max(0, end - this.#clock.monotonic()), this.exited);
    }
    const left = await killSession(this.#clock, this.leader, KILL_MS, this.#home, 'recent');
    await settlesWithin(this.#clock, KILL_MS, this.exited);
    // A process that could not be ended may hold its output open.
    if (!(await settlesWithin(this.#clock, DRAIN_MS, this.#drained))) {
      this.#child.stdout?.destroy();
      this.#child.stderr?.destroy();
    }
    return left;
  }

  /**
   * SIGTERM for the program and its group, which inside walls is that of the first process; the processes outside would
   * end the program at once. False while there is no program that could take it.
   */
  #ask(): boolean {
    const { pid } = this.leader;
    const first = this.#above === 0 ? pid : programOf(pid, 1);
    return this.pid !== undefined && first !== undefined && signal(-first, 'SIGTERM');
  }
}

/** Walls report the signal that ended a program as shells do. */
function exitInside(code: number | null, exitSignal: NodeJS.Signals | null): Exit {
  const inside = Object.entries(osConstants.signals).find(([, number]) => code === 128 + number)?.[0];
  return inside === undefined ? { code, signal: exitSignal } : { code: null, signal: inside as NodeJS.Signals };
}

/** The program was there a moment ago: what the system does not find is what its first line asks for. */
export function describeFailure(thrown: unknown): string {
  const absent = (thrown as NodeJS.ErrnoException).code === 'ENOENT';
  return `${reasonOf(thrown)}${absent ? ' (is the program after #! in its first line there?)' : ''}`;
}
