/** The other ends of telemetry: an outbox in memory, and a collector on the loopback. */
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type {
  Destination,
  Outbox,
  OutboxQueue,
  Outgoing,
  Queued,
  QueueState,
  Sent,
} from '@device-core/plugin-api/inside/services/outbox';

type Send = (batch: readonly Queued[], signal: AbortSignal) => Promise<Sent>;

/** Keeps the contract of plugin-api/inside/services/outbox.ts, without a disk. What is `later` is tried again by `again()`. */
export class FakeOutbox implements Outbox {
  readonly queues = new Map<string, FakeQueue>();

  async open(destination: Destination, send: Send): Promise<OutboxQueue> {
    const queue = this.queues.get(destination.id) ?? new FakeQueue(destination);
    this.queues.set(destination.id, queue);
    return queue.open(destination, send);
  }

  /** Open ones alone, as the real one does. */
  async list(): Promise<readonly QueueState[]> {
    return [...this.queues.values()].filter(({ isOpen }) => isOpen).map((queue) => queue.current);
  }

  queue(id: string): FakeQueue {
    const queue = this.queues.get(id);
    if (!queue) throw new Error(`there is no queue ${id}`);
    return queue;
  }
}

class FakeQueue implements OutboxQueue {
  #destination: Destination;
  #send: Send | undefined;
  #waiting: Queued[] = [];
  #abort = new AbortController();
  #working: Promise<void> = Promise.resolve();
  #next = 1;
  readonly outcomes: Sent[] = [];
  sent = 0;
  lost = 0;
  opened = 0;
  /** Of clear(). */
  failure: Error | undefined;

  constructor(destination: Destination) {
    this.#destination = destination;
  }

  open(destination: Destination, send: Send): OutboxQueue {
    if (destination.to !== this.#destination.to) this.#waiting = [];
    this.#destination = destination;
    this.#send = send;
    this.#abort = new AbortController();
    this.opened++;
    this.again();
    return {
      put: (message) => this.put(message),
      putAll: (messages) => this.putAll(messages),
      clear: () => this.clear(),
      state: () => this.state(),
      [Symbol.asyncDispose]: async () => {
        this.#abort.abort();
        this.#send = undefined;
        await this.#working;
      },
    };
  }

  get waiting(): readonly Queued[] {
    return this.#waiting;
  }

  get isOpen(): boolean {
    return this.#send !== undefined;
  }

  async put(message: Outgoing): Promise<string> {
    const [id] = await this.putAll([message]);
    return id!;
  }

  async putAll(messages: readonly Outgoing[]): Promise<readonly string[]> {
    const queued = messages.map((message) => ({ ...message, id: String(this.#next++), at: 0 }));
    const keys = new Set(queued.map(({ key }) => key));
    this.#waiting = [...this.#waiting.filter(({ key }) => key === undefined || !keys.has(key)), ...queued];
    this.again();
    return queued.map(({ id }) => id);
  }

  /** Puts what a real one puts in the place of what it dropped. */
  lose(body: object): void {
    this.#waiting.push({ priority: 'normal', what: 'loss', body: JSON.stringify(body), id: 'loss', at: 0 });
    this.again();
  }

  again(): void {
    this.#working = this.#working.then(() => this.#drain());
  }

  async clear(): Promise<number> {
    if (this.failure) throw this.failure;
    const count = this.#waiting.length;
    this.#waiting = [];
    return count;
  }

  get current(): QueueState {
    const { id, to } = this.#destination;
    return { id, to, waiting: this.#waiting.length, bytes: 0, sent: this.sent, lost: this.lost };
  }

  async state(): Promise<QueueState> {
    return this.current;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#send = undefined;
  }

  async #drain(): Promise<void> {
    for (let first = this.#waiting[0]; first && this.#send; first = this.#waiting[0]) {
      const sent = await this.#send([first], this.#abort.signal).catch(
        (error): Sent => ({ outcome: 'later', reason: String(error) }),
      );
      this.outcomes.push(sent);
      if (sent.outcome === 'later') return;
      this.#waiting = this.#waiting.filter((one) => one !== first);
      if (sent.outcome === 'taken') this.sent++;
      else this.lost++;
    }
  }
}

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Takes everything until it is told otherwise. */
export class Collector implements AsyncDisposable {
  readonly received: Received[] = [];
  answer: (response: ServerResponse) => void = (response) => response.end('{}');
  readonly #server = createServer(async (request, response) => {
    let body = '';
    for await (const piece of request.setEncoding('utf8')) body += piece;
    this.received.push({ path: request.url ?? '', headers: request.headers, body });
    this.answer(response);
  });

  static async start(): Promise<Collector> {
    const collector = new Collector();
    await once(collector.#server.listen(0, '127.0.0.1'), 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  of(path: string): readonly string[] {
    return this.received.filter((one) => one.path === path).map(({ body }) => body);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}
