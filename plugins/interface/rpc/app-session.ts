/** One connection of an app: READY first, then requests, calls, notifications and streams both ways until one side hangs up. */
import type { Socket } from 'node:net';
import {
  type Caller,
  CoreError,
  type Logger,
  OwnTimeLimit,
  type Scope,
  type Session,
  settlesWithin,
  spentText,
  toCoreError,
} from '@device-core/plugin-api';
import type { AppCall, ReadyMessage } from '@device-core/plugin-api/inside/services/app-sockets';
import type { Operations } from '@device-core/plugin-api/services/operations';
import type { LoopShare } from '../shared/loop-share.ts';
import type { LoopTurns } from '../shared/loop-turns.ts';
import { AppCalls } from './app-calls.ts';
import { AppRequests } from './app-requests.ts';
import { notification } from './app-stream.ts';
import type { Counters } from './counters.ts';
import type { Deadlines } from './deadlines.ts';
import { FrameReader } from './frame-reader.ts';
import type { RpcConfig } from './limits.ts';
import type { MethodTable } from './method-table.ts';
import { Outgoing } from './outgoing.ts';
import { type Cut, cutAnswer, cutCall } from './raw-parts.ts';
import { SessionReading } from './session-reading.ts';
import { SessionSender, type SessionState } from './session-sender.ts';
import { SessionStreams } from './session-streams.ts';
import { wireError } from './wire-error.ts';

/** Members that all sessions share. */
export interface SessionWorld {
  readonly config: RpcConfig;
  readonly operations: Operations;
  readonly methods: MethodTable;
  readonly deadlines: Deadlines;
  readonly counters: Counters;
  readonly log: Logger;
  readonly turns: LoopTurns;
  /** Some session may be stalled, or its peer may have gone: they are to be checked. */
  readonly doubt: () => void;
}

/** How long a connection that we hung up may take to take its last bytes. */
const LAST_BYTES_MS = 1_000;

export class AppSession implements Session {
  readonly id: string;
  readonly app: string;
  readonly since = Date.now();
  readonly signal: AbortSignal;
  /** Resolves when the session is over. */
  readonly closed: Promise<void>;
  readonly #world: SessionWorld;
  readonly #socket: Socket;
  readonly #scope: Scope;
  readonly #controller = new AbortController();
  readonly #outgoing: Outgoing;
  readonly #sender: SessionSender;
  readonly #reading: SessionReading;
  readonly #reader: FrameReader;
  readonly #requests: AppRequests;
  readonly #calls: AppCalls;
  readonly #streams: SessionStreams;
  /** The app's part of the event loop. */
  readonly #share: LoopShare;
  readonly #ended: () => void;
  #state: SessionState = 'opening';
  /** The app has closed its side, and something that it sent before is not read yet. */
  #halfClosing = false;
  #held = 0;
  /** Since it reads nothing of what waits for it. */
  #stall: OwnTimeLimit | undefined;

