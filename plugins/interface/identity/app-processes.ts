import type { PeerCredentials } from '@device-core/plugin-api';
import { type ProcessEntry, readProcess } from './process-table.ts';

/** Sessions of ended apps that are still recognised. The supervisor ends every process of a session; this is for those that slipped away. */
const REMEMBERED_ENDED = 1024;
const MAX_ANCESTORS = 64;

interface AppSession {
  readonly app: string;
  readonly pid: number;
  readonly startTime: string | undefined;
  ended: boolean;
}

export type ProcessOwner =
  | { readonly kind: 'app' | 'ended'; readonly app: string }
  /** A process of no app. */
  | { readonly kind: 'other' }
  /** Gone or in another pid namespace: whose it was cannot be told. */
  | { readonly kind: 'unknown' };

/**
 * Which processes are apps. A process belongs to an app when it is in the session that was made for the app, or descends from its first process.
 * The limit: a process that leaves both (a second fork whose parent exits, then setsid) and runs under the Core's own uid cannot be told from
 * the operator's. Own uids and sandboxes close that; in development, apps are trusted that far.
 */
export class AppProcesses {
  readonly #uids = new Map<number, string>();
  #sessions: AppSession[] = [];

  add(app: string, launch: { readonly pid?: number; readonly uid?: number }): void {
    if (launch.uid !== undefined) this.#uids.set(launch.uid, app);
    if (launch.pid === undefined) return;
    this.#sessions.push({ app, pid: launch.pid, startTime: readProcess(launch.pid)?.startTime, ended: false });
  }

  end(app: string): void {
    for (const [uid, owner] of this.#uids) if (owner === app) this.#uids.delete(uid);
    for (const session of this.#sessions) if (session.app === app) session.ended = true;
    const ended = this.#sessions.filter((session) => session.ended);
    const forgotten = new Set(ended.slice(0, Math.max(0, ended.length - REMEMBERED_ENDED)));
    if (forgotten.size > 0) this.#sessions = this.#sessions.filter((session) => !forgotten.has(session));
  }

  /** App that runs as this user. */
  appOfUid(uid: number): string | undefined {
    return this.#uids.get(uid);
  }

  ownerOf(peer: PeerCredentials): ProcessOwner {
    const process = peer.pid > 0 ? readProcess(peer.pid) : undefined;
    if (!process) return { kind: 'unknown' };
    const session = this.#sessionOf(peer.pid, process);
    return session ? { kind: session.ended ? 'ended' : 'app', app: session.app } : { kind: 'other' };
  }

  #sessionOf(pid: number, process: ProcessEntry): AppSession | undefined {
    if (this.#sessions.length === 0) return undefined;
    const leader = this.#find(process.session, readProcess(process.session));
    if (leader) return leader;
    let ancestor = pid;
    let entry: ProcessEntry | undefined = process;
    for (let depth = 0; entry && ancestor > 1 && depth < MAX_ANCESTORS; depth++) {
      const found = this.#find(ancestor, entry);
      if (found) return found;
      ancestor = entry.parent;
      entry = readProcess(ancestor);
    }
    return undefined;
  }

  /** Newest first. A process id that was given to another process since is told by its start time; one that is gone may still lead a session. */
  #find(pid: number, entry: ProcessEntry | undefined): AppSession | undefined {
    return this.#sessions.findLast(
      (session) =>
        session.pid === pid && (!entry || session.startTime === undefined || entry.startTime === session.startTime),
    );
  }
}
