/** A process of its own that sends events to streams: through the product, or with one bare write of the same bytes a stream. */
import { createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { httpServer } from '@device-core/plugin-api/inside/services/http-server';
import { identity } from '@device-core/plugin-api/inside/services/identity';
import { operations } from '@device-core/plugin-api/services/operations';
import { startCore } from '../../fixtures/core.ts';

const TOPIC = 'app.com.example.bench.event.tick';
/** About 400 bytes as an event. */
const PAYLOAD = { sensor: 'environment', fill: 'x'.repeat(200), values: [1.5, 2.25, 3.125] };

interface Answer {
  readonly port: number;
  readonly token?: string;
}
/** Sends one event to every stream. */
let publish: () => void;

const SERVERS: Readonly<Record<string, () => Promise<Answer>>> = {
  async ours() {
    const core = await startCore({
      logLevel: 'warn',
      plugins: {
        operations: '^1.0.0',
        identity: '^1.0.0',
        system: '^1.0.0',
        limits: '^1.0.0',
        events: { version: '^1.0.0', config: { streams: 128 } },
        http: '^1.0.0',
      },
      config: { http: { port: 0 } },
    });
    const token = await core.service(identity).issue('com.example.bench');
    const table = core.service(operations);
    const caller = { kind: 'operator', id: 'operator' } as const; // without a limit on how often
    const signal = new AbortController().signal;
    publish = () =>
      void table.invoke('events.publish', { topic: TOPIC, payload: PAYLOAD }, { caller, signal, deadline: Infinity });
    const address = (await core.service(httpServer).addresses()).find((one) => one.startsWith('http:'));
    return { port: Number(new URL(address!).port), token };
  },
  async bare() {
    const sockets = new Set<Socket>();
    let seq = 0;
    publish = () => {
      const event = { topic: TOPIC, ts: Date.now(), seq: ++seq, source: 'app.com.example.bench', priority: 'normal' };
      const text = `id: ${seq}\ndata: ${JSON.stringify({ ...event, payload: PAYLOAD })}\n\n`;
      const bytes = Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`);
      for (const socket of sockets) socket.write(bytes);
    };
    const server = createServer((socket) => {
      socket.setNoDelay(true).once('data', () => {
        sockets.add(socket);
        socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return { port: (server.address() as { port: number }).port };
  },
};

process.send!(await SERVERS[process.argv[2]!]!());
process.on('message', async (events: number) => {
  for (let n = 0; n < events; n++) {
    publish();
    await pause(1); // one at a time, as events come
  }
});
process.once('disconnect', () => process.exit());
