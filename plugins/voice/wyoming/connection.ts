/** Events over one socket, with a bound on what waits on either side and deadlines on every wait. */
import { connect, type Socket } from 'node:net';
import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';
import { type Address, connectOptions } from './address.ts';
import { type EventLimits, EventReader, encodeEvent, type WyomingEvent } from './codec.ts';

export interface ConnectionSettings {
  readonly limits: EventLimits;
  /** Milliseconds that the peer may leave what it is sent unread. */
  readonly stallMs: number;
}

/** Events that wait to be handled before the socket is not read any more. */
const MOST_WAITING = 64;
/** Bytes that wait in the socket before a sender waits: two seconds of a microphone. */
const MOST_BUFFERED = 64 * 1024;
const LAST_WORDS_MS = 500;

export class Connection implements AsyncDisposable {
  readonly #socket: Socket;
  readonly #name: string;
  readonly #scope: Scope & AsyncDisposable;
  readonly #settings: ConnectionSettings;
  readonly #waiting: WyomingEvent[] = [];
  readonly #over = new AbortController();
  #wake = Promise.withResolvers<void>();
  #drained: PromiseWithResolvers<void> | undefined;
  #ended = false;
  /** Why nothing more can be read, and why nothing can be done at all. */
  #unreadable: Error | undefined;
  #error: Error | undefined;
  #expected: Disposable | undefined;

