/** Owners of processes: the book of every process that the Core started. */
import { setImmediate as immediate } from 'node:timers/promises';
import type { TcpConnection } from '@device-core/plugin-api';
import type { PeerCredentials } from '@device-core/plugin-api/inside/services/identity';
import type { Guest, Processes, ProcessOwner } from '@device-core/plugin-api/inside/services/processes';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { controlGroupOf, type ProcessEntry, processIds, type ReadProcess, readProcess } from './process-table.ts';
import { holds, isFromHere, socketOf } from './tcp-peer.ts';

/** Number of ended runs that are still recognised, for processes that survived the end of their guest. */
const REMEMBERED_ENDED = 1024;
/** Longest line of ancestors. A guest may fork a longer one: such a process has no known owner. */
const MAX_ANCESTORS = 256;
/** A line of ancestors that changes while it is followed is followed again. */
const ATTEMPTS = 8;
/** proc(5): a zombie, and two that are nearly gone. */
const DEAD: ReadonlySet<string> = new Set(['Z', 'X', 'x']);

/** Step of a search through all processes; other work has its turn in between. */
const PROCESSES_PER_TURN = 16;

const CORE: ProcessOwner = Object.freeze({ kind: 'core' });
const STRANGER: ProcessOwner = Object.freeze({ kind: 'stranger' });
const ENDED: ProcessOwner = Object.freeze({ kind: 'unknown', why: 'ended' });
const ELSEWHERE: ProcessOwner = Object.freeze({ kind: 'unknown', why: 'elsewhere' });
const HIDDEN: ProcessOwner = Object.freeze({ kind: 'unknown', why: 'hidden' });

interface Run {
  readonly guest: Guest;
  readonly pid: number;
  readonly startTime: string;
  /** True if it leads a session. */
  readonly leads: boolean;
  ended: boolean;
}

export interface ProcessBookOptions {
  /** The Core's pid: its descendants are no strangers. Absent in tests, where client and Core share a process. */
  readonly root?: number;
  /** A control group that holds only the Core and its descendants. */
  readonly group?: string | undefined;
  readonly read?: ReadProcess;
  /** Reason why orphans of guests do not descend from the Core, if so. */
  readonly orphansLost?: string | undefined;
}

export class ProcessBook implements Processes {
  readonly #orphansLost: string | undefined;
  readonly #root: number | undefined;
  readonly #group: string | undefined;
  readonly #read: ReadProcess;
  readonly #users = new Map<number, Guest>();
  #runs: Run[] = [];

  constructor({ root, group, read = readProcess, orphansLost }: ProcessBookOptions = {}) {
    this.#orphansLost = orphansLost;
    this.#root = root;
    this.#group = group;
    this.#read = read;
  }

