/** The way of one app to the hosts that it was granted: a socket on which it speaks HTTP to a proxy. */
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import {
  type ClientRequest,
  createServer as createHttpServer,
  type IncomingMessage,
  request,
  type ServerResponse,
} from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { afterOwnTime, type Capabilities, CoreError, type Logger, type Scope } from '@device-core/plugin-api';
import type { NamedHost } from '@device-core/plugin-api/inside/app-spec';
import type { EgressRefusal, EgressUsage } from '@device-core/plugin-api/inside/services/egress';
import type { DeparturesLedger } from '@device-core/plugin-api/inside/services/ledger';
import { Book } from './book.ts';
import { copy, type Turns } from './copy.ts';
import { dial } from './dial.ts';
import { HostGrants } from './grants.ts';
import { passedOn } from './headers.ts';
import { answerFault, headOf } from './host-answer.ts';
import type { Names } from './names.ts';
import { errorOf, refuseResponse, refuseSocket } from './refusal.ts';
import { handOver, prepare, unavailable } from './socket-file.ts';
import { absoluteTarget, type Target, targetOf } from './target.ts';

export interface WayOutLimits {
  /** Connections of one app at a time. */
  readonly connections: number;
  readonly headerBytes: number;
  /** Milliseconds for a request to come, for one connection to a host, and without a byte either way. */
  readonly headerMs: number;
  readonly connectMs: number;
  readonly idleMs: number;
  /** For how long one line of the ledger stands. */
  readonly lineMs: number;
}

export interface WayOutWorld {
  readonly log: Logger;
  readonly capabilities: Capabilities;
  readonly limits: WayOutLimits;
  readonly names: Names;
  readonly turns: Turns;
  readonly ledger: () => DeparturesLedger | undefined;
  readonly refused: (refusal: EgressRefusal) => void;
}

export interface WayOutApp {
  readonly id: string;
  readonly name: string;
  readonly uid?: number;
  readonly hosts: readonly NamedHost[];
}

/** One connection of the app. */
interface Connection {
  readonly socket: Socket;
  /** It ends with its socket, with its grant, and with all of them. */
  readonly stop: AbortController;
  /** One request for each: what comes behind it is not looked at. */
  asked: boolean;
  target?: Target;
  /** Bytes either way, of all that it does. */
  moved: number;
}

/** One refusal of a kind is told so often, milliseconds, and so many kinds are known. */
const TOLD_MS = 60_000;
const MOST_TOLD = 100;

export class WayOut implements AsyncDisposable {
  readonly app: WayOutApp;
  readonly #world: WayOutWorld;
  readonly #scope: Scope & AsyncDisposable;
  readonly #grants: HostGrants;
  readonly #book: Book;
  readonly #connections = new Map<Socket, Connection>();
  readonly #server: Server;
  readonly #told = new Map<string, number>();
  /** Were told that they cannot be read: what they go on to say cannot be, either. */
  readonly #unheard = new WeakSet<Socket>();
  readonly #usage = { sent: 0, received: 0, refused: 0 };

