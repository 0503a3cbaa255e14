/**
 * Requests of one app over one session, in front of the gate of operations, with cancellation and a bound; what is no
 * plain request goes by jayson's protocol core.
 */
import {
  type Caller,
  CoreError,
  LazyAbort,
  type Session,
  steadyMs,
  toCoreError,
  WHEN_ABORTED,
} from '@device-core/plugin-api';
import { packageLater } from '@device-core/plugin-api/inside/lazy-package';
import type { Invocation, Operations } from '@device-core/plugin-api/services/operations';
import type { TraceContext } from '@device-core/plugin-api/tracing';
import type { MethodHandlerContext, Server } from 'jayson';
import type { Counters } from './counters.ts';
import type { MethodTable } from './method-table.ts';
import { HANDS_ON } from './raw-parts.ts';
import { faultOf, faultsOf, protocolError, wireError } from './wire-error.ts';

/** The first app waits for it, and not the device. */
const jayson = packageLater<typeof import('jayson')>('jayson', import.meta.url);

/** Shared parts of the requests of one line or batch. */
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
  /** Sends a response or a batch of responses. `handedOn`: it is what an app answered to another. */
  answer(response: object, handedOn?: boolean): void;
  /** Context of `meta.traceparent`: the parent where the app works on a call for the Core, else a link. */
  traceOf(traceparent: unknown): TraceContext | undefined;
  /** The last request has been answered. */
  idle(): void;
}

interface JsonRpcRequest {
  readonly method: string;
  readonly params?: object;
  readonly id?: string | number | null;
  readonly meta?: { readonly deadlineMs?: unknown; readonly traceparent?: unknown };
}

type Callback = (error?: object | null, result?: unknown) => void;

