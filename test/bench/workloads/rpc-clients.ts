/** The calling ends of the app socket benches, all in the bench's own process; each call resolves with its answer. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectApp } from '@device-core/plugin-api/app';
import { peer } from '../harness.ts';
import { DBUS_NAME, DBUS_PATH } from './rpc-callees.ts';
import { grpcMethod } from './rpc-servers.ts';

// biome-ignore lint/suspicious/noExplicitAny: the peers' own types are not installed with the product
type Any = any;

export const TEXT = 'x'.repeat(40);
/** A request of ours with this text has 128 bytes. */
const ECHO_BYTES = 128;

export interface Client extends AsyncDisposable {
  call(): Promise<unknown>;
}

export interface Child extends Disposable {
  readonly pid: number;
  readonly said: unknown;
}

/** Starts a file of this folder as a process and waits for its first message. */
export async function start(file: string, ...args: string[]): Promise<Child> {
  const child = fork(join(import.meta.dirname, file), args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] });
  const [said] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error(`${file} ${args.join(' ')} ended before it was ready`))),
  ]);
  return { pid: child.pid!, said, [Symbol.dispose]: () => child.connected && child.disconnect() };
}

export function temporary(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'dcb-'));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** Bytes there and back, and nothing done with them. */
export async function echoClient(path: string, length = ECHO_BYTES): Promise<Client> {
  const socket = connect({ path });
  await once(socket, 'connect');
  const bytes = Buffer.alloc(length, 'x');
  let done: (() => void) | undefined;
  let missing = 0;
  socket.on('data', (chunk: Buffer) => {
    missing -= chunk.length;
    if (missing === 0) done?.();
  });
  return {
    call: () =>
      new Promise<void>((resolve) => {
        missing = length;
        done = resolve;
        socket.write(bytes);
      }),
    [Symbol.asyncDispose]: async () => void socket.destroy(),
  };
}

/** Writes the same line again and again, and waits for a line each time. */
export async function moverClient(path: string, request: object): Promise<Client> {
  const bytes = Buffer.from(`${JSON.stringify(request)}\n`);
  const socket = connect({ path });
  await once(socket, 'data'); // READY
  let done: ((line: Buffer) => void) | undefined;
  socket.on('data', (chunk: Buffer) => done?.(chunk));
  return {
    call: () =>
      new Promise<void>((resolve, reject) => {
        done = (line) => (line.includes('"error"') ? reject(new Error(line.toString())) : resolve());
        socket.write(bytes);
      }),
    [Symbol.asyncDispose]: async () => void socket.destroy(),
  };
}

/** The SDK, as an app uses it: what stands against the clients of others. */
export async function sdkClient(rpcSocket: string, method = 'bench.echo', given?: object): Promise<Client> {
  const app = await connectApp({ appId: 'com.example.a', rpcSocket });
  let last = 0;
  return {
    call: () => app.call(method, given ?? { text: TEXT, n: ++last }),
    [Symbol.asyncDispose]: async () => app.close(),
  };
}

/** Lines on a socket, matched by id: what any client has to do at least. It stands against a bare echo only. */
export async function lineClient(path: string, method = 'bench.echo', given?: object): Promise<Client> {
  const socket = connect({ path });
  const pending = new Map<number, (result: unknown) => void>();
  const ready = Promise.withResolvers<void>();
  let rest = '';
  let last = 0;
  let outgoing = '';
  // What is asked in one turn leaves in one write, as any client does that has much to ask.
  const flush = (): void => {
    socket.write(outgoing);
    outgoing = '';
  };
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    const text = rest + chunk;
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      const message = JSON.parse(text.slice(from, end));
      from = end + 1;
      if (message.method === 'READY') ready.resolve();
      else if (message.error) throw new Error(message.error.message);
      else {
        pending.get(message.id)?.(message.result);
        pending.delete(message.id);
      }
    }
    rest = text.slice(from);
  });
  await ready.promise;
  return {
    call: () =>
      new Promise((resolve) => {
        const id = ++last;
        pending.set(id, resolve);
        if (outgoing === '') process.nextTick(flush);
        const params = given ?? { text: TEXT, n: id };
        outgoing += `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`;
      }),
    [Symbol.asyncDispose]: async () => void socket.destroy(),
  };
}

