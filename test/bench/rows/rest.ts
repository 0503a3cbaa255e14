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

/** What the plugin `traces` may be. */
const TRACES = ['absent', 'quiet', 'all'] as const;

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

  /** Of ours: changes its SKU, and resolves when it follows with the microseconds of a call in it. */
  async traces(mode: (typeof TRACES)[number]): Promise<number> {
    this.#child.send(mode);
    const [{ traces, us }] = (await once(this.#child, 'message')) as [{ traces: string; us: number }];
    if ((traces === 'active') === (mode === 'absent')) throw new Error(`traces are ${traces}, not ${mode}`);
    return us;
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

/** Short ones, of which the lowest quarter counts: what else the machine does makes some of them dearer, and none cheaper. */
const BLOCK = 252;

/** In each round all of them take turns in one Core, there and back again, in another order; what drifts is common to them. */
async function traced({ quick }: RunOptions): Promise<Record<string, Measured>> {
  const [blocks, rounds] = quick ? [12, 12] : [16, 40];
  using ours = await Server.start('ours');
  type Costs = Readonly<Record<(typeof TRACES)[number], number>>;
  const requests: Costs[] = [];
  const calls: Costs[] = [];
  for (let round = -2; round < rounds; round++) {
    const costs = { absent: [] as number[], quiet: [] as number[], all: [] as number[] };
    const own = { absent: [] as number[], quiet: [] as number[], all: [] as number[] };
    const order = [...TRACES.slice(Math.abs(round) % 3), ...TRACES.slice(0, Math.abs(round) % 3)];
    for (const mode of [...order, ...order.toReversed()]) {
      own[mode].push(await ours.traces(mode));
      await ours.measure('bench', 2 * BLOCK);
      for (let block = 0; block < blocks; block++) costs[mode].push(await ours.measure('bench', BLOCK));
    }
    if (round < 0) continue;
    const low = (of: typeof own, mode: keyof Costs) => quartiles(of[mode]).q1;
    requests.push({ absent: low(costs, 'absent'), quiet: low(costs, 'quiet'), all: low(costs, 'all') });
    calls.push({ absent: low(own, 'absent'), quiet: low(own, 'quiet'), all: low(own, 'all') });
  }
  const measured = (of: readonly Costs[], mode: keyof Costs, than: (ours: number, theirs: number) => number) => ({
    ...quartiles(of.map((one) => than(one[mode], one.absent))),
    ours: microseconds(quartiles(of.map((one) => one[mode])).median),
    theirs: microseconds(quartiles(of.map((one) => one.absent)).median),
  });
  const ratio = (ours: number, theirs: number) => ours / theirs;
  const more = (ours: number, theirs: number) => ours - theirs;
  return {
    'nothing is kept': measured(requests, 'quiet', ratio),
    'every call is kept': measured(requests, 'all', ratio),
    'a call, nothing is kept': measured(calls, 'quiet', more),
    'a call, all are kept': measured(calls, 'all', more),
  };
}

export const rows: readonly Row[] = [
  {
    id: 118,
    title:
      'REST server CPU per request with the plugin traces, against the same Core without it; and what a call takes more',
    goals: [
      { name: 'nothing is kept', goal: 1.03, floor: 1 },
      { name: 'every call is kept', goal: 2, floor: 1 },
      // Of a request, that is below one percent.
      { name: 'a call, nothing is kept', goal: 0.2, unit: 'us' },
      { name: 'a call, all are kept', goal: 20, unit: 'us' },
    ],
    run: traced,
  },
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
