/** Row 11: what one REST request costs the server, through the whole product, against frameworks that only validate. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type Measured, microseconds, processCpu, quartiles, type Row, type RunOptions } from '../harness.ts';

const CONNECTIONS = 4;
const PEERS = ['fastify', 'express'] as const;

class Server implements Disposable {
  readonly #child: ChildProcess;
  readonly #sockets: readonly Socket[];
  readonly #request: Buffer;
  readonly #answerBytes: number;

  constructor(child: ChildProcess, sockets: readonly Socket[], request: Buffer, answerBytes: number) {
    this.#child = child;
    this.#sockets = sockets;
    this.#request = request;
    this.#answerBytes = answerBytes;
  }

  static async start(kind: string): Promise<Server> {
    const child = fork(join(import.meta.dirname, '../workloads/rest-server.ts'), [kind]);
    const [{ port, token }] = (await once(child, 'message')) as [{ port: number; token?: string }];
    const body = JSON.stringify({ handle: 'flash', tx: 'nwAAAAAAAAAAAAAAAAAAAA==', rxLen: 16 });
    const authorization = token ? `authorization: Bearer ${token}\r\n` : '';
    const request = Buffer.from(
      `POST /bench HTTP/1.1\r\nhost: localhost:${port}\r\n${authorization}content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    const sockets = Array.from({ length: CONNECTIONS }, () => connect(port, '127.0.0.1').setNoDelay(true));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    // Answers of one server all have the same length, so that the load can count bytes instead of parsing.
    sockets[0]!.write(request);
    const [answer] = (await once(sockets[0]!, 'data')) as [Buffer];
    if (!answer.toString().startsWith('HTTP/1.1 200')) throw new Error(`${kind} answered ${answer.toString()}`);
    return new Server(child, sockets, request, answer.length);
  }

  /** CPU of the server in microseconds per request. */
  async measure(requests: number): Promise<number> {
    const before = processCpu(this.#child.pid!);
    await Promise.all(this.#sockets.map((socket) => this.#load(socket, requests / CONNECTIONS)));
    return (processCpu(this.#child.pid!) - before) / requests;
  }

  #load(socket: Socket, requests: number): Promise<void> {
    return new Promise((resolve) => {
      let sent = 1;
      let bytes = 0;
      const take = (chunk: Buffer): void => {
        bytes += chunk.length;
        if (bytes < sent * this.#answerBytes) return;
        if (sent === requests) {
          socket.off('data', take);
          resolve();
          return;
        }
        sent++;
        socket.write(this.#request);
      };
      socket.on('data', take);
      socket.write(this.#request);
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
  for (const name of PEERS) {
    using theirs = await Server.start(name);
    for (let warmup = 0; warmup < 3; warmup++) {
      await ours.measure(requests);
      await theirs.measure(requests);
    }
    const pairs: { a: number; b: number }[] = [];
    for (let round = 0; round < rounds; round++) {
      if (round % 2 === 0) {
        const a = await ours.measure(requests);
        pairs.push({ a, b: await theirs.measure(requests) });
      } else {
        const b = await theirs.measure(requests);
        pairs.push({ a: await ours.measure(requests), b });
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
      'REST server CPU per request: identity, capability, rate, validation; against bare fastify and express with the same schema',
    goals: [
      { name: 'fastify', goal: 1.35, floor: 1 },
      { name: 'express', goal: 0.85 },
    ],
    run,
  },
];
