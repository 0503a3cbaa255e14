/** Row 11: what one REST request costs the server, through the whole product, against frameworks that only validate. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type Measured, microseconds, processCpu, quartiles, type Row, type RunOptions } from '../harness.ts';

const CONNECTIONS = 4;
type Path = 'bench' | 'health';
const PEERS = [
  { name: 'fastify', kind: 'fastify', path: 'bench' },
  { name: 'fastify, GET /health', kind: 'fastify', path: 'health' },
  { name: 'express', kind: 'express', path: 'bench' },
] as const;

class Server implements Disposable {
  readonly #child: ChildProcess;
  readonly #sockets: readonly Socket[];
  readonly #requests: Readonly<Record<Path, Buffer>>;

  private constructor(child: ChildProcess, sockets: readonly Socket[], requests: Readonly<Record<Path, Buffer>>) {
    this.#child = child;
    this.#sockets = sockets;
    this.#requests = requests;
  }

  static async start(kind: string): Promise<Server> {
    const child = fork(join(import.meta.dirname, '../workloads/rest-server.ts'), [kind]);
    const [{ port, token }] = (await once(child, 'message')) as [{ port: number; token?: string }];
    const body = JSON.stringify({ handle: 'flash', tx: 'nwAAAAAAAAAAAAAAAAAAAA==', rxLen: 16 });
    const authorization = token ? `authorization: Bearer ${token}\r\n` : '';
    const health = Buffer.from(`GET /health HTTP/1.1\r\nhost: localhost:${port}\r\n\r\n`);
    const bench = Buffer.from(
      `POST /bench HTTP/1.1\r\nhost: localhost:${port}\r\n${authorization}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    const sockets = Array.from({ length: CONNECTIONS }, () => connect(port, '127.0.0.1').setNoDelay(true));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    return new Server(child, sockets, { bench, health });
  }

  /** CPU of the server in microseconds per request. */
  async measure(path: Path, requests: number): Promise<number> {
    const request = this.#requests[path];
    const before = processCpu(this.#child.pid!);
    await Promise.all(this.#sockets.map((socket) => this.#load(socket, request, requests / CONNECTIONS)));
    return (processCpu(this.#child.pid!) - before) / requests;
  }

  /** One request after another. An answer begins with its status line and comes in one piece. */
  #load(socket: Socket, request: Buffer, requests: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let sent = 1;
      const take = (chunk: Buffer): void => {
        if (chunk.toString('latin1', 0, 12) !== 'HTTP/1.1 200') reject(new Error(`answered ${chunk.toString()}`));
        if (sent === requests) {
          socket.off('data', take);
          resolve();
          return;
        }
        sent++;
        socket.write(request);
      };
      socket.on('data', take);
      socket.write(request);
    });
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#child.disconnect();
  }
}

async function run({ quick }: RunOptions): Promise<Record<string, Measured>> {
  const requests = quick ? 2_000 : 6_000;
  const rounds = quick ? 5 : 15;
  const measured: Record<string, Measured> = {};
  using ours = await Server.start('ours');
  for (const { name, kind, path } of PEERS) {
    using theirs = await Server.start(kind);
    for (let warmup = 0; warmup < 3; warmup++) {
      await ours.measure(path, requests);
      await theirs.measure(path, requests);
    }
    const pairs: { a: number; b: number }[] = [];
    for (let round = 0; round < rounds; round++) {
      if (round % 2 === 0) {
        const a = await ours.measure(path, requests);
        pairs.push({ a, b: await theirs.measure(path, requests) });
      } else {
        const b = await theirs.measure(path, requests);
        pairs.push({ a: await ours.measure(path, requests), b });
      }
    }
    measured[name] = {
      ...quartiles(pairs.map(({ a, b }) => a / b)),
      ours: microseconds(quartiles(pairs.map(({ a }) => a)).median),
      theirs: microseconds(quartiles(pairs.map(({ b }) => b)).median),
    };
  }
  return measured;
}

export const rows: readonly Row[] = [
  {
    id: 11,
    title:
      'REST server CPU per request: identity, capability, rate, validation, and GET /health; against bare fastify and express with the same schema',
    goals: [
      { name: 'fastify', goal: 1.3, floor: 1 },
      { name: 'fastify, GET /health', goal: 1.5, floor: 1 },
      { name: 'express', goal: 0.85 },
    ],
    run,
  },
];