  constructor(app: WayOutApp, scope: Scope & AsyncDisposable, world: WayOutWorld) {
    this.app = app;
    this.#scope = scope;
    this.#world = world;
    this.#grants = new HostGrants(app.id, app.hosts, world.capabilities);
    this.#book = new Book(app.id, { scope, log: world.log, lineMs: world.limits.lineMs, ledger: world.ledger });
    // It reads requests and never listens: then it keeps no timer of its own.
    const parser = createHttpServer({ maxHeaderSize: world.limits.headerBytes, keepAliveTimeout: 0, noDelay: true });
    parser.on('connect', (asked, socket, head) => void this.#connect(asked, socket as Socket, head));
    parser.on('request', (asked, response) => void this.#pass(asked, response));
    // The host answers an expectation. Node's own 417 would leave the connection open without a request.
    parser.on('checkExpectation', (asked, response) => void this.#pass(asked, response));
    parser.on('clientError', (error, socket) => this.#unreadable(error, socket as Socket));
    this.#server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => this.#accept(socket, parser));
  }

  /** Throws UNAVAILABLE. */
  async listen(making: string, path: string): Promise<void> {
    try {
      await prepare(making, path);
      this.#server.listen({ path: making, backlog: 256 });
      await once(this.#server, 'listening');
      await handOver(making, path, this.app.uid);
    } catch (thrown) {
      this.#server.close();
      throw unavailable(this.app.name, thrown);
    }
    this.#server.on('error', ({ message }) => this.#world.log.error({ app: this.app.id, reason: message }, 'way out'));
    this.#scope.defer('its socket', () => rm(path, { force: true }));
  }

  /** Sets the hosts; connections to other hosts are cut. */
  grant(hosts: readonly NamedHost[]): void {
    this.#grants.hosts = hosts;
    for (const { target, stop } of this.#connections.values()) if (target && !this.#grants.holds(target)) stop.abort();
  }

  usage(): EgressUsage {
    return { app: this.app.id, open: this.#connections.size, ...this.#usage };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = this.#server.listening ? once(this.#server, 'close') : undefined;
    this.#server.close();
    for (const { stop } of this.#connections.values()) stop.abort();
    await closed;
    await this.#book.flush();
    await this.#scope[Symbol.asyncDispose]();
  }

  #accept(socket: Socket, parser: ReturnType<typeof createHttpServer>): void {
    const { connections, headerMs } = this.#world.limits;
    socket.on('error', () => socket.destroy()); // it went away by itself
    if (this.#connections.size >= connections || this.#scope.signal.aborted) {
      this.#refused('', new CoreError('BUSY', { what: 'a connection', limit: connections }), (error) =>
        refuseSocket(socket, error),
      );
      return;
    }
    const { clock } = this.#scope;
    const connection: Connection = { socket, stop: new AbortController(), asked: false, moved: 0 };
    this.#connections.set(socket, connection);
    connection.stop.signal.addEventListener('abort', () => socket.destroy());
    const late = afterOwnTime(
      clock,
      headerMs,
      () => {
        if (connection.asked) return;
        this.#refused('', new CoreError('REQUEST_TIMEOUT', { reason: 'it did not come whole' }), (error) =>
          refuseSocket(socket, error),
        );
      },
      [() => clock.taken()],
    );
    socket.once('close', () => {
      late[Symbol.dispose]();
      this.#connections.delete(socket);
      connection.stop.abort();
    });
    parser.emit('connection', socket);
  }

  async #connect(asked: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const connection = this.#connections.get(socket);
    const authority = asked.url ?? '';
    if (!connection || connection.asked) return void socket.destroy();
    connection.asked = true;
    socket.pause();
    try {
      const target = targetOf(this.app.id, authority);
      const { outer, line } = await this.#open(connection, target);
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      this.#watch(connection, outer);
      outer.once('close', () => {
        // The last bytes are still on their way to the app.
        if (socket.writable) socket.end();
        if (socket.writableLength === 0 || outer.errored) socket.destroySoon();
      });
      if (head.length > 0) {
        this.#moved(connection, line, 'sent', head.length);
        outer.write(head);
      }
      copy(socket, outer, this.#world.turns, (bytes) => this.#moved(connection, line, 'sent', bytes));
      copy(outer, socket, this.#world.turns, (bytes) => this.#moved(connection, line, 'received', bytes));
      socket.resume();
    } catch (thrown) {
      this.#refused(authority, thrown, (error) => refuseSocket(socket, error));
    }
  }

  /**
   * A request that is not for a tunnel: it is asked anew, of the host that was checked, and nothing that it says of
   * itself leads elsewhere.
   */
  async #pass(asked: IncomingMessage, response: ServerResponse): Promise<void> {
    const { socket, method = 'GET', url = '', rawHeaders, headers } = asked;
    const connection = this.#connections.get(socket);
    if (!connection || connection.asked) return;
    connection.asked = true;
    response.shouldKeepAlive = false;
    const fail = (thrown: unknown) =>
      this.#refused(url, thrown, (error) => {
        refuseResponse(response, error);
        response.once('finish', () => socket.destroySoon());
      });
    try {
      const target = absoluteTarget(this.app.id, url);
      const { outer, line } = await this.#open(connection, target);
      this.#watch(connection, outer);
      const { host, port, path } = target;
      const chunked = headers['transfer-encoding'] !== undefined;
      const passed = request({
        method,
        path,
        createConnection: () => outer,
        setDefaultHeaders: false,
        insecureHTTPParser: false,
        headers: [
          ...['Host', port === 80 ? host : `${host}:${port}`],
          ...passedOn(rawHeaders),
          ...(chunked ? ['Transfer-Encoding', 'chunked'] : []),
          ...['Connection', 'close'],
        ],
      });
      this.#answer(connection, passed, { response, to: `${host}:${port}`, line, fail });
      copy(asked, passed, this.#world.turns, (bytes) => this.#moved(connection, line, 'sent', bytes));
      asked.once('error', () => passed.destroy());
    } catch (thrown) {
      fail(thrown);
    }
  }

  /**
   * The head of the answer is made of foreign bytes, and an error in a listener would count as a crash of the plugin:
   * each fault becomes an answer here.
   */
  #answer(
    connection: Connection,
    passed: ClientRequest,
    {
      response,
      to,
      line,
      fail,
    }: {
      readonly response: ServerResponse;
      readonly to: string;
      readonly line: string;
      readonly fail: (thrown: unknown) => void;
    },
  ): void {
    let answered: IncomingMessage | undefined;
    let failed = false;
    const failOnce = (thrown: unknown) => {
      // The answer is whole: bytes behind its end are no part of it.
      if (failed || answered?.complete || connection.stop.signal.aborted) return;
      failed = true;
      fail(answerFault(to, thrown));
    };
    passed.on('error', failOnce);
    // An upgrade that no client asked for ends the request without an error and without an answer.
    passed.once('close', () => answered ?? failOnce(new Error('it ended without an answer')));
    passed.once('response', (answer) => {
      answer.once('error', () => response.destroy());
      try {
        const { status, phrase, headers } = headOf(to, answer);
        response.writeHead(status, phrase, headers);
      } catch (thrown) {
        failOnce(thrown);
        passed.destroy();
        return;
      }
      answered = answer;
      copy(answer, response, this.#world.turns, (bytes) => this.#moved(connection, line, 'received', bytes));
    });
  }

  /** The address that was checked is the one that is connected to; the line is on the disk before. Throws whatever refuses it. */
  async #open(connection: Connection, target: Target): Promise<{ readonly outer: Socket; readonly line: string }> {
    const { names, limits } = this.#world;
    const { signal } = connection.stop;
    const to = `${target.host}:${target.port}`;
    connection.target = target;
    this.#grants.require(target, this.#isNews(`why ${to}`));
    const addresses = await names.addresses(this.app.id, target.host, signal);
    const line = await this.#book.write(to);
    const outer = await dial(target, addresses, { scope: this.#scope, connectMs: limits.connectMs, signal });
    // It may have been taken back while it was connected.
    if (!this.#grants.holds(target) || signal.aborted) outer.destroy();
    this.#grants.require(target, false);
    return { outer, line };
  }

  /** Without a byte for too long both ends are cut, also while the last bytes of a host wait for an app that does not read. */
  #watch(connection: Connection, outer: Socket): void {
    const { socket, stop } = connection;
    const { clock } = this.#scope;
    stop.signal.addEventListener('abort', () => {
      idle[Symbol.dispose]();
      outer.destroy();
    });
    outer.on('error', () => outer.destroy());
    const state = () => `${connection.moved} ${socket.writableLength}`;
    let seen = state();
    const look = (): Disposable =>
      afterOwnTime(
        clock,
        this.#world.limits.idleMs,
        () => {
          const now = state();
          if (now === seen) stop.abort();
          seen = now;
          if (!stop.signal.aborted) idle = look();
        },
        [() => clock.taken()],
      );
    let idle = look();
    // The app may have gone while the host was dialled.
    if (stop.signal.aborted) {
      idle[Symbol.dispose]();
      outer.destroy();
    }
  }

  #moved(connection: Connection, line: string, way: 'sent' | 'received', bytes: number): void {
    connection.moved += bytes;
    this.#usage[way] += bytes;
    this.#book.count(line, bytes);
  }

  #unreadable(error: NodeJS.ErrnoException, socket: Socket): void {
    const { headerBytes } = this.#world.limits;
    if (this.#unheard.has(socket)) return;
    if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
    const told =
      error.code === 'HPE_HEADER_OVERFLOW'
        ? new CoreError('HEADERS_TOO_LARGE', { limit: headerBytes })
        : new CoreError('REQUEST_INVALID', { reason: error.message });
    this.#unheard.add(socket);
    this.#refused('', told, (refusal) => refuseSocket(socket, refusal, this.#scope));
  }

  /** Nobody is answered who went away, or whose grant did. */
  #refused(to: string, thrown: unknown, answer: (error: CoreError) => void): void {
    const error = errorOf(thrown);
    this.#usage.refused++;
    answer(error);
    if (error.code === 'CANCELLED' || !this.#isNews(`${error.code} ${to}`)) return;
    const { code, message } = error;
    this.#world.refused({ at: this.#scope.clock.now(), app: this.app.id, to: to.slice(0, 300), code, message });
  }

  /** An app that asks in a loop is not told of, each time. */
  #isNews(what: string): boolean {
    const now = this.#scope.clock.monotonic();
    if (now < (this.#told.get(what) ?? Number.NEGATIVE_INFINITY)) return false;
    if (this.#told.size >= MOST_TOLD) this.#told.delete(this.#told.keys().next().value!);
    this.#told.delete(what);
    this.#told.set(what, now + TOLD_MS);
    return true;
  }
}
