/** Requests of one app over one session: jayson's protocol core in front of the gate of operations, with cancellation and a bound. */
import {
  type Caller,
  CoreError,
  type Invocation,
  LazyAbort,
  type Operations,
  type Session,
  steadyMs,
  toCoreError,
} from '@device-core/plugin-api';
import jayson from 'jayson';
import type { Counters } from './counters.ts';
import type { MethodTable } from './method-table.ts';
import { protocolError, wireError } from './wire-error.ts';

/** What one line or batch brought, shared by its requests. */
export interface Arrival {
  readonly attachment: Buffer | undefined;
  /** Done when all of it is answered. */
  readonly afterwards: (() => void)[];
}

/** Done once the answer is on its way: a stream must not speak before the app knows its id. */
export type AfterAnswer = (result: unknown) => void;

/** Handled here, not by the gate: it acts on what the session holds already. Its result is the answer. */
export type Direct = (params: Readonly<Record<string, unknown>>, attachment: Buffer | undefined) => object;

export interface RequestPort {
  readonly caller: Caller;
  readonly session: Session;
  /** Sends a response or a batch of responses. */
  answer(response: object): void;
  /** The last request has been answered. */
  idle(): void;
}

interface JsonRpcRequest {
  readonly method: string;
  readonly id?: string | number | null;
  readonly meta?: { readonly deadlineMs?: unknown };
}

type Callback = (error?: object | null, result?: unknown) => void;

export interface RequestParts {
  readonly port: RequestPort;
  readonly operations: Operations;
  readonly methods: MethodTable;
  readonly counters: Counters;
  readonly own: {
    readonly direct: Readonly<Record<string, Direct>>;
    readonly after: Readonly<Record<string, AfterAnswer>>;
  };
  readonly limits: { readonly batch: number; readonly inFlight: number };
}

export class AppRequests {
  readonly #port: RequestPort;
  readonly #operations: Operations;
  readonly #methods: MethodTable;
  readonly #counters: Counters;
  readonly #direct: Readonly<Record<string, Direct>>;
  readonly #after: Readonly<Record<string, AfterAnswer>>;
  readonly #inFlight: number;
  readonly #core: InstanceType<typeof jayson.Server>;
  readonly #byId = new Map<string | number, AppRequest>();
  readonly #open = new Set<AppRequest>();
  /** The request that jayson's core is resolving now; it hands its params alone to a method. */
  #current: JsonRpcRequest | undefined;

