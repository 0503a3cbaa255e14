import type { Caller } from '../../contract/caller.ts';
import type { CoreError } from '../../contract/errors.ts';
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

/** Request to a door of a plugin: any method, any client; the plugin settles who it is. */
export interface DoorRequest {
  readonly method: string;
  /** As Node has them: names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Token of the header `Authorization: Bearer`. */
  readonly token?: string;
  /** Value of a JSON body; undefined without a body. */
  readonly body: unknown;
  /** Refusal of a body that is no JSON or too much of it, for the answer in the words of the door. */
  readonly fault?: CoreError;
  /** Aborted when the client goes. */
  readonly signal: AbortSignal;
  /** Caller by decisions D1, as REST has it. Throws UNAUTHENTICATED. */
  caller(): Promise<Caller>;
  /** Resolves when a client that the door knows by this name may go on: the request is charged to it, and waits where it had its share. */
  turn(client: string): Promise<void>;
}

/** `events` is sent as text/event-stream, each item as the JSON of one message. */
export interface DoorAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly events?: AsyncIterable<unknown>;
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
  /**
   * One path, `/mcp`, for a protocol of its own over HTTP: no row of the table of operations. Host and Origin are
   * checked before, bodies have the limits of REST. An error that the handler throws is answered as one of REST.
   * Throws PARAMS_INVALID (no such form, or taken).
   */
  door(path: string, handler: (request: DoorRequest) => Promise<DoorAnswer>): Disposable;
}

export const httpServer = serviceRef<HttpServer>('http-server', '1.3.0', 'tree');