  /** Takes a connected socket. `name` is the peer's, for messages. */
  constructor(socket: Socket, name: string, scope: Scope, settings: ConnectionSettings) {
    this.#socket = socket;
    this.#name = name;
    this.#settings = settings;
    this.#scope = scope.child(`connection with ${name}`);
    this.#scope.defer('socket', () => void socket.destroy());
    this.#scope.signal.addEventListener('abort', () => this.fail('the plugin stops'), { once: true });
    socket.setNoDelay(true);
    const reader = new EventReader(settings.limits);
    socket.on('data', (chunk) => this.#read(reader, chunk));
    socket.on('end', () => {
      if (reader.within) this.fail('it ended within an event');
      else if (socket.allowHalfOpen) this.#heardAll();
      else this.#end();
    });
    socket.on('error', (error: NodeJS.ErrnoException) => this.fail(error.code ?? 'the connection broke'));
    socket.on('close', () => this.#end());
    socket.on('drain', () => this.#flow());
  }

  /** Rejects with UNAVAILABLE, and with the reason of the signal. */
  static async open(
    address: Address,
    scope: Scope,
    settings: ConnectionSettings & { readonly connectMs: number },
    signal: AbortSignal,
  ): Promise<Connection> {
    signal.throwIfAborted();
    scope.signal.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const unreachable = (reason: string) => new CoreError('UNAVAILABLE', { what: address.uri, reason });
    const socket = connect(connectOptions(address));
    const failed = (error: NodeJS.ErrnoException) => reject(unreachable(error.code ?? reasonOf(error)));
    const aborted = () => reject(signal.reason);
    const stopped = () => reject(scope.signal.reason);
    socket.once('connect', resolve);
    socket.once('error', failed);
    signal.addEventListener('abort', aborted, { once: true });
    scope.signal.addEventListener('abort', stopped, { once: true });
    const { connectMs } = settings;
    try {
      using _limit = scope.timeout(`connection to ${address.uri}`, connectMs, () =>
        reject(unreachable(`it took no connection for ${connectMs} ms`)),
      );
      await promise;
      return new Connection(socket, address.uri, scope, settings);
    } catch (error) {
      socket.on('error', () => undefined); // it is given up, for the reason that is told
      socket.destroy();
      throw error;
    } finally {
      socket.off('error', failed);
      signal.removeEventListener('abort', aborted);
      scope.signal.removeEventListener('abort', stopped);
    }
  }

  /** Aborted when nothing more can be sent or will be received. Its reason is the error that every wait is told. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Resolves when the next may follow. Rejects with UNAVAILABLE where the connection is over. */
  async send(type: string, data?: object, payload?: Uint8Array): Promise<void> {
    if (this.#error) throw this.#error;
    if (!this.#socket.writable) throw this.#unavailable('it hung up');
    this.#socket.write(encodeEvent(type, data, payload));
    if (this.#socket.writableLength < MOST_BUFFERED) return;
    const { stallMs } = this.#settings;
    using _limit = this.#scope.timeout('a slow reader', stallMs, () => this.fail(`it read nothing for ${stallMs} ms`));
    this.#drained ??= Promise.withResolvers();
    await this.#drained.promise;
    if (this.#error) throw this.#error;
  }

  /** Undefined at the end. Rejects with REQUEST_INVALID, BODY_TOO_LARGE, UNAVAILABLE. */
  async next(): Promise<WyomingEvent | undefined> {
    for (;;) {
      const event = this.#waiting.shift();
      if (event) {
        if (this.#waiting.length < MOST_WAITING / 2) this.#socket.resume();
        return event;
      }
      const error = this.#error ?? this.#unreadable;
      if (error) throw error;
      if (this.#ended) return undefined;
      this.#wake = Promise.withResolvers();
      await this.#wake.promise;
    }
  }

  /** From now on next() rejects after `ms` unless this is called again, or ended, before. One such wait at a time. */
  expect(what: string, ms: number): void {
    this.#expected?.[Symbol.dispose]();
    if (this.#ended || this.#scope.signal.aborted) return;
    const late = () => this.refuse(this.#unavailable(`${what} did not come within ${ms} ms`));
    this.#expected = this.#scope.timeout(what, ms, late);
  }

  /** Nothing is expected any more. */
  calm(): void {
    this.#expected?.[Symbol.dispose]();
    this.#expected = undefined;
  }

  /** Nothing more is read: when what waits is handled, next() rejects with this. */
  refuse(error: Error): void {
    this.#unreadable ??= error;
    this.#wake.resolve();
  }

  /** Calls `late` after `ms` unless it is disposed of before, or the connection is. */
  limit(what: string, ms: number, late: () => void): Disposable {
    return this.#scope.timeout(what, ms, late);
  }

  /** `within()` of its scope. */
  within: Scope['within'] = (label, ms, work, options) => this.#scope.within(label, ms, work, options);

  /** Cuts the connection; who waits for it learns the reason. */
  fail(reason: string | Error): void {
    if (this.signal.aborted) return;
    this.#error = typeof reason === 'string' ? this.#unavailable(reason) : reason;
    this.#socket.destroy();
    this.#end();
  }

  /** Ends after the sent bytes arrive, if the peer takes them soon. Nothing more is read. */
  async hangUp(): Promise<void> {
    if (this.#socket.destroyed) return;
    this.#unreadable ??= this.#unavailable('it was told that it is over');
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#socket.once('close', resolve);
    const { stallMs } = this.#settings;
    // A peer that has ended its own side waits for nothing but these.
    const ms = this.#ended ? stallMs : Math.min(stallMs, LAST_WORDS_MS);
    using _limit = this.#scope.timeout('the last words', ms, resolve);
    // Unread bytes would make the end a reset, which may overtake the last words.
    this.#socket.resume();
    this.#socket.end();
    await promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.fail('it is over');
    await this.#scope[Symbol.asyncDispose]();
  }

  #read(reader: EventReader, chunk: Buffer): void {
    if (this.#unreadable || this.signal.aborted) return;
    try {
      for (const event of reader.push(chunk)) this.#waiting.push(event);
    } catch (error) {
      // Earlier events are still handled.
      this.refuse(error instanceof Error ? error : this.#unavailable(reasonOf(error)));
    }
    if (this.#waiting.length >= MOST_WAITING) this.#socket.pause();
    this.#wake.resolve();
  }

  #flow(): void {
    this.#drained?.resolve();
    this.#drained = undefined;
  }

  /** Nothing more comes, but the peer may still listen. */
  #heardAll(): void {
    this.#ended = true;
    this.calm();
    this.#wake.resolve();
  }

  #end(): void {
    this.#ended = true;
    this.calm();
    this.#wake.resolve();
    this.#flow();
    if (!this.signal.aborted) this.#over.abort(this.#error ?? this.#unavailable('it hung up'));
  }

  #unavailable(reason: string): CoreError {
    return new CoreError('UNAVAILABLE', { what: this.#name, reason });
  }
}
