/**
 * One socket a tab for all that is live. The page opens operations that stream and streams of the table, each under a
 * number of its own, and gives credit; nothing is read for which it has given none. The page is a client like any
 * other: the gate decides.
 *
 * Page: `{"open": 1, "operation": "events.stream", "params": {...}, "credit": 32}`,
 * `{"open": 2, "stream": "display.frames", ...}`, `{"credit": 16, "of": 1}`, `{"send": 2, "data": "<base64>"}`,
 * `{"close": 1}`. Core: `{"opened": 2}`, `{"of": 1, "event"?, "id"?, "data"}`, `{"lost": 2, "chunks", "bytes"}` (what
 * the page sent and nobody read in time, since it was told last),
 * `{"closed": 1, "error"?: {"code", "message", "data"}}`; chunks of a stream are binary: the number as 4 bytes, big
 * endian, and the bytes.
 */
import { type Clock, CoreError, maybe, toCoreError } from '@device-core/plugin-api';
import type { PageSocket } from '@device-core/plugin-api/inside/services/http-server';
import type { Operations, ServerSentEvent, StreamChannel } from '@device-core/plugin-api/services/operations';
import { Inbox, type Loss } from './inbox.ts';

/** A page that asks for more at once is given less. */
const MOST_CREDIT = 256;
/** A stream lives as long as the page wants it; the gate wants a deadline. */
const FOREVER_MS = 365 * 86_400_000;

interface Message {
  readonly open?: number;
  readonly operation?: string;
  readonly stream?: string;
  readonly params?: object;
  readonly credit?: number;
  readonly of?: number;
  readonly send?: number;
  readonly data?: string;
  readonly close?: number;
}

/** Items that the page still accepts; senders wait in turn. */
class Credit {
  #left = 0;
  readonly #waiting: (() => void)[] = [];

  constructor(signal: AbortSignal) {
    signal.addEventListener('abort', () => this.#wake(this.#waiting.length), { once: true });
  }

  add(count: number): void {
    this.#left = Math.min(MOST_CREDIT, this.#left + count);
    this.#wake(this.#left);
  }

  /** Resolves when there is one, and takes it. */
  async take(signal: AbortSignal): Promise<void> {
    while (this.#left === 0) {
      signal.throwIfAborted();
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      await promise;
    }
    this.#left -= 1;
  }

  #wake(count: number): void {
    for (const resolve of this.#waiting.splice(0, count)) resolve();
  }
}

interface Open {
  readonly credit: Credit;
  readonly over: AbortController;
  /** Chunks of the page, for a stream that it writes. */
  readonly inbox?: Inbox;
}

export interface LivePageOptions {
  readonly operations: Operations;
  readonly clock: Clock;
  /** Streams that one page may have open. */
  readonly most: number;
  readonly alive: () => Promise<void>;
  /** Counts what a page wrote and nobody read in time. */
  readonly lost: (loss: Loss) => void;
}

export class LivePage {
  readonly #socket: PageSocket;
  readonly #operations: Operations;
  readonly #clock: Clock;
  readonly #most: number;
  readonly #alive: () => Promise<void>;
  readonly #lost: (loss: Loss) => void;
  readonly #open = new Map<number, Open>();
  /** Words to the page that its socket has not taken yet. */
  #saying: Promise<void> = Promise.resolve();

  /** `alive` rejects when its session has ended; asked for each message, which is a use of it. */
  constructor(socket: PageSocket, { operations, clock, most, alive, lost }: LivePageOptions) {
    this.#socket = socket;
    this.#operations = operations;
    this.#clock = clock;
    this.#most = most;
    this.#alive = alive;
    this.#lost = lost;
  }

  async run(): Promise<void> {
    try {
      for await (const text of this.#socket.incoming) {
        await this.#alive();
        this.#take(read(text));
        // A page that does not read its answers is not read either.
        await this.#saying;
      }
    } finally {
      for (const { over } of this.#open.values()) over.abort(gone());
    }
  }

  #take(message: Message): void {
    if (message.open !== undefined) {
      this.#begin(message.open, message);
      return;
    }
    const of = message.of ?? message.send ?? message.close;
    const there = of === undefined ? undefined : this.#open.get(of);
    // It may have ended while the message was on its way.
    if (there === undefined) return;
    if (message.close !== undefined) there.over.abort(gone());
    else if (message.send !== undefined) there.inbox?.add(Buffer.from(message.data ?? '', 'base64'));
    else there.credit.add(message.credit ?? 0);
  }