  constructor({ port, operations, methods, counters, own, limits }: RequestParts) {
    this.#port = port;
    this.#operations = operations;
    this.#methods = methods;
    this.#counters = counters;
    this.#inFlight = limits.inFlight;
    const cancel: Direct = (params) => ({ cancelled: this.#cancel(params.id) });
    this.#direct = Object.assign(Object.create(null), own.direct, {
      cancel,
      '$/cancel': cancel,
      '$/cancelRequest': cancel,
    });
    this.#after = Object.assign(Object.create(null), own.after);
    const handler = (params: unknown, context: object, callback: Callback): void =>
      this.#run(params, context as Arrival, callback);
    const method = new jayson.Method({ useContext: true, handler: handler as jayson.MethodHandlerContext });
    this.#core = new jayson.Server(
      {},
      { maxBatchLength: limits.batch, router: (name) => (this.#knows(name) ? method : undefined) as never },
    );
    this.#core.on('request', (request: JsonRpcRequest) => {
      this.#current = request;
    });
    this.#core.error = (code) => protocolError(code, this.#current?.method) as never;
  }

  get size(): number {
    return this.#open.size;
  }

  /** A request, a notification, a batch, or something that is none of them. */
  handle(message: unknown, attachment: Buffer | undefined): void {
    const arrival: Arrival = { attachment, afterwards: [] };
    // jayson leaves a batch within a batch without an answer, and parses a string once more; in this form it refuses both.
    const request = Array.isArray(message)
      ? message.map((one) => (Array.isArray(one) ? null : one))
      : typeof message === 'object'
        ? message
        : null;
    this.#current = undefined;
    this.#core.call(request as never, arrival, (error, response) => {
      const answer = error ?? response;
      if (answer) this.#port.answer(withIdOf(request, answer));
      for (const act of arrival.afterwards) act();
    });
  }

  /** The app is gone. */
  abortAll(reason: CoreError): void {
    for (const request of [...this.#open]) request.abort(reason);
  }

  #knows(method: string): boolean {
    return this.#methods.has(method) || method in this.#direct;
  }

  #run(params: unknown, arrival: Arrival, callback: Callback): void {
    const request = this.#current!;
    const fail = (thrown: unknown): void => {
      if (isNotification(request)) this.#counters.failedNotifications++;
      callback(wireError(toCoreError(thrown, request.method)));
    };
    let input: Record<string, unknown>;
    let deadline: number;
    try {
      input = Array.isArray(params) ? this.#methods.byName(request.method, params) : ((params ?? {}) as typeof input);
      const direct = this.#direct[request.method];
      if (direct) {
        callback(null, direct(input, arrival.attachment));
        return;
      }
      if (arrival.attachment) throw badRequest(`${request.method} takes no attachment`);
      if (this.#open.size >= this.#inFlight)
        throw new CoreError('BUSY', { what: request.method, limit: this.#inFlight });
      if (request.method in this.#after && isNotification(request))
        throw badRequest(`${request.method} is of no use without an id`);
      deadline = deadlineOf(request);
    } catch (thrown) {
      fail(thrown);
      return;
    }
    const after = this.#after[request.method];
    const call = new AppRequest(this.#port, request.method, deadline);
    this.#begin(request.id, call);
    this.#operations.invoke(request.method, input, call).then(
      (result) => {
        this.#finish(request.id, call);
        if (after) arrival.afterwards.push(() => after(result));
        callback(null, result);
        if (this.#open.size === 0) this.#port.idle();
      },
      (thrown: unknown) => {
        this.#finish(request.id, call);
        fail(thrown);
        if (this.#open.size === 0) this.#port.idle();
      },
    );
  }

  #begin(id: JsonRpcRequest['id'], call: AppRequest): void {
    this.#open.add(call);
    if (id === undefined || id === null) return;
    // Clients that give every request the same id are answered, too; a cancel then means all of them.
    call.twin = this.#byId.get(id);
    this.#byId.set(id, call);
  }

  #finish(id: JsonRpcRequest['id'], call: AppRequest): void {
    this.#open.delete(call);
    if (id === undefined || id === null) return;
    const newest = this.#byId.get(id);
    if (newest === call) {
      if (call.twin) this.#byId.set(id, call.twin);
      else this.#byId.delete(id);
      return;
    }
    for (let one = newest; one; one = one.twin)
      if (one.twin === call) {
        one.twin = call.twin;
        return;
      }
  }

  #cancel(id: unknown): boolean {
    const first = this.#byId.get(id as string | number);
    for (let one = first; one; one = one.twin)
      one.abort(new CoreError('CANCELLED', { what: one.method, reason: 'the app withdrew it' }));
    return first !== undefined;
  }
}

/** One request on its way through the gate. The signal is made when first asked for: most requests are answered before that. */
export class AppRequest implements Invocation {
  readonly caller: Caller;
  readonly session: Session;
  readonly deadline: number;
  readonly method: string;
  /** An older request in flight with the same id. */
  twin: AppRequest | undefined;
  readonly #abort = new LazyAbort();

  constructor(port: RequestPort, method: string, deadline: number) {
    this.caller = port.caller;
    this.session = port.session;
    this.deadline = deadline;
    this.method = method;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  abort(reason: CoreError): void {
    this.#abort.abort(reason);
  }
}

/** `meta.deadlineMs` is how long the answer is worth something; the operation's own limit holds anyway. */
function deadlineOf({ meta }: JsonRpcRequest): number {
  const ms = meta?.deadlineMs;
  if (ms === undefined) return Number.POSITIVE_INFINITY;
  if (typeof ms !== 'number' || !Number.isFinite(ms) || ms < 0)
    throw badRequest('meta.deadlineMs must be a number of milliseconds');
  return steadyMs() + ms;
}

/** jayson's core gives null as the id of whatever is no request; where the id can be told its sender should not wait in vain. */
function withIdOf(request: unknown, answer: object): object {
  const id = (request as { readonly id?: unknown } | null)?.id;
  if ((answer as { readonly id?: unknown }).id !== null || (typeof id !== 'string' && typeof id !== 'number'))
    return answer;
  return { ...answer, id };
}

/** As jayson sees it: an id of null counts as none. */
function isNotification({ id }: JsonRpcRequest): boolean {
  return id === undefined || id === null;
}

function badRequest(reason: string): CoreError {
  return new CoreError('REQUEST_INVALID', { reason });
}
