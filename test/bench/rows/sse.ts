/** Row 38: what an event costs on each stream of server-sent events that it goes to, against one bare write to a socket. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { type Measured, microseconds, processCpu, quartiles, type Row, type RunOptions } from '../harness.ts';

const STREAMS = 100;
const EVENT_END = '\n\n\r\n';

class Server implements Disposable {
  readonly #child: ChildProcess;
  readonly #sockets: readonly Socket[];
  #received = 0;
  #wanted = 0;
  #reached: () => void = () => undefined;

  private constructor(child: ChildProcess, sockets: readonly Socket[]) {
    this.#child = child;
    this.#sockets = sockets;
    for (const socket of sockets)
      socket.on('data', (text: string) => {
        for (let at = text.indexOf(EVENT_END); at >= 0; at = text.indexOf(EVENT_END, at + 1)) this.#received++;
        if (this.#received >= this.#wanted) this.#reached();
      });
  }

  static async start(kind: string): Promise<Server> {
    const child = fork(join(import.meta.dirname, '../workloads/sse-server.ts'), [kind]);
    const [{ port, token = '' }] = (await once(child, 'message')) as [{ port: number; token?: string }];
    const request = `GET /events?filter=app.com.example.bench.event.tick HTTP/1.1\r\nhost: localhost:${port}\r\nauthorization: Bearer ${token}\r\n\r\n`;
    const open = async (): Promise<Socket> => {
      const socket = connect(port, '127.0.0.1').setEncoding('latin1');
      socket.write(request);
      const [head] = (await once(socket, 'data')) as [string];
      if (!head.startsWith('HTTP/1.1 200')) throw new Error(`${kind} answered ${head}`);
      return socket;
    };
    return new Server(child, await Promise.all(Array.from({ length: STREAMS }, open)));
  }

  /** CPU of the server in microseconds per event and stream. */
  async measure(events: number): Promise<number> {
    const before = processCpu(this.#child.pid!);
    this.#wanted = this.#received + events * STREAMS;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#reached = resolve;
    this.#child.send(events);
    await promise;
    return (processCpu(this.#child.pid!) - before) / (events * STREAMS);
  }

  [Symbol.dispose](): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#child.disconnect();
  }
}

async function run({ quick }: RunOptions): Promise<Record<string, Measured>> {
  const events = quick ? 100 : 300;
  const rounds = quick ? 5 : 15;
  using ours = await Server.start('ours');
  using bare = await Server.start('bare');
  for (let warmup = 0; warmup < 3; warmup++) {
    await ours.measure(events);
    await bare.measure(events);
  }
  const pairs: { a: number; b: number }[] = [];
  for (let round = 0; round < rounds; round++) {
    const first = await (round % 2 === 0 ? ours : bare).measure(events);
    const second = await (round % 2 === 0 ? bare : ours).measure(events);
    pairs.push(round % 2 === 0 ? { a: first, b: second } : { a: second, b: first });
  }
  return {
    'socket write': {
      ...quartiles(pairs.map(({ a, b }) => a / b)),
      ours: microseconds(quartiles(pairs.map(({ a }) => a)).median),
      theirs: microseconds(quartiles(pairs.map(({ b }) => b)).median),
    },
  };
}

export const rows: readonly Row[] = [
  {
    id: 38,
    title: `server-sent events to ${STREAMS} streams: server CPU per event and stream, against one bare socket write`,
    goals: [{ name: 'socket write', goal: 1.5, floor: 1 }],
    run,
  },
];
