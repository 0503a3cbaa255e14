/** One call on its way through the gate: what its handler knows of it, and the promise of its caller. Settles once. */
import {
  type CallContext,
  type Caller,
  CoreError,
  LazyAbort,
  type Logger,
  type Session,
  WHEN_ABORTED,
} from '../../index.ts';
import { logOfTrace, type TraceContext, type Tracer } from '../../kits/tracing/index.ts';
import type { Invocation } from '../../services/operations.ts';

export interface CallOwner {
  /** The call is over: nothing of it need be kept. */
  ended(call: PendingCall, error: CoreError | undefined): void;
  /** Absent, or not on: no traces are kept. */
  readonly tracer?: Tracer;
}

export interface PendingCallParts {
  /** Operation or stream endpoint. */
  readonly name: string;
  /** Time that the call is given, milliseconds. */
  readonly ms: number;
  /** When to give up, Unix milliseconds. */
  readonly deadline: number;
  /** The same, on the monotonic clock. */
  readonly expires: number;
  /** On that clock, too. */
  readonly began: number;
  readonly invocation: Invocation;
  readonly log: Logger;
  readonly owner: CallOwner;
}

const nothing = () => undefined;
const NOTHING: PendingCallParts = {
  name: '',
  ms: 0,
  deadline: Number.NaN,
  expires: Number.NaN,
  began: Number.NaN,
  invocation: { caller: { kind: 'anonymous', id: '' }, signal: new AbortController().signal, deadline: 0 },
  log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
  owner: { ended: nothing },
};

export class PendingCall implements CallContext {
  /** A collection that finds no object of a class throws the code away that V8 compiled for it. */
  static readonly kept = new PendingCall(NOTHING, nothing, nothing);
  readonly caller: Caller;
  readonly deadline: number;
  readonly session?: Session;
  /** Operation or stream endpoint. */
  readonly name: string;
  /** Time that the call was given, milliseconds. */
  readonly ms: number;
  /** When to give up, on the monotonic clock, for the wall clock may be set meanwhile; never for what lasts (streams). */
  expires: number;
  /** On that clock, too. */
  readonly began: number;
  settled = false;
  /** Among the calls of its owner, who keeps it. */
  place = 0;
  readonly #owner: CallOwner;
  readonly #log: Logger;
  #trace: TraceContext | undefined;
  readonly #invocation: Invocation;
  #resolve: (value: unknown) => void;
  #reject: (error: CoreError) => void;
  #abort: LazyAbort | undefined;
  #failure: CoreError | undefined;
  #following = false;
  #upstream: AbortSignal | undefined;
  #onUpstream: (() => void) | undefined;

  constructor(
    { name, ms, deadline, expires, began, invocation, log, owner }: PendingCallParts,
    resolve: (value: unknown) => void,
    reject: (error: CoreError) => void,
  ) {
    this.name = name;
    this.ms = ms;
    this.deadline = deadline;
    this.expires = expires;
    this.began = began;
    this.caller = invocation.caller;
    this.#log = log;
    if (invocation.session) this.session = invocation.session;
    this.#invocation = invocation;
    this.#owner = owner;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  /** Made when first asked for, where traces are kept; else what the operator named. */
  get trace(): TraceContext | undefined {
    if (this.#trace) return this.#trace;
    const parent = this.#invocation.trace;
    const tracer = this.#owner.tracer;
    if (tracer?.on) this.#trace = tracer.context(parent);
    return this.#trace ?? (parent?.remote === 'link' ? undefined : parent);
  }

  /** Trace that work within this call got, if any did. */
  get handedOn(): TraceContext | undefined {
    return this.#trace;
  }

  /** Trace to which this call belongs. */
  get within(): TraceContext | undefined {
    return this.#invocation.trace;
  }

  get log(): Logger {
    const traced = this.#owner.tracer?.on || this.#invocation.trace;
    return traced ? logOfTrace(this.#log, () => this.trace) : this.#log;
  }

  /** Made when first asked for: most handlers are done before anybody could abort them. */
  get signal(): AbortSignal {
    if (!this.#abort) {
      this.#abort = new LazyAbort(() => this.follow());
      if (this.#failure) this.#abort.abort(this.#failure);
    }
    return this.#abort.signal;
  }

  /** From now on the caller's own signal cancels the call. */
  follow(): void {
    if (this.settled || this.#following) return;
    this.#following = true;
    const invocation = this.#invocation;
    if (invocation[WHEN_ABORTED]) {
      invocation[WHEN_ABORTED]((reason) => this.cancel(reason));
      return;
    }
    const upstream = invocation.signal;
    this.#upstream = upstream;
    if (upstream.aborted) {
      this.cancel(upstream.reason);
      return;
    }
    this.#onUpstream = () => this.cancel(upstream.reason);
    upstream.addEventListener('abort', this.#onUpstream, { once: true });
  }

  cancel(reason: unknown): void {
    const cancelled = { what: this.name, reason: 'the caller withdrew it or went away' };
    this.fail(reason instanceof CoreError ? reason : new CoreError('CANCELLED', cancelled));
  }

  succeed(value: unknown): void {
    if (this.settled) return;
    this.#end(undefined);
    this.#resolve(value);
  }

  /** The caller learns of it first, then the handler's signal is aborted. */
  fail(error: CoreError): void {
    if (this.settled) return;
    this.#end(error);
    this.#failure = error;
    this.#reject(error);
    this.#abort?.abort(error);
  }

  /** The call lasts beyond its answer and has no deadline any more. The promise rejects when it is ended from outside. */
  outlive(): { readonly ended: Promise<never>; readonly answer: (value: unknown) => void } {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => undefined); // whoever reads the stream learns of it; nobody may be reading
    const answer = this.#resolve;
    this.#resolve = () => undefined;
    this.#reject = reject;
    this.expires = Number.POSITIVE_INFINITY;
    this.follow();
    return { ended: promise, answer };
  }

  #end(error: CoreError | undefined): void {
    this.settled = true;
    if (this.#onUpstream) this.#upstream?.removeEventListener('abort', this.#onUpstream);
    this.#owner.ended(this, error);
  }
}