/** Hooks of jayson's core for one request of a batch. */
interface Batch extends Pick<Arrival, 'afterwards'> {
  readonly callback: Callback;
}

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
  readonly #core: Server;
  /** Each knows its place: whoever leaves is replaced by the last. */
  readonly #open: AppRequest[] = [];
  /** The request that jayson's core is resolving now; it hands its params alone to a method. */
  #current: JsonRpcRequest | undefined;
  /** Faults of the message that goes through jayson's core, in its order. */
  #faults: readonly string[] = [];
  readonly #maxBatch: number;

  constructor({ port, operations, methods, counters, own, limits }: RequestParts) {
    this.#port = port;
    this.#operations = operations;
    this.#methods = methods;
    this.#counters = counters;
    this.#inFlight = limits.inFlight;
    this.#maxBatch = limits.batch;
    const cancel: Direct = (params) => ({ cancelled: this.#cancel(params.id) });
    this.#direct = Object.assign(Object.create(null), own.direct, {
      cancel,
      '$/cancel': cancel,
      '$/cancelRequest': cancel,
    });
    this.#after = Object.assign(Object.create(null), own.after);
    const handler = (_params: unknown, context: object, callback: Callback): void => {
      const { attachment, afterwards } = context as Arrival;
      this.#run(this.#current!, attachment, { callback, afterwards });
    };
    const { Method, Server } = jayson();
    const method = new Method({ useContext: true, handler: handler as MethodHandlerContext });
    this.#core = new Server({}, { maxBatchLength: limits.batch, router: () => method as never });
    this.#core.on('request', (request: JsonRpcRequest) => {
      this.#current = request;
    });
    this.#core.error = (code) => {
      const [fault = 'it is no JSON-RPC 2.0 request', ...others] = this.#faults;
      const error = protocolError(code, this.#current?.method, fault);
      if (error.data?.code === 'REQUEST_INVALID') this.#faults = others;
      return error as never;
    };
  }

  get size(): number {
    return this.#open.length;
  }

  /** A request, a notification, a batch, or something that is none of them. */
  handle(message: unknown, attachment: Buffer | undefined): void {
    // A plain request skips jayson's core, which takes as long as most operations.
    if (isRequest(message)) this.#run(message, attachment, undefined);
    else this.#protocol(message, attachment);
  }

  /** The app is gone. */
  abortAll(reason: CoreError): void {
    for (const request of [...this.#open]) request.abort(reason);
  }

  #protocol(message: unknown, attachment: Buffer | undefined): void {
    const arrival: Arrival = { attachment, afterwards: [] };
    // jayson leaves a batch within a batch without an answer, and parses a string once more; in this form it refuses both.
    const request = Array.isArray(message)
      ? message.map((one) => (Array.isArray(one) ? null : one))
      : typeof message === 'object'
        ? message
        : null;
    this.#current = undefined;
    this.#faults = faultsOf(message, this.#maxBatch);
    this.#core.call(request as never, arrival, (error, response) => {
      const answer = error ?? response;
      if (answer) this.#port.answer(withIdOf(request, answer));
      for (const act of arrival.afterwards) act();
    });
  }

  #knows(method: string): boolean {
    return this.#methods.has(method) || method in this.#direct;
  }

  /** `batch` is where the answer goes, if not straight to the app. */
  #run(request: JsonRpcRequest, attachment: Buffer | undefined, batch: Batch | undefined): void {
    const { method, params } = request;
    if (!this.#knows(method)) {
      this.#missing(request, batch);
      return;
    }
    let input: Record<string, unknown>;
    let deadline: number;
    try {
      input = Array.isArray(params) ? this.#methods.byName(method, params) : ((params ?? {}) as typeof input);
      const direct = this.#direct[method];
      if (direct) {
        this.#answer(request, direct(input, attachment), batch);
        return;
      }
      if (attachment) throw badRequest(`${method} takes no attachment`);
      if (this.#open.length >= this.#inFlight) throw new CoreError('BUSY', { what: method, limit: this.#inFlight });
      if (method in this.#after && isNotification(request)) throw badRequest(`${method} is of no use without an id`);
      deadline = deadlineOf(request);
    } catch (thrown) {
      this.#fail(request, thrown, batch);
      return;
    }
    const call = this.#begin(request, deadline);
    this.#operations.invoke(method, input, call).then(
      (result) => {
        this.#finish(call);
        this.#answer(request, result, batch);
        if (this.#open.length === 0) this.#port.idle();
      },
      (thrown: unknown) => this.#failed(call, request, thrown, batch),
    );
  }

  /** An operation that this front end hides is missing here; a missing one may still be to come. */
  #missing(request: JsonRpcRequest, batch: Batch | undefined): void {
    const absent = new CoreError('METHOD_NOT_FOUND', { name: request.method });
    // It counts as open: an app that closes its side meanwhile still gets the answer.
    const call = this.#begin(request, 0);
    this.#operations.permitted(request.method, call).then(
      (refusal) => this.#failed(call, request, refusal?.details.starting === true ? refusal : absent, batch),
      (thrown: unknown) => this.#failed(call, request, thrown, batch),
    );
  }

  #begin(request: JsonRpcRequest, deadline: number): AppRequest {
    const call = new AppRequest(this.#port, request, deadline);
    call.place = this.#open.push(call) - 1;
    return call;
  }

  #failed(call: AppRequest, request: JsonRpcRequest, thrown: unknown, batch: Batch | undefined): void {
    this.#finish(call);
    this.#fail(request, thrown, batch);
    if (this.#open.length === 0) this.#port.idle();
  }

  #answer(request: JsonRpcRequest, result: unknown, batch: Batch | undefined): void {
    const after = this.#after[request.method];
    if (batch) {
      if (after) batch.afterwards.push(() => after(result));
      batch.callback(null, result);
      return;
    }
    const handedOn = request.method === HANDS_ON;
    if (!isNotification(request))
      this.#port.answer({ jsonrpc: '2.0', id: request.id, result: result ?? null }, handedOn);
    after?.(result);
  }

  #fail(request: JsonRpcRequest, thrown: unknown, batch: Batch | undefined): void {
    const unheard = isNotification(request);
    if (unheard) this.#counters.failedNotifications++;
    const error = wireError(toCoreError(thrown, request.method));
    if (batch) batch.callback(error);
    else if (!unheard) this.#port.answer({ jsonrpc: '2.0', id: request.id, error });
  }

  #finish(call: AppRequest): void {
    const last = this.#open.pop()!;
    if (last === call) return;
    this.#open[call.place] = last;
    last.place = call.place;
  }

  /** Clients that give every request the same id are answered, too; a cancel then means all of them. */
  #cancel(id: unknown): boolean {
    if (id === undefined || id === null) return false;
    const meant = this.#open.filter((one) => one.id === id);
    for (const one of meant) one.abort(new CoreError('CANCELLED', { what: one.method, reason: 'the app withdrew it' }));
    return meant.length > 0;
  }
}

/** One request on its way through the gate. The signal is made when first asked for: most requests are answered before that. */
export class AppRequest implements Invocation {
  readonly caller: Caller;
  readonly session: Session;
  readonly deadline: number;
  readonly method: string;
  readonly id: JsonRpcRequest['id'];
  readonly trace: TraceContext | undefined;
  /** Among the open ones. */
  place = 0;
  #abort: LazyAbort | undefined;

  constructor(port: RequestPort, { method, id, meta }: JsonRpcRequest, deadline: number) {
    this.caller = port.caller;
    this.session = port.session;
    this.deadline = deadline;
    this.method = method;
    this.id = id;
    const traceparent = meta?.traceparent;
    this.trace = traceparent === undefined ? undefined : port.traceOf(traceparent);
  }

  get signal(): AbortSignal {
    this.#abort ??= new LazyAbort();
    return this.#abort.signal;
  }

  [WHEN_ABORTED](listener: (reason: unknown) => void): void {
    this.#abort ??= new LazyAbort();
    this.#abort.listen(listener);
  }

  abort(reason: CoreError): void {
    this.#abort ??= new LazyAbort();
    this.#abort.abort(reason);
  }
}

/** As jayson's core sees it. An array is a batch. */
function isRequest(message: unknown): message is JsonRpcRequest {
  return faultOf(message) === undefined;
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