  constructor(id: string, caller: Caller, socket: Socket, scope: Scope, world: SessionWorld) {
    this.id = id;
    this.app = caller.id;
    this.signal = this.#controller.signal;
    this.#socket = socket;
    this.#scope = scope;
    this.#world = world;
    this.#share = world.turns.share(caller.id);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    this.#ended = resolve;
    const { config, operations, methods, deadlines, counters } = world;
    const events = {
      room: () => this.#room(),
      full: world.doubt,
      overflow: (bytes: number) => this.#cut(`${bytes} bytes wait for it`),
    };
    this.#outgoing = new Outgoing(socket, events, config.outgoingBytes, config.outgoingMaxBytes);
    const state = () => this.#state;
    this.#sender = new SessionSender({
      app: this.app,
      signal: this.signal,
      outgoing: this.#outgoing,
      config,
      counters,
      state,
    });
    this.#calls = new AppCalls(
      {
        app: this.app,
        send: (message) => this.#send(message),
        call: (message) => this.#send(message, cutCall(message)),
      },
      deadlines,
      counters,
      config.calls,
    );
    const port = {
      send: (message: object) => this.#sender.sendInOrder(message),
      deliver: (json: string, attachment?: Uint8Array) => this.#sender.deliver(json, attachment),
    };
    const who = { session: this, caller };
    this.#streams = new SessionStreams({ port, who, operations, counters, deadlines, limits: config });
    const own = {
      direct: {
        'stream.write': this.#streams.write.bind(this.#streams),
        'stream.credit': this.#streams.credit.bind(this.#streams),
      },
      after: { 'stream.open': (result: unknown) => this.#streams.announce((result as { id: string }).id) },
    };
    this.#requests = new AppRequests({
      port: {
        ...who,
        answer: (response, handedOn) => this.#answer(response, handedOn),
        traceOf: (traceparent) => this.#calls.traceOf(traceparent),
        idle: () => this.#idle(),
      },
      operations,
      methods,
      counters,
      own,
      limits: config,
    });
    this.#reader = new FrameReader(
      {
        message: (value, attachment) => this.#message(value, attachment),
        malformed: (error) => this.#malformed(error),
        fatal: (error) => {
          this.#malformed(error);
          this.hangUp(`what it sent was refused: ${error.message}`);
        },
      },
      config,
    );
    this.#reading = new SessionReading({
      reader: this.#reader,
      socket,
      outgoing: this.#outgoing,
      share: this.#share,
      turns: world.turns,
      isClosed: () => this.#state === 'closed',
      readOn: () => {
        if (this.#halfClosing) this.#halfClosed();
      },
    });
    socket.on('error', (error) => this.#finish(error.message));
    socket.on('close', () => this.#finish('the app hung up'));
  }

  get streams(): SessionStreams {
    return this.#streams;
  }

  get usable(): boolean {
    return this.#state === 'open';
  }

  /** Says READY and begins to read. */
  start(ready: ReadyMessage): void {
    if (this.#state !== 'opening') return;
    this.#outgoing.send(this.#sender.encode(notification('READY', ready)));
    this.#state = 'open';
    this.#room();
    this.#socket.on('data', (chunk) => this.#reading.take(chunk));
    this.#socket.on('end', () => this.#halfClosed());
    this.#socket.resume();
  }

  notify(method: string, params: object): Promise<void> {
    try {
      return this.#sender.deliver(this.#sender.encode(notification(method, params)), undefined);
    } catch (thrown) {
      return Promise.reject(toCoreError(thrown, 'a notification'));
    }
  }

  call(call: AppCall): Promise<unknown> {
    return this.#calls.call(call);
  }

  /** Says `stop` and hangs up when the app did or the time is over. Resolves when the connection is closed. */
  async stop(reason: string, graceMs: number): Promise<void> {
    const { clock } = this.#scope;
    if (this.usable) this.#sender.sendInOrder(notification('stop', { reason, graceMs }));
    const gone = new Promise<void>((resolve) => this.#socket.once('close', () => resolve()));
    if (this.#state === 'open' || this.#state === 'draining') await settlesWithin(clock, graceMs, this.closed);
    this.#hangUp(reason);
    if (!this.#socket.closed) await settlesWithin(clock, 100, gone);
    this.#socket.destroy();
  }

  /** Closes after the sent bytes have gone out, at most a second later. */
  hangUp(reason: string): void {
    this.#hangUp(reason);
    if (!this.#socket.closed && !this.#scope.signal.aborted)
      this.#scope.timeout('last bytes', LAST_BYTES_MS, () => void this.#socket.destroy());
  }

  /**
   * Asked at regular intervals while there is a doubt: a peer that takes nothing for too long is cut, and one that went
   * away is noticed. False where there is nothing to look for.
   */
  checkStalled(): boolean {
    this.#probe();
    const { full, held } = this.#outgoing;
    const { stallMs } = this.#world.config;
    if (!full) this.#stall = undefined;
    else if (this.#stall === undefined || held < this.#held) this.#stall = new OwnTimeLimit(this.#scope.clock, stallMs);
    else if (this.#stall.leftMs === 0) this.#cut(`it did not read for ${spentText(stallMs, this.#stall.spent)}`);
    this.#held = held;
    return this.#state !== 'closed' && (full || this.#state === 'draining');
  }

  // ---- from the app ----

  #message(value: unknown, attachment: Buffer | undefined): void {
    if (this.#state === 'closed') return;
    this.#reading.count(Array.isArray(value) ? value.length : 1);
    if (!Array.isArray(value)) {
      if (this.#isAnswer(value)) this.#calls.settle(value as object);
      else this.#requests.handle(value, attachment);
      return;
    }
    const rest = value.filter((one) => !this.#isAnswer(one));
    if (rest.length === value.length) this.#requests.handle(value, attachment);
    else {
      for (const one of value) if (this.#isAnswer(one)) this.#calls.settle(one);
      if (rest.length > 0) this.#requests.handle(rest, attachment);
    }
  }

  #isAnswer(value: unknown): boolean {
    if (typeof value !== 'object' || value === null || 'method' in value) return false;
    const id = (value as { readonly id?: unknown }).id;
    return id !== undefined && ('result' in value || 'error' in value || this.#calls.expects(id));
  }

  #malformed(error: CoreError): void {
    this.#reading.count(1);
    if (error.details.limit !== undefined) this.#share.refused();
    this.#world.counters.malformed++;
    this.#answer({ jsonrpc: '2.0', id: null, error: wireError(error) });
  }

  /** The app sends no more; what it asked for is still answered. */
  #halfClosed(): void {
    if (this.#state === 'closed') return;
    // The end comes although the socket is paused, once it is empty: the reader still has the rest.
    this.#halfClosing = this.#reading.isPaused;
    if (this.#halfClosing) return;
    this.#reader.end();
    this.#state = 'draining';
    const reason = 'the app closed its side of the connection';
    this.#calls.close(reason);
    this.#streams.closeAll(new CoreError('SESSION_CLOSED', { app: this.app, reason }));
    this.#idle();
    this.#probe();
    this.#world.doubt();
  }

  /** A peer that closed its side may be gone altogether, which only a write tells: a blank in front of the next answer hurts nobody. */
  #probe(): void {
    if (this.#state === 'draining') this.#socket.write(' ');
  }

  #idle(): void {
    if (this.#state === 'draining' && this.#requests.size === 0) this.hangUp('the app hung up');
  }

  // ---- to the app ----

  #answer(response: object, handedOn = false): void {
    if (this.#state === 'closed') return;
    try {
      this.#sender.put(response, handedOn ? cutAnswer(response) : undefined);
    } catch (thrown) {
      this.#outgoing.send(JSON.stringify(failed(response, toCoreError(thrown, 'an answer'))));
    }
    this.#reading.pauseIfFull();
  }

  #send(message: object, parts?: Cut): void {
    if (this.#state === 'closed') throw this.signal.reason;
    this.#sender.put(message, parts);
  }

  #room(): void {
    this.#sender.flush();
    this.#reading.room();
  }

  // ---- the end ----

  #cut(reason: string): void {
    if (this.#state === 'closed') return;
    this.#world.counters.cut++;
    this.#world.log.warn({ app: this.app, session: this.id, reason }, 'session cut');
    this.#finish(reason);
    this.#socket.destroy();
  }

  #hangUp(reason: string): void {
    this.#outgoing.close();
    this.#finish(reason);
    this.#socket.destroySoon();
  }

  #finish(reason: string): void {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    const why = new CoreError('SESSION_CLOSED', { app: this.app, reason });
    this.#reader.stop();
    this.#controller.abort(why);
    this.#calls.close(reason);
    this.#streams.closeAll(why);
    this.#requests.abortAll(why);
    this.#sender.reject(why);
    this.#ended();
  }
}

/** The answer that says that the answer could not be sent. */
function failed(response: object, error: CoreError): object {
  const one = ({ id }: { readonly id?: unknown }) => ({ jsonrpc: '2.0', id: id ?? null, error: wireError(error) });
  return Array.isArray(response) ? response.map(one) : one(response);
}
