import type { Caller } from '../../contract/caller.ts';
import { serviceRef } from '../../contract/service-ref.ts';

/** Request for a file by GET or HEAD. The client is unknown: nothing of a mount is secret. */
export interface PageRequest {
  /** Below the prefix, decoded: `app/main.ts`; without `.`, `..` and empty segments. */
  readonly path: string;
  /** Entity tags that the browser has already. */
  readonly ifNoneMatch?: string;
}

export interface PageAnswer {
  readonly status: 200 | 304 | 404;
  readonly type: string;
  readonly body: Uint8Array;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A WebSocket whose page was admitted. Messages of the page are at most 64 KiB of text. */
export interface PageSocket {
  /** Caller that `admit` answered. */
  readonly caller: Caller;
  /** Texts in their order; ends when the page goes. Reading is credit: who does not read is not sent more. */
  readonly incoming: AsyncIterable<string>;
  /** Aborted when it is over. */
  readonly signal: AbortSignal;
  /** Resolves when the socket took it and has room. Rejects with CANCELLED when it is over. */
  send(message: string | Uint8Array): Promise<void>;
  /** `code` as in RFC 6455: 1000, 4000..4999. */
  close(code: number, reason: string): Promise<void>;
}

export interface PageSockets {
  /**
   * Caller of the page, by the entries beside the name in `Sec-WebSocket-Protocol`. Throws UNAUTHENTICATED, BUSY: the
   * page gets the status.
   */
  admit(protocols: readonly string[]): Promise<Caller>;
  /** The socket is closed when it settles. */
  run(socket: PageSocket): Promise<void>;
}

/**
 * Addresses of the REST front end, and mounts of plugins on the same origin. Host and Origin are checked as for every
 * request (decisions D1).
 */
export interface HttpServer {
  /** `http://127.0.0.1:55280`, `unix:/run/device/core.sock`; empty while it does not listen. */
  addresses(): Promise<readonly string[]>;
  /** Files below a prefix, `/ui/`. Throws PARAMS_INVALID (no such form, or taken). */
  mount(prefix: string, handler: (request: PageRequest) => Promise<PageAnswer>): Disposable;
  /** WebSockets of a path, `/ui/live`, with a subprotocol of this name. Throws PARAMS_INVALID. */
  upgrade(path: string, protocol: string, sockets: PageSockets): Disposable;
}

export const httpServer = serviceRef<HttpServer>('http-server', '1.1.0', 'tree');
