/** The plugin with a ledger of its own, hosts that are servers of the test, and apps that speak to it as text. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { Clock, CoreError, Isolation } from '@device-core/plugin-api';
import { type AppSupervisor, appSupervisor } from '@device-core/plugin-api/inside/services/app-supervisor';
import { egress } from '@device-core/plugin-api/inside/services/egress';
import {
  type Departure,
  type DepartureLine,
  type DeparturesLedger,
  ledger,
} from '@device-core/plugin-api/inside/services/ledger';
import { createTestHost, given, type TestHost } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/apps/egress/index.ts';

export const manifest = join(import.meta.dirname, '../../../manifests/plugins/apps/egress.yaml');
export const APP = { id: 'com.a', name: 'agenda' };
/** An app that is never to suffer from the first. */
export const OTHER = { id: 'com.b', name: 'other' };
export const HOST = 'api.test';

/** A ledger without a disk. */
export class Book implements DeparturesLedger {
  readonly lines: DepartureLine[] = [];
  readonly bytes = new Map<string, number>();
  refuses: CoreError | undefined;

  async write(departure: Departure): Promise<string> {
    if (this.refuses) throw this.refuses;
    const id = `${this.lines.length}`;
    this.lines.push({ ...departure, id, at: Date.now() });
    return id;
  }

  async count(id: string, bytes: number): Promise<void> {
    this.bytes.set(id, (this.bytes.get(id) ?? 0) + bytes);
  }

  async list(): Promise<readonly DepartureLine[]> {
    return this.lines;
  }

  async sums(): Promise<readonly never[]> {
    return [];
  }
}

export interface StartOptions {
  readonly config?: object;
  readonly ledger?: boolean;
  readonly isolation?: Isolation;
  readonly grants?: readonly string[];
  readonly clock?: Clock;
}

export async function start(options: StartOptions = {}) {
  const book = new Book();
  const said: string[] = [];
  const write = async (name: string, { text }: { readonly text: string }) => void said.push(`${name}: ${text}`);
  const host: TestHost = await createTestHost(plugin, {
    manifest,
    config: { hosts: { [HOST]: ['127.0.0.1'] }, ...options.config },
    services: [
      ...(options.ledger === false ? [] : [[ledger, book] as const]),
      given(appSupervisor, { write } as Partial<AppSupervisor>),
    ],
    grants: {
      [`app.${APP.id}`]: options.grants ?? [`network.outbound:${HOST}`],
      [`app.${OTHER.id}`]: [`network.outbound:${HOST}`],
    },
    ...(options.clock && { clock: options.clock }),
    ...(options.isolation && { isolation: options.isolation }),
  });
  const service = host.service(egress);
  return { host, service, book, said };
}

/** Closes with `using`; `port` is one of this machine that nobody else has. */
export interface TestServer extends AsyncDisposable {
  readonly port: number;
  readonly sockets: ReadonlySet<Socket>;
}

export async function listening(serve: (socket: Socket) => void): Promise<TestServer> {
  const sockets = new Set<Socket>();
  const server: Server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('close', () => sockets.delete(socket));
    serve(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  return {
    port,
    sockets,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** What comes back is what was sent. */
export const echo = (socket: Socket): void => void socket.pipe(socket);

/** A connection to the way out, and all that came on it. */
const PIECE = 32 << 10;

export class Client implements Disposable {
  readonly socket: Socket;
  /** Latin-1. */
  heard = '';
  readonly closed: Promise<string>;
  readonly #listeners = new Set<() => void>();

  constructor(path: string) {
    this.socket = connect({ path, allowHalfOpen: true });
    const { promise, resolve } = Promise.withResolvers<string>();
    this.closed = promise;
    this.socket.setEncoding('latin1');
    this.socket.on('data', (text: string) => {
      this.heard += text;
      for (const listener of [...this.#listeners]) listener();
    });
    this.socket.on('error', () => this.socket.destroy());
    this.socket.on('end', () => resolve(this.heard));
    this.socket.once('close', () => resolve(this.heard));
  }

  /** Piece by piece: a client that is refused in the middle of a long request hears why before it writes on, as it would fail at that. */
  say(text: string | Buffer): this {
    const bytes = Buffer.from(text as string);
    this.socket.write(bytes.subarray(0, PIECE));
    if (bytes.length > PIECE)
      setImmediate(() => {
        if (this.heard === '' && this.socket.writable) this.say(bytes.subarray(PIECE));
      });
    return this;
  }

  /** Resolves when so much came, or when nothing more comes. */
  async until(what: string | number): Promise<string> {
    const there = () => (typeof what === 'number' ? this.heard.length >= what : this.heard.includes(what));
    if (there()) return this.heard;
    const { promise, resolve } = Promise.withResolvers<void>();
    const listener = () => there() && resolve();
    this.#listeners.add(listener);
    await Promise.race([promise, this.closed]);
    this.#listeners.delete(listener);
    return this.heard;
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

/** The whole answer to one request. */
export async function asked(path: string, request: string | Buffer): Promise<string> {
  using client = new Client(path);
  return await client.say(request).closed;
}

export const tunnel = (port: number, host = HOST): string =>
  `CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
