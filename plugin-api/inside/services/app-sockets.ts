import type { CallMeta } from '../../contract/app-messages.ts';
import type { Session } from '../../contract/caller.ts';
import { serviceRef } from '../../contract/service-ref.ts';

export type { CallMeta, ReadyMessage } from '../../contract/app-messages.ts';

export interface AppCall {
  readonly method: string;
  readonly params: object;
  readonly meta: CallMeta;
  /** On abort the app gets `cancel {callId}`. */
  readonly signal?: AbortSignal;
  /** Prefer this session; any other of the app otherwise. */
  readonly session?: string;
  /** Sent although too many calls have no answer yet: for a question whether the app is there at all. */
  readonly urgent?: boolean;
}

export interface SessionInfo {
  readonly id: string;
  /** App id. */
  readonly app: string;
  /** Milliseconds since the Unix epoch. */
  readonly since: number;
}

/** One JSON-RPC socket per app: who made the connection is known by where it arrived. */
export interface AppSockets {
  /**
   * Makes `<runtime_dir>/apps/<name>/rpc.sock` (0600, of `uid`); idempotent. Throws PARAMS_INVALID (name not valid or
   * taken), UNAVAILABLE.
   */
  open(app: { readonly id: string; readonly name: string; readonly uid?: number }): Promise<{ readonly path: string }>;
  /** Ends every session with `stop {reason, graceMs}` and removes the socket. */
  close(app: string, reason: string): Promise<void>;
  /** Socket path of an app. Throws APP_NOT_FOUND. */
  path(app: string): Promise<string>;
  sessions(app?: string): Promise<readonly SessionInfo[]>;
  /** A session that is open now. */
  session(id: string): Promise<Session | undefined>;
  /**
   * Calls into the app. Rejects with APP_NOT_RUNNING (no session), SESSION_CLOSED (it went away in the middle), BUSY
   * (too many calls without an answer), BODY_TOO_LARGE, TIMEOUT, CANCELLED, APP_ERROR (`details.error` is the app's
   * JSON-RPC error object).
   */
  call(app: string, call: AppCall): Promise<unknown>;
  /** Sends a notification to every session of the app. Resolves with the number of sessions that took it. */
  notify(app: string, method: string, params: object): Promise<number>;
  onSession(listener: (event: SessionInfo & { readonly state: 'open' | 'closed' }) => void): Disposable;
}

export const appSockets = serviceRef<AppSockets>('app-sockets', '1.0.0', 'tree');