  tell(report: HealthReport): void {
    if (this.#orphansLost === undefined) return;
    const what = 'a process that leaves its guest cannot be told from the operator';
    report.warn('ORPHANS_UNKNOWN', `${what}: ${this.#orphansLost}`);
  }

  // But for ownerOfTcp() no method has an await: what it reads belongs to the turn of its call.
  async add(guest: Guest, { pid, uid }: { readonly pid?: number; readonly uid?: number }): Promise<void> {
    if (uid !== undefined) this.#users.set(uid, guest);
    if (pid === undefined) return;
    const entry = this.#read(pid);
    // A number without a start time would make a guest of whichever process has it next.
    if (!entry) return;
    this.#runs.push({ guest, pid, startTime: entry.startTime, leads: entry.session === pid, ended: false });
  }

  async end(guest: Guest): Promise<void> {
    for (const [uid, owner] of this.#users) if (same(owner, guest)) this.#users.delete(uid);
    for (const run of this.#runs) if (same(run.guest, guest)) run.ended = true;
    const ended = this.#runs.filter((run) => run.ended);
    const forgotten = new Set(ended.slice(0, Math.max(0, ended.length - REMEMBERED_ENDED)));
    if (forgotten.size > 0) this.#runs = this.#runs.filter((run) => !forgotten.has(run));
  }

  async startOf(pid: number): Promise<string | undefined> {
    return this.#read(pid)?.startTime;
  }

  async ownerOf({ pid, uid, startTime }: PeerCredentials): Promise<ProcessOwner> {
    const owner = pid > 0 ? this.#owner(pid, startTime) : ELSEWHERE;
    const user = owner.kind === 'stranger' || owner.kind === 'unknown' ? this.#users.get(uid) : undefined;
    return user ? { ...user, ended: false } : owner;
  }

  async ownerOfTcp(connection: TcpConnection): Promise<ProcessOwner> {
    const socket = socketOf(connection);
    if (socket === undefined) return isFromHere(connection) ? ENDED : STRANGER;
    const entries = new Map<number, ProcessEntry | undefined>();
    const once = (pid: number) => {
      if (!entries.has(pid)) entries.set(pid, this.#read(pid));
      return entries.get(pid);
    };
    for (const [index, pid] of processIds().entries()) {
      if (index % PROCESSES_PER_TURN === PROCESSES_PER_TURN - 1) await immediate();
      const owner = this.#follow(pid, once(pid), once) ?? this.#owner(pid, once(pid)?.startTime);
      if (owner.kind === 'stranger' || owner.kind === 'unknown') continue;
      await immediate(); // a guest may have many files open
      const held = holds(pid, socket.name);
      if (held === 'yes') return owner;
      // It hides what it has open: only a guest that wants to would.
      if (held === 'hidden') return HIDDEN;
    }
    // The open files of another user cannot be listed; its sockets tell the user.
    const user = this.#users.get(socket.uid);
    return user ? { ...user, ended: false } : { kind: 'stranger', uid: socket.uid };
  }

  #owner(pid: number, startTime: string | undefined): ProcessOwner {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const entry = this.#read(pid, true);
      // A process that is dead, has no start time or another one is not the process that connected; no thread connects by its own number.
      if (!entry || entry.startTime !== startTime || entry.thread || DEAD.has(entry.state)) return ENDED;
      const owner = this.#follow(pid, entry, this.#read);
      if (owner) return owner;
    }
    return HIDDEN;
  }

  /** From a process to its ancestors. Undefined when one of them went meanwhile: its children have another parent now. */
  #follow(pid: number, first: ProcessEntry | undefined, read: ReadProcess): ProcessOwner | undefined {
    if (!first) return ENDED;
    let at = pid;
    let entry = first;
    for (let depth = 0; depth < MAX_ANCESTORS; depth++) {
      const run = this.#runOf(at, entry.startTime) ?? this.#runOfSession(entry.session, read);
      if (run) return { ...run.guest, ended: run.ended };
      if (at === this.#root) return CORE;
      if (entry.parent <= 0) return this.#outside(pid, first);
      const parent = read(entry.parent);
      const again = read(at);
      if (!parent || again?.startTime !== entry.startTime || again.parent !== entry.parent) return undefined;
      at = entry.parent;
      entry = parent;
    }
    return HIDDEN;
  }

  /** Owner of a process that does not descend from the Core. A nested namespace may be a container, with other users than this machine. */
  #outside(pid: number, { nested }: ProcessEntry): ProcessOwner {
    if (this.#inGroup(pid)) return CORE;
    return nested ? ELSEWHERE : STRANGER;
  }

  /** Finds the newest run of a process. The start time tells a reused process id. */
  #runOf(pid: number, startTime: string): Run | undefined {
    return this.#runs.findLast((run) => run.pid === pid && run.startTime === startTime);
  }

  /** A leader that is gone may still have a session. */
  #runOfSession(session: number, read: ReadProcess): Run | undefined {
    const run = this.#runs.findLast(({ pid, leads }) => leads && pid === session);
    const leader = run && read(session);
    return run && (!leader || leader.startTime === run.startTime) ? run : undefined;
  }

  #inGroup(pid: number): boolean {
    if (this.#group === undefined) return false;
    const group = controlGroupOf(pid);
    return group === undefined || group === this.#group || group.startsWith(`${this.#group}/`);
  }
}

function same(a: Guest, b: Guest): boolean {
  return a.kind === b.kind && a.id === b.id;
}
