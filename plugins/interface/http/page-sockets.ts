/** WebSockets of pages: admitted by what they show, one queue each, no compression, and nothing sent to who does not read. */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type Caller, CoreError, type Logger, reasonOf, toCoreError } from '@device-core/plugin-api';
import type { PageSocket, PageSockets } from '@device-core/plugin-api/inside/services/http-server';
import { Queue } from '@device-core/plugin-api/operation-kit';
import type { WebSocket, WebSocketServer } from 'ws';
import type { LoopTurns } from '../shared/loop-turns.ts';
import type { Connections } from './connections.ts';
import { shareOf } from './front-end.ts';
import { rejectSocket } from './responses.ts';

/** Longest message of a page. */
const MESSAGE_BYTES = 64 * 1024;
/** Messages of one page that nobody has read; the page waits then. */
const UNREAD = 16;
const MOST_SOCKETS = 64;
/** Most sockets of one session, which is one tab: it may come back before its former socket is known to be gone. */
const MOST_OF_ONE = 4;
/** Bytes that wait for a page before whoever sends has to wait, too. */
const ROOM = 256 * 1024;

interface Endpoint {
  readonly protocol: string;
  readonly sockets: PageSockets;
}

interface Page {
  readonly path?: string | undefined;
  /** Known once it is admitted. */
  session?: string | undefined;
  /** Its caller is nobody any more, whether or not it closes. */
  readonly over: AbortController;
}

const ENDED = 'the session has ended';

export class PageSocketServer {
  readonly #endpoints = new Map<string, Endpoint>();
  readonly #open = new Map<WebSocket, Page>();
  /** Sessions of pages that are admitted and not open yet: they count, and may end meanwhile. */
  readonly #coming = new Set<Page>();
  readonly #connections: Connections;
  readonly #loop: LoopTurns;
  readonly #log: Logger;
  #server: Promise<WebSocketServer> | undefined;

