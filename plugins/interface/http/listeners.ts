/** The servers: TCP on loopback and the shared Unix socket. They stay while routes come and go. */
import { chmod, mkdir } from 'node:fs/promises';
import type { Server } from 'node:http';
import type { AddressInfo, ListenOptions, Socket } from 'node:net';
import { dirname } from 'node:path';
import { type Clock, CoreError, reasonOf } from '@device-core/plugin-api';
import { removeStaleSocket } from '@device-core/plugin-api/inside/socket-file';
import type { Connections } from './connections.ts';
import { createServer } from './node-http.ts';
import { currentResponse, looksWhileConnected } from './node-private.ts';
import { OriginCheck } from './origin.ts';
import type { PageSocketServer } from './page-sockets.ts';
import { rejectSocket } from './responses.ts';
import type { Turns } from './turns.ts';

export interface ListenerConfig {
  readonly headersTimeoutMs: number;
  readonly requestTimeoutMs: number;
  readonly keepAliveTimeoutMs: number;
  readonly stopGraceMs: number;
}

const HEADER_LIMIT = 16 * 1024;

export class Listeners implements AsyncDisposable {
  readonly addresses: string[] = [];
  readonly #servers: Server[] = [];
  readonly #connections: Connections;
  readonly #turns: Turns;
  readonly #pages: PageSocketServer;
  readonly #config: ListenerConfig;
  readonly #clock: Clock;
  #ended = false;

  constructor(connections: Connections, turns: Turns, pages: PageSocketServer, config: ListenerConfig, clock: Clock) {
    this.#connections = connections;
    this.#turns = turns;
    this.#pages = pages;
    this.#config = config;
    this.#clock = clock;
  }

  /** Throws UNAVAILABLE. */
  async tcp(host: string, port: number): Promise<void> {
    const server = this.#server();
    await this.#listen(server, { host, port, exclusive: true }, `${host}:${port}`);
    const bound = (server.address() as AddressInfo).port;
    const origin = new OriginCheck(bound);
    server.on('connection', (socket: Socket) => this.#connections.overTcp(socket, origin));
    this.addresses.push(`http://${host.includes(':') ? `[${host}]` : host}:${bound}`);
  }

  /** Apps run under uids of their own, so that everybody may connect; who they are is asked afterwards. Throws UNAVAILABLE. */
  async unix(path: string): Promise<void> {
    await mkdir(dirname(path), { recursive: true });
    await removeStale(path);
    const server = this.#server();
    server.on('connection', (socket: Socket) => this.#connections.overUnix(socket));
    await this.#listen(server, { path }, path);
    await chmod(path, 0o666);
    this.addresses.push(`unix:${path}`);
  }

  /** No new connection; requests in flight may finish for a moment, then everything is cut. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#ended = true;
    this.addresses.length = 0;
    const closed = this.#servers.map(close);
    for (const server of this.#servers) server.closeIdleConnections();
    this.#pages.cutAll();
    using _cut = this.#clock.after(this.#config.stopGraceMs, () => this.#connections.cutAll());
    await Promise.all(closed);
  }

  /** A server that listens when everything has ended already would be nobody's: it is closed at once. Throws UNAVAILABLE, CANCELLED. */
  async #listen(server: Server, options: ListenOptions, where: string): Promise<void> {
    if (!this.#ended) await listen(server, options, where);
    if (!this.#ended) return;
    await close(server);
    throw new CoreError('CANCELLED', { what: where, reason: 'the plugin was stopped' });
  }

  #server(): Server {
    const { headersTimeoutMs, requestTimeoutMs, keepAliveTimeoutMs } = this.#config;
    const server = createServer(
      {
        headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs),
        requestTimeout: 0, // a large body may take its time: Arrivals looks after it
        keepAliveTimeout: keepAliveTimeoutMs,
        connectionsCheckingInterval: Math.min(1_000, headersTimeoutMs),
        maxHeaderSize: HEADER_LIMIT,
        // A missing host is refused by our own check, in our own words.
        requireHostHeader: false,
        // A request for an unknown protocol is answered over HTTP.
        shouldUpgradeCallback: (request) => this.#pages.serves(request),
      },
      this.#turns.take,
    );
    // An expectation that we do not know is no reason to refuse (RFC 9110, 10.1.1).
    server.on('checkExpectation', this.#turns.take);
    server.on('connection', looksWhileConnected(server));
    server.on('connection', this.#turns.watch);
    server.on('upgrade', (request, stream, head: Buffer) => {
      const socket = stream as Socket;
      this.#turns.leave(socket);
      void this.#pages.take(request, socket, head);
    });
    server.on('connect', ({ url = '' }, stream) => {
      stream.on('error', () => stream.destroy());
      const details = { method: 'CONNECT', path: url.slice(0, 200), allowed: 'nothing: this is no proxy' };
      rejectSocket(stream as Socket, new CoreError('METHOD_NOT_ALLOWED', details));
    });
    server.on('clientError', (error: NodeJS.ErrnoException, stream) => refuse(error, stream as Socket));
    this.#servers.push(server);
    return server;
  }
}

function close(server: Server): Promise<unknown> {
  return new Promise((resolve) => server.close(resolve));
}

async function listen(server: Server, options: ListenOptions, where: string): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once('error', reject);
  server.listen(options, resolve);
  try {
    await promise;
  } catch (thrown) {
    throw new CoreError(
      'UNAVAILABLE',
      { what: where, reason: `cannot listen on it: ${reasonOf(thrown)}` },
      { cause: thrown },
    );
  } finally {
    server.off('error', reject);
  }
}

/** A socket file that nobody listens on is left over from a Core that was killed. Anything else in its place is not ours to remove. */
async function removeStale(path: string): Promise<void> {
  const refuse = (reason: string) => new CoreError('UNAVAILABLE', { what: path, reason });
  const found = await removeStaleSocket(path).catch(() => 'free'); // listening tells what is wrong with the path
  if (found === 'foreign') throw refuse('cannot listen on it: it is not a socket');
  if (found === 'occupied') throw refuse('cannot listen on it: another process does');
}

/** Bytes that are no HTTP, or come too slowly, or too many: told in one answer where none has begun, and closed. */
export function refuse(error: NodeJS.ErrnoException, socket: Socket): void {
  // A second head in the middle of a body would be read as part of it.
  const current = currentResponse(socket);
  if (!socket.writable || error.code === 'ECONNRESET' || current?.headersSent) {
    socket.destroy();
    return;
  }
  rejectSocket(socket, explain(error));
  socket.once('finish', () => socket.destroy());
}

function explain(error: NodeJS.ErrnoException): CoreError {
  if (error instanceof CoreError) return error;
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return new CoreError('REQUEST_TIMEOUT', { reason: 'it did not arrive in time' });
  if (error.code === 'HPE_HEADER_OVERFLOW') return new CoreError('HEADERS_TOO_LARGE', { limit: HEADER_LIMIT });
  const { reason } = error as { readonly reason?: string };
  return new CoreError('REQUEST_INVALID', { reason: reason ?? error.code ?? 'it is not HTTP' });
}