  #begin(id: number, message: Message): void {
    if (this.#open.has(id)) throw new CoreError('REQUEST_INVALID', { reason: `${id} is open already` });
    if (this.#open.size >= this.#most) {
      const busy = new CoreError('BUSY', { what: 'a stream of a page', limit: `${this.#most} of one tab` });
      this.#tell({ closed: id, error: bodyOf(busy) });
      return;
    }
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, this.#socket.signal]);
    const credit = new Credit(signal);
    credit.add(message.credit ?? 0);
    const inbox = message.stream === undefined ? undefined : new Inbox(this.#clock, (loss) => this.#told(id, loss));
    this.#open.set(id, { credit, over, ...maybe({ inbox }) });
    const work = inbox ? this.#stream(id, message, credit, signal, inbox) : this.#events(id, message, credit, signal);
    work.then(
      () => this.#end(id),
      (thrown: unknown) => this.#end(id, over.signal.aborted ? undefined : thrown),
    );
  }

  async #events(
    id: number,
    { operation = '', params = {} }: Message,
    credit: Credit,
    signal: AbortSignal,
  ): Promise<void> {
    // Others are for REST: what it refuses, and a body that is a file, must not be passed by here.
    const there = (await this.#operations.list()).find(({ name }) => name === operation);
    if (there !== undefined && there.rest?.sse !== true)
      throw new CoreError('REQUEST_INVALID', { reason: `${operation} is no stream: ask for it by fetch` });
    const items = (await this.#operations.invoke(operation, params, this.#call(signal))) as AsyncIterable<object>;
    await this.#say({ opened: id });
    for await (const item of items) {
      await credit.take(signal);
      const { event, id: seq, data } = item as ServerSentEvent;
      await this.#say({ ...maybe({ event, id: seq }), data, of: id });
    }
  }

  async #stream(
    id: number,
    { stream = '', params = {} }: Message,
    credit: Credit,
    signal: AbortSignal,
    inbox: Inbox,
  ): Promise<void> {
    const number = Buffer.alloc(4);
    number.writeUInt32BE(id);
    const channel: StreamChannel = {
      id: String(id),
      signal,
      incoming: inbox.queue,
      send: async (chunk) => {
        await credit.take(signal);
        await this.#socket.send(Buffer.concat([number, chunk]));
      },
    };
    signal.addEventListener('abort', () => inbox.end(), { once: true });
    const { done } = await this.#operations.openStream(stream, params, channel, this.#call(signal));
    await this.#say({ opened: id });
    await done;
  }

  #call(signal: AbortSignal) {
    return { caller: this.#socket.caller, signal, deadline: this.#clock.steady() + FOREVER_MS };
  }

  #end(id: number, thrown?: unknown): void {
    this.#open.get(id)?.over.abort(gone());
    this.#open.delete(id);
    const error = thrown === undefined ? {} : { error: bodyOf(toCoreError(thrown, 'a page')) };
    this.#tell({ closed: id, ...error });
  }

  #told(id: number, loss: Loss): void {
    this.#lost(loss);
    this.#tell({ lost: id, ...loss });
  }

  /** Failures are ignored: a socket that is gone needs no message. */
  #tell(message: object): void {
    this.#saying = this.#say(message).catch(() => undefined);
  }

  #say(message: object): Promise<void> {
    return this.#socket.send(JSON.stringify(message));
  }
}

const bodyOf = ({ code, message, details }: CoreError) => ({ code, message, data: details });

const gone = (): CoreError => new CoreError('CANCELLED', { what: 'a stream of a page', reason: 'the page closed it' });

/** Throws REQUEST_INVALID. */
function read(text: string): Message {
  let message: unknown;
  try {
    message = JSON.parse(text);
  } catch {
    throw new CoreError('REQUEST_INVALID', { reason: 'a message of the page is no JSON' });
  }
  const { open, of, send, close, credit, operation, stream, params, data } = Object(message) as Message;
  const numbers = [open, of, send, close, credit].filter((one) => one !== undefined);
  if (numbers.length === 0 || !numbers.every((one) => Number.isInteger(one) && one >= 0 && one < 2 ** 31))
    throw new CoreError('REQUEST_INVALID', { reason: 'a message of the page names no stream' });
  // An object with a length would be made a buffer of that length.
  for (const one of [operation, stream, data])
    if (one !== undefined && typeof one !== 'string')
      throw new CoreError('REQUEST_INVALID', { reason: 'a member of a message of the page is no text' });
  if (params !== undefined && (typeof params !== 'object' || params === null || Array.isArray(params)))
    throw new CoreError('REQUEST_INVALID', { reason: 'params of a message of the page are no object' });
  return message as Message;
}
