import type { Logger } from './logger.ts';
import type { TraceContext } from './trace.ts';

/** `anonymous` is a caller without identity: only operations marked `anonymous` take it. */
export type CallerKind = 'app' | 'operator' | 'plugin' | 'anonymous';

/** Role of an operator in a browser: look, or all. */
export type OperatorRole = 'viewer' | 'operator';

/** The two ends of a TCP connection, as the server's end sees them. */
export interface TcpConnection {
  readonly localAddress: string;
  readonly localPort: number;
  readonly remoteAddress: string;
  readonly remotePort: number;
}

/** A caller without identity, as far as its connection tells. */
export interface CallerPeer {
  /** Reason for the missing trust, with its remedy. */
  readonly reason?: string;
  readonly tcp?: TcpConnection;
  /** User of the process at the other end of a Unix socket, where that process is known to be no guest. */
  readonly uid?: number;
}

/** Caller: the subject of every capability check. `id` is the app id, the plugin id, or the operator's name. */
export interface Caller {
  readonly kind: CallerKind;
  readonly id: string;
  /** Session of an operator in a browser; absent: devicectl and other holders of the device's token. */
  readonly signedIn?: {
    readonly id: string;
    readonly role: OperatorRole;
    /** Proof in this one request that a person confirmed it: the id of CONFIRMATION_REQUIRED. */
    readonly confirmation?: string;
  };
  /** Set for anonymous callers alone. */
  readonly peer?: CallerPeer;
}

export const ANONYMOUS: Caller = { kind: 'anonymous', id: 'anonymous' };

/** How a caller is written in messages, and as `source` in events: `app.<id>`, `plugin.<id>`, `operator`. */
export function callerName(caller: Caller): string {
  return caller.kind === 'operator' || caller.kind === 'anonymous' ? caller.kind : `${caller.kind}.${caller.id}`;
}

/** A live JSON-RPC connection of an app, where there is one: what a subscription or a stream is bound to. */
export interface Session {
  readonly id: string;
  readonly app: string;
  /** Aborted when the connection is gone. */
  readonly signal: AbortSignal;
  /** Resolves when the socket has taken the message and has room for more; rejects with SESSION_CLOSED. */
  notify(method: string, params: object): Promise<void>;
}

/** Context of an operation's call. */
export interface CallContext {
  readonly caller: Caller;
  /** Aborted at the deadline, when the caller cancels or goes away, and when the plugin stops. */
  readonly signal: AbortSignal;
  /** Time of `clock.steady()` after which the answer is useless. Milliseconds since the Unix epoch, unless the time was set meanwhile. */
  readonly deadline: number;
  readonly session?: Session;
  /** Trace to hand on with the deadline, so that work for this call belongs to it. Made at the first access, where traces are kept. */
  readonly trace?: TraceContext | undefined;
  readonly log: Logger;
}
