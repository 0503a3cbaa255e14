/** An app's view of the Core. Made by connectApp(); survives the end of its connection. */

import type { CallMeta, ReadyMessage } from '../contract/app-messages.ts';
import type { EventEnvelope, Priority } from '../contract/events.ts';
import { matchesTopic } from '../contract/topics.ts';
import type { ConfigEntry } from '../services/config.ts';
import type { FunctionEntry } from '../services/functions.ts';
import type { ClientStream } from './client-stream.ts';
import type { AppEnvironment } from './environment.ts';
import { type RestInit, type RestResponse, rest } from './rest.ts';
import { sessionClosed } from './rpc-error.ts';
import { type CallOptions, ClientSession } from './session.ts';

export interface FunctionCallInfo {
  readonly meta: CallMeta;
  /** Aborted when no caller waits for the answer any more. */
  readonly signal: AbortSignal;
}

export type FunctionHandler<I extends object, R extends object> = (inputs: I, call: FunctionCallInfo) => R | Promise<R>;
export type ConfigChangeNotice = Pick<ConfigEntry, 'key' | 'value' | 'source' | 'revision'>;

const FIRST_DELAY_MS = 100;
const MAX_DELAY_MS = 5_000;
/** A function of app.yaml may be called before the program has come to provide it. */
const BEGINNING_MS = 1_000;

interface Provided {
  /** Absent: the function stands in app.yaml, and the Core has registered it. */
  readonly entry?: FunctionEntry;
  readonly handler: FunctionHandler<never, object>;
}

export class App {
  readonly environment: AppEnvironment;
  /** Resolves when the app was told to stop, or closed itself; from then on it does not connect again. */
  readonly stopped: Promise<string>;
  readonly events = {
    /** Every event that matches one of the filters, from now on and after each new connection. Resolves when the Core has accepted them. */
    subscribe: (filters: string | readonly string[], handler: (event: EventEnvelope) => void): Promise<Disposable> =>
      this.#subscribe([filters].flat(), handler),
    publish: (topic: string, payload: object, priority?: Priority): Promise<unknown> =>
      this.call('events.publish', priority === undefined ? { topic, payload } : { topic, payload, priority }),
  };
  readonly config = {
    get: async <T = unknown>(key: string): Promise<T> => (await this.call<{ value: T }>('config.get', { key })).value,
    /** `null` unsets. */
    set: (key: string, value: unknown, ifRevision?: number): Promise<ConfigEntry> =>
      this.call('config.set', ifRevision === undefined ? { key, value } : { key, value, ifRevision }),
    onChange: (handler: (change: ConfigChangeNotice) => void): Disposable =>
      this.on('config.changed', handler as never),
  };
  readonly health = {
    /** `okay`, `waiting`, `blocked` or `error`; shown in /health until the next report. */
    report: (status: 'okay' | 'waiting' | 'blocked' | 'error', message?: string): Promise<unknown> =>
      this.call('health.report', message === undefined ? { status } : { status, message }),
  };
  readonly #functions = new Map<string, Provided>();
  /** Calls that came before their function was provided. */
  readonly #early = new Map<string, PromiseWithResolvers<void>>();
  #begun: number | undefined;
  readonly #filters = new Map<string, number>();
  readonly #listeners = new Map<string, Set<(params: never) => void>>();
  readonly #stop: (reason: string) => void;
  #session: ClientSession | undefined;
  #ready = Promise.withResolvers<ReadyMessage>();
  #wasReady = false;
  #delay = FIRST_DELAY_MS;
  #timer: NodeJS.Timeout | undefined;
  #over: string | undefined;

  constructor(environment: AppEnvironment) {
    this.environment = environment;
    const { promise, resolve } = Promise.withResolvers<string>();
    this.stopped = promise;
    this.#stop = resolve;
    this.#ready.promise.catch(() => undefined); // who waits for it is told
    this.#connect();
  }

  /** READY of the connection that is there, or of the next one. Rejects with SESSION_CLOSED when the app has stopped. */
  get ready(): Promise<ReadyMessage> {
    return this.#ready.promise;
  }

