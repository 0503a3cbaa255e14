/** The rpc plugin on the real table of operations, and raw clients that see every byte. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import type { Clock, PluginState } from '@device-core/plugin-api';
import { type AppSockets, appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { type Identity, identity } from '@device-core/plugin-api/inside/services/identity';
import {
  type Operation,
  type Operations,
  operations,
  type StreamEndpoint,
} from '@device-core/plugin-api/services/operations';
import { createTestHost, type TestHost } from '@device-core/plugin-api/testing';
import { plugin as operationsPlugin } from '../../../plugins/interface/operations/index.ts';
import { plugin as rpcPlugin } from '../../../plugins/interface/rpc/index.ts';
import { eventually, pace } from '../../fixtures/eventually.ts';

const manifest = (id: string) =>
  fileURLToPath(new URL(`../../../manifests/plugins/interface/${id}.yaml`, import.meta.url));

export const APP = 'com.example.agenda';

export interface Fixture extends AsyncDisposable {
  readonly rpc: TestHost;
  readonly table: Operations;
  readonly sockets: AppSockets;
  readonly path: string;
  client(path?: string): Promise<RawClient>;
  /** As the kernel tells the state of another plugin. */
  tell(plugin: string, state: PluginState): Promise<void>;
  /** Resolves when a change of the table has reached the clients' side. */
  settle(): Promise<void>;
  /** Ends every connection of this process's Core side, as a crash would. */
  breakConnections(): void;
}

export interface FixtureOptions {
  /** Of plugin rpc. */
  readonly clock?: Clock;
  readonly config?: object;
  readonly operations?: readonly Operation<never, unknown>[];
  readonly streams?: readonly StreamEndpoint<never>[];
  readonly grants?: Readonly<Record<string, readonly string[]>>;
  readonly identity?: Partial<Identity>;
}

export async function startRpc(options: FixtureOptions = {}): Promise<Fixture> {
  const grants = options.grants ?? {};
  const accepted = new Set<Socket>();
  const onAccept = (message: unknown) => void accepted.add((message as { readonly socket: Socket }).socket);
  subscribe('net.server.socket', onAccept);
  const core = await createTestHost(operationsPlugin, { manifest: manifest('operations'), grants });
  const table = core.service(operations);
  for (const operation of options.operations ?? []) table.add(operation);
  for (const stream of options.streams ?? []) table.addStream(stream);
  const rpc = await createTestHost(rpcPlugin, {
    manifest: manifest('rpc'),
    config: options.config ?? {},
    ...(options.clock && { clock: options.clock }),
    grants,
    services: [
      [operations, table],
      ...(options.identity ? ([[identity, options.identity]] as [typeof identity, object][]) : []),
    ],
  });
  const sockets = rpc.service(appSockets);
  const { path } = await sockets.open({ id: APP, name: 'agenda' });
  const clients: RawClient[] = [];
  const settle = async () => {
    await core.settle();
    await rpc.settle();
  };
  await settle();
  return {
    rpc,
    table,
    sockets,
    path,
    settle,
    async tell(plugin, state) {
      core.publish('plugin.state', { plugin, state });
      await settle();
    },
    async client(other = path) {
      const client = await RawClient.connect(other);
      clients.push(client);
      return client;
    },
    breakConnections() {
      for (const socket of accepted) socket.destroy();
    },
    async [Symbol.asyncDispose]() {
      unsubscribe('net.server.socket', onAccept);
      for (const client of clients) client.socket.destroy();
      await rpc.stop();
      await core.stop();
    },
  };
}

// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape
export type Message = any;

/** Writes bytes and reads lines and attachments, and knows nothing else. */
export class RawClient {
  readonly socket: Socket;
  readonly #messages: Message[] = [];
  readonly #waiting: ((message: Message) => void)[] = [];
  #buffer: Buffer = Buffer.alloc(0);
  #head: Message;
  #last = 0;
  closed = false;

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('error', () => socket.destroy());
    socket.on('end', () => this.#end());
    socket.on('close', () => this.#end());
  }

  static async connect(path: string): Promise<RawClient> {
    const socket = connect({ path, allowHalfOpen: true });
    const client = new RawClient(socket);
    await once(socket, 'connect');
    return client;
  }

  write(data: string | Buffer): void {
    this.socket.write(data);
  }

  send(message: object, attachment?: Buffer): void {
    this.write(`${JSON.stringify(attachment ? { ...message, bytes: attachment.length } : message)}\n`);
    if (attachment) this.write(attachment);
  }

  /** The next message; undefined when the connection is closed. */
  async next(): Promise<Message> {
    if (this.#messages.length > 0) return this.#messages.shift();
    if (this.closed) return undefined;
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** The next message for which `wanted` holds; the others are put aside. */
  async find(wanted: (message: Message) => boolean): Promise<Message> {
    const aside: Message[] = [];
    try {
      for (let message = await this.next(); message; message = await this.next()) {
        if (wanted(message)) return message;
        aside.push(message);
      }
    } finally {
      this.#messages.unshift(...aside);
    }
    return undefined;
  }

  async ready(): Promise<Message> {
    const ready = await this.next();
    if (ready?.method !== 'READY') throw new Error(`expected READY, got ${JSON.stringify(ready)}`);
    return ready.params;
  }

  async request(method: string, params?: unknown, more: object = {}, attachment?: Buffer): Promise<Message> {
    const id = ++this.#last;
    this.send({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }), ...more }, attachment);
    return this.find((message) => message.id === id && message.method === undefined);
  }

  #read(chunk: Buffer): void {
    this.#buffer = this.#buffer.length === 0 ? chunk : Buffer.concat([this.#buffer, chunk]);
    for (;;) {
      if (this.#head !== undefined) {
        if (this.#buffer.length < this.#head.bytes) return;
        const attachment = this.#buffer.subarray(0, this.#head.bytes);
        this.#buffer = this.#buffer.subarray(this.#head.bytes);
        this.#give({ ...this.#head, attachment });
        this.#head = undefined;
      }
      const newline = this.#buffer.indexOf(10);
      if (newline < 0) return;
      const message = JSON.parse(this.#buffer.subarray(0, newline).toString());
      this.#buffer = this.#buffer.subarray(newline + 1);
      if (typeof message.bytes === 'number') this.#head = message;
      else this.#give(message);
    }
  }

  #end(): void {
    this.closed = true;
    this.socket.end();
    for (const resolve of this.#waiting.splice(0)) resolve(undefined);
  }

  #give(message: Message): void {
    // As every library of an app does: whether it is alive is asked at any time.
    if (message.method === 'ping' && message.id !== undefined) {
      this.send({ jsonrpc: '2.0', id: message.id, result: {} });
      return;
    }
    const waiting = this.#waiting.shift();
    if (waiting) waiting(message);
    else this.#messages.push(message);
  }
}

const ANYTHING = { type: 'object', additionalProperties: true };

export function operation(name: string, run: Operation<never, unknown>['run'], more: object = {}) {
  return { name, summary: name, params: ANYTHING, result: {}, errors: [], run, ...more } as Operation<never, unknown>;
}

export { pace as sleep };

export const until = (holds: () => boolean | Promise<boolean>) => eventually(holds, 'what was waited for');