  constructor(connections: Connections, loop: LoopTurns, log: Logger) {
    this.#connections = connections;
    this.#loop = loop;
    this.#log = log;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Throws PARAMS_INVALID. */
  add(path: string, protocol: string, sockets: PageSockets): Disposable {
    if (this.#endpoints.has(path))
      throw new CoreError('PARAMS_INVALID', { where: `the path ${path}`, reason: 'it is taken' });
    this.#endpoints.set(path, { protocol, sockets });
    return {
      [Symbol.dispose]: () => {
        this.#endpoints.delete(path);
        // The server of the pages goes: a page that is cut comes back to its next server.
        const gone = new CoreError('CANCELLED', { what: 'a page', reason: 'it is served anew' });
        for (const page of this.#coming) if (page.path === path) page.over.abort(gone);
        for (const [socket, page] of this.#open) if (page.path === path) socket.close(1_012, 'it is served anew');
      },
    };
  }

  /** A session ended: its pages are cut at once. */
  cut(session: string): void {
    const gone = new CoreError('CANCELLED', { what: 'a page', reason: ENDED });
    for (const page of [...this.#coming, ...this.#open.values()]) if (page.session === session) page.over.abort(gone);
  }

  cutAll(): void {
    for (const socket of this.#open.keys()) socket.terminate();
  }

  /** Is it for one of them? Asked for each request that wants to be something else. */
  serves({ method, url = '/', headers }: IncomingMessage): boolean {
    return method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket' && this.#of(url) !== undefined;
  }

  /** An HTTP request that wants to be something else. */
  async take(request: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    socket.on('error', () => socket.destroy());
    let page: Page | undefined;
    try {
      const endpoint = this.#endpointOf(request, socket);
      // Its place is taken before anybody waits: 200 that come at once are no exception.
      const admitted: Page = { over: new AbortController(), path: pathOf(request.url) };
      this.#coming.add(admitted);
      page = admitted;
      const caller = await endpoint.sockets.admit(protocolsOf(request).filter((one) => one !== endpoint.protocol));
      this.#roomFor(caller.signedIn?.id);
      admitted.session = caller.signedIn?.id;
      this.#server ??= import('ws').then(
        ({ WebSocketServer }) =>
          new WebSocketServer({
            noServer: true,
            clientTracking: false,
            perMessageDeflate: false,
            maxPayload: MESSAGE_BYTES,
            // A page that pings and does not read would have its answers kept for it.
            autoPong: false,
            handleProtocols: (offered, { url = '' }) =>
              [...offered].find((one) => one === this.#of(url)?.protocol) ?? false,
          }),
      );
      const server = await this.#server;
      if (admitted.over.signal.aborted) throw new CoreError('UNAUTHENTICATED', { reason: ENDED });
      server.handleUpgrade(request, socket, head, (webSocket) => {
        const connection = this.#connections.of(socket);
        // Not the first to go when there is no room: somebody looks at it.
        if (connection) connection.known = true;
        void this.#run(webSocket, caller, endpoint, admitted);
      });
    } catch (thrown) {
      if (!(thrown instanceof CoreError)) this.#log.error({ err: thrown, url: request.url }, 'request failed');
      if (!socket.destroyed) rejectSocket(socket, toCoreError(thrown, 'http'));
    } finally {
      if (page) this.#coming.delete(page);
    }
  }

  #of(url: string): Endpoint | undefined {
    return this.#endpoints.get(pathOf(url));
  }

  /** Throws ORIGIN_DENIED, METHOD_NOT_FOUND, BUSY, REQUEST_INVALID. */
  #endpointOf(request: IncomingMessage, socket: Socket): Endpoint {
    const refusal = this.#connections.of(socket)?.origin?.refusal(request);
    if (refusal) throw refusal;
    const endpoint = this.#of(request.url ?? '/');
    // It may have gone since the parser asked.
    if (endpoint === undefined) throw new CoreError('METHOD_NOT_FOUND', { name: (request.url ?? '/').slice(0, 200) });
    if (this.#open.size + this.#coming.size >= MOST_SOCKETS)
      throw new CoreError('BUSY', { what: 'a page', limit: `${MOST_SOCKETS} pages` });
    if (!protocolsOf(request).includes(endpoint.protocol))
      throw new CoreError('REQUEST_INVALID', { reason: `it does not offer the protocol ${endpoint.protocol}` });
    return endpoint;
  }

  /** Throws BUSY: a session cannot take the places of the others. */
  #roomFor(session: string | undefined): void {
    const mine = [...this.#coming, ...this.#open.values()].filter((one) => one.session === session);
    if (session !== undefined && mine.length >= MOST_OF_ONE)
      throw new CoreError('BUSY', { what: 'a page', limit: `${MOST_OF_ONE} sockets of one session` });
  }

  async #run(webSocket: WebSocket, caller: Caller, { sockets }: Endpoint, page: Page): Promise<void> {
    this.#open.set(webSocket, page);
    const { over } = page;
    const share = shareOf(this.#loop, caller);
    let owes = false;
    const readOn = () => {
      if (webSocket.isPaused && !owes && inbox.size < UNREAD) webSocket.resume();
    };
    const inbox = new Queue<string>(readOn);
    const wait = () => {
      if (owes || over.signal.aborted) return;
      owes = true;
      webSocket.pause();
      this.#loop.wait(share, () => {
        owes = false;
        readOn();
        return 0;
      });
    };
    // Messages not read by then are dropped.
    const end = () => {
      inbox.clear();
      inbox.end();
    };
    webSocket.on('error', () => webSocket.terminate());
    webSocket.on('close', () => {
      this.#open.delete(webSocket);
      over.abort(new CoreError('CANCELLED', { what: 'a page', reason: 'it has gone' }));
      end();
    });
    // A peer that does not answer the close is cut off all the same.
    over.signal.addEventListener(
      'abort',
      () => {
        end();
        webSocket.close(4_401, ENDED);
        // Its answer to that is still to be read.
        if (webSocket.isPaused) webSocket.resume();
      },
      { once: true },
    );
    webSocket.on('ping', (data) => {
      if (webSocket.bufferedAmount < ROOM) webSocket.pong(data);
    });
    webSocket.on('message', (data, isBinary) => {
      if (over.signal.aborted) return;
      if (isBinary) webSocket.close(1_003, 'messages are text');
      else {
        const take = () => {
          // In their order; the socket is not read while many wait.
          inbox.push(String(data));
          if (inbox.size >= UNREAD) webSocket.pause();
          return 1;
        };
        this.#loop.read(share, (data as Buffer).length, take, wait);
      }
    });
    const channel: PageSocket = {
      caller,
      signal: over.signal,
      incoming: inbox,
      send: (message) => (over.signal.aborted ? Promise.reject(gone()) : sent(webSocket, message)),
      close: async (code, reason) => webSocket.close(code, reason.slice(0, 100)),
    };
    try {
      await sockets.run(channel);
      webSocket.close(1_000);
    } catch (thrown) {
      if (!over.signal.aborted) this.#log.warn({ reason: reasonOf(thrown) }, 'a page was cut off');
      webSocket.close(4_500, reasonOf(thrown).slice(0, 100));
    }
  }
}

const gone = (): CoreError => new CoreError('CANCELLED', { what: 'a message to a page', reason: 'the page has gone' });

const pathOf = (url = '/'): string => url.split('?', 1)[0]!;

const protocolsOf = ({ headers }: IncomingMessage): readonly string[] =>
  (headers['sec-websocket-protocol'] ?? '').split(',').map((one) => one.trim());

/** Resolves at once while there is room, else when the socket took all of it. */
function sent(webSocket: WebSocket, message: string | Uint8Array): Promise<void> {
  if (webSocket.readyState !== webSocket.OPEN) return Promise.reject(gone());
  if (webSocket.bufferedAmount < ROOM) {
    webSocket.send(message);
    return Promise.resolve();
  }
  return new Promise((resolve, reject) => webSocket.send(message, (error) => (error ? reject(gone()) : resolve())));
}