  /** Any operation by its name. Waits for READY. Rejects with RpcError. */
  async call<R = unknown>(method: string, params: object = {}, options?: CallOptions): Promise<R> {
    await this.ready;
    return (await this.#session!.call(method, params, options)) as R;
  }

  /**
   * Offers a function to the device; it is registered again after each new connection. A name alone means the function
   * of this name in app.yaml, which the Core registers by itself.
   */
  async provide<I extends object, R extends object>(
    entry: FunctionEntry | string,
    handler: FunctionHandler<I, R>,
  ): Promise<void> {
    const name = typeof entry === 'string' ? entry : entry.name;
    this.#functions.set(name, typeof entry === 'string' ? { handler } : { entry, handler });
    this.#early.get(name)?.resolve();
    if (typeof entry !== 'string') await this.#register([entry]);
  }

  async openStream(
    stream: string,
    params?: object,
    options?: { binary?: boolean; credit?: number },
  ): Promise<ClientStream> {
    await this.ready;
    return this.#session!.openStream(stream, params, options);
  }

  /** The REST interface with the app's own identity. */
  rest(path: string, init?: RestInit): Promise<RestResponse> {
    return rest(this.environment, path, init);
  }

  /** Any notification of the Core by its method: `event`, `config.changed`, `stop`. */
  on(method: string, listener: (params: never) => void): Disposable {
    const listeners = this.#listeners.get(method) ?? new Set();
    this.#listeners.set(method, listeners.add(listener));
    return { [Symbol.dispose]: () => void listeners.delete(listener) };
  }

  /** Called when the Core asks the app to stop; the connection stays until it settles, at most for the grace it was given. */
  onStop(handler: (stop: { readonly reason: string; readonly graceMs: number }) => void | Promise<void>): Disposable {
    return this.on('stop', (params) => void this.#stopping.push(Promise.resolve(handler(params))));
  }
  readonly #stopping: Promise<void>[] = [];

  close(reason = 'the app is done'): void {
    if (this.#over !== undefined) return;
    this.#over = reason;
    clearTimeout(this.#timer);
    this.#session?.end();
    this.#ready.reject(sessionClosed(reason));
    this.#stop(reason);
  }

  #connect(): void {
    this.#session = new ClientSession(this.environment.rpcSocket, {
      ready: (ready) => this.#opened(ready),
      called: async (method, inputs, call) => {
        if (!this.#functions.has(method)) await this.#provided(method);
        const found = this.#functions.get(method);
        if (!found) throw new Error(`there is no function ${method}`);
        return found.handler(inputs as never, call);
      },
      notified: (method, params) => this.#notified(method, params),
      closed: () => this.#lost(),
    });
  }

  #opened(ready: ReadyMessage): void {
    this.#delay = FIRST_DELAY_MS;
    this.#wasReady = true;
    this.#begun ??= performance.now();
    this.#ready.resolve(ready);
    const again = [
      this.#register([...this.#functions.values()].flatMap(({ entry }) => entry ?? [])),
      this.#filters.size > 0 ? this.call('events.subscribe', { filters: [...this.#filters.keys()] }) : undefined,
    ];
    for (const done of again) done?.catch((error: Error) => process.emitWarning(error));
  }

  #lost(): void {
    if (this.#over !== undefined) return;
    // Waits for `ready`, those from before the first connection too, go on to the next connection.
    if (this.#wasReady) {
      this.#wasReady = false;
      this.#ready = Promise.withResolvers<ReadyMessage>();
      this.#ready.promise.catch(() => undefined); // who waits for it is told
    }
    this.#timer = setTimeout(() => this.#connect(), this.#delay * (0.5 + Math.random() / 2));
    this.#delay = Math.min(this.#delay * 2, MAX_DELAY_MS);
  }

  /** Resolves when it is, or when the program has had the time to. */
  async #provided(name: string): Promise<void> {
    const left = (this.#begun ?? 0) + BEGINNING_MS - performance.now();
    if (left <= 0) return;
    const early = this.#early.get(name) ?? Promise.withResolvers<void>();
    this.#early.set(name, early);
    const timer = setTimeout(early.resolve, left);
    await early.promise;
    clearTimeout(timer);
  }

  async #register(functions: readonly FunctionEntry[]): Promise<void> {
    if (functions.length === 0) return;
    const { app } = await this.ready;
    await this.call('functions.register', { app, functions });
  }

  async #subscribe(filters: readonly string[], handler: (event: EventEnvelope) => void): Promise<Disposable> {
    const listener = this.on('event', (event: EventEnvelope) => {
      if (filters.some((filter) => matchesTopic(filter, event.topic))) handler(event);
    });
    const fresh = filters.filter((filter) => !this.#filters.has(filter));
    for (const filter of filters) this.#filters.set(filter, (this.#filters.get(filter) ?? 0) + 1);
    if (fresh.length > 0) await this.call('events.subscribe', { filters: fresh });
    return {
      [Symbol.dispose]: () => {
        listener[Symbol.dispose]();
        const unused = filters.filter((filter) => this.#release(filter));
        if (unused.length > 0 && this.#over === undefined)
          this.call('events.unsubscribe', { filters: unused }).catch((error: Error) => process.emitWarning(error));
      },
    };
  }

  #release(filter: string): boolean {
    const users = (this.#filters.get(filter) ?? 1) - 1;
    if (users > 0) this.#filters.set(filter, users);
    else this.#filters.delete(filter);
    return users === 0;
  }

  #notified(method: string, params: Record<string, unknown>): void {
    for (const listener of [...(this.#listeners.get(method) ?? [])]) listener(params as never);
    if (method !== 'stop') return;
    const grace = new Promise<void>((resolve) => setTimeout(resolve, Number(params.graceMs) || 0).unref());
    const done = Promise.race([Promise.allSettled(this.#stopping), grace]);
    void done.then(() => this.close(String(params.reason)));
  }
}
