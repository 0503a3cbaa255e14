import type { Caller, TcpConnection } from '../../contract/caller.ts';
import { serviceRef } from '../../contract/service-ref.ts';
import type { PeerCredentials } from './processes.ts';

export type { TcpConnection } from '../../contract/caller.ts';
export type { PeerCredentials } from './processes.ts';

/**
 * Proofs that a connection or request brings. A given token decides; a wrong one is never ignored, and one from another
 * guest's process, or from one of the Core, is refused.
 */
export interface Credentials {
  readonly transport: 'tcp' | 'unix';
  readonly token?: string;
  readonly peer?: PeerCredentials;
  /** One object per connection: who holds its other end is asked once. */
  readonly tcp?: TcpConnection;
}

/** App process that is about to run: each process of its session (setsid) or uid is that app. */
export interface AppLaunch {
  /** App id. */
  readonly app: string;
  /** Its first process, which leads its session. */
  readonly pid?: number;
  /** Its own user, where it has one. */
  readonly uid?: number;
}

/** Identity of callers (decisions D1). */
export interface Identity {
  /**
   * Resolves with the caller, ANONYMOUS where nothing was brought. Throws UNAUTHENTICATED for a wrong, void or ended
   * token, and for processes of the Core that are no app, whatever they bring.
   */
  authenticate(credentials: Credentials): Promise<Caller>;
  /** A new random 256-bit token (base64url), valid until revoked; the former one of this app is void. Only its hash is kept. */
  issue(app: string): Promise<string>;
  /** The app's token and processes are void from now on. */
  revoke(app: string): Promise<void>;
  /** Tell which processes an app runs as. */
  launched(launch: AppLaunch): Promise<void>;
  /**
   * SO_PEERCRED of a connected Unix socket by its file descriptor, with the owner of that process. Call it in the turn of the accept, and
   * keep the answer with the connection. Undefined where it cannot be read (then it proves no caller).
   */
  peerOf(fd: number): Promise<PeerCredentials | undefined>;
  /** Called when a caller's identity ended: cut its connections. */
  onRevoked(listener: (app: string) => void): Disposable;
}

export const identity = serviceRef<Identity>('identity', '1.0.0', 'tree');