const CLIENTS: Readonly<Record<string, (path: string) => Promise<Client>>> = {
  async 'vscode-jsonrpc'(path) {
    const rpc = await peer<Any>('vscode-jsonrpc/node');
    const socket = connect({ path });
    const connection = rpc.createMessageConnection(
      new rpc.StreamMessageReader(socket),
      new rpc.StreamMessageWriter(socket),
    );
    connection.listen();
    return {
      call: () => connection.sendRequest('bench.echo', { text: TEXT }),
      [Symbol.asyncDispose]: async () => {
        connection.dispose();
        socket.destroy();
      },
    };
  },

  async jayson(path) {
    const { default: jayson } = await peer<Any>('jayson');
    const client = jayson.Client.tcp({ path });
    return {
      call: () =>
        new Promise((resolve, reject) =>
          client.request('bench.echo', { text: TEXT }, (failure: Error | null, _error: unknown, result: unknown) =>
            failure ? reject(failure) : resolve(result),
          ),
        ),
      [Symbol.asyncDispose]: async () => undefined,
    };
  },

  async 'grpc-js'(path) {
    const { default: grpc } = await peer<Any>('@grpc/grpc-js');
    const Service = grpc.makeGenericClientConstructor({ echo: grpcMethod() }, 'bench');
    const client = new Service(`unix:${path}`, grpc.credentials.createInsecure());
    return {
      call: () =>
        new Promise((resolve, reject) =>
          client.echo({ text: TEXT }, (error: Error | null, result: unknown) =>
            error ? reject(error) : resolve(result),
          ),
        ),
      [Symbol.asyncDispose]: async () => client.close(),
    };
  },

  async ws(path) {
    const { WebSocket } = await peer<Any>('ws');
    const socket = new WebSocket(`ws+unix://${path}:/`);
    await once(socket, 'open');
    const pending = new Map<number, (result: unknown) => void>();
    let last = 0;
    socket.on('message', (data: Buffer) => {
      const { id, result } = JSON.parse(data.toString());
      pending.get(id)?.(result);
      pending.delete(id);
    });
    return {
      call: () =>
        new Promise((resolve) => {
          const id = ++last;
          pending.set(id, resolve);
          socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'bench.echo', params: { text: TEXT, n: id } }));
        }),
      [Symbol.asyncDispose]: async () => socket.terminate(),
    };
  },

  async http(path) {
    const agent = new Agent({ keepAlive: true });
    const body = JSON.stringify({ text: TEXT });
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    return {
      call: () =>
        new Promise((resolve, reject) => {
          const sent = request({ socketPath: path, method: 'POST', path: '/echo', agent, headers }, (response) => {
            const parts: Buffer[] = [];
            response.on('data', (part) => parts.push(part));
            response.on('end', () => resolve(JSON.parse(Buffer.concat(parts).toString())));
          });
          sent.on('error', reject);
          sent.end(body);
        }),
      [Symbol.asyncDispose]: async () => agent.destroy(),
    };
  },
};

/** The client of a service on D-Bus. */
export async function dbusClient(path: string): Promise<Client> {
  const { default: dbus } = await peer<Any>('dbus-next');
  const bus = dbus.sessionBus({ busAddress: `unix:path=${path}` });
  const service = (await bus.getProxyObject(DBUS_NAME, DBUS_PATH)).getInterface(DBUS_NAME);
  return { call: () => service.Answer(TEXT), [Symbol.asyncDispose]: async () => bus.disconnect() };
}

export async function peerClient(kind: string, path: string): Promise<Client> {
  const make = CLIENTS[kind];
  if (!make) throw new Error(`there is no client ${kind}`);
  return make(path);
}

export async function sequential(client: Client, calls: number): Promise<void> {
  for (let i = 0; i < calls; i++) await client.call();
}

export async function parallel(client: Client, calls: number, inFlight: number): Promise<void> {
  const lane = async (): Promise<void> => {
    for (let i = 0; i < calls / inFlight; i++) await client.call();
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
}
