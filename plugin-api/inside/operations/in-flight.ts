/** Every call that has not been answered yet, with one timer for all deadlines. */
import { type Clock, CoreError, type Scope } from '../../index.ts';
import type { Tracer } from '../../kits/tracing/index.ts';
import { tellCall } from './call-span.ts';
import { RETRY_AFTER_MS } from './departed.ts';
import type { CallOwner, PendingCall } from './pending-call.ts';

/** A call that takes longer than this listens to its caller's signal, even if its handler does not. */
const FOLLOW_AFTER_MS = 20;

export class InFlight implements CallOwner {
  readonly tracer: Tracer;
  readonly #scope: Scope;
  /** Each knows its place: whoever leaves is replaced by the last. */
  readonly #calls: PendingCall[] = [];
  #sweep: Disposable | undefined;
  #timer: Disposable | undefined;
  #armedFor = Number.POSITIVE_INFINITY;

  constructor(scope: Scope, tracer: Tracer) {
    this.#scope = scope;
    this.tracer = tracer;
    scope.defer('calls in flight', () => this.endAll(() => true, 'operations is stopping'));
  }

  get size(): number {
    return this.#calls.length;
  }

  add(call: PendingCall): void {
    call.place = this.#calls.push(call) - 1;
    // Listening to the caller's signal costs more than most handlers take; a call that is done within moments is never in need of it.
    this.#sweep ??= this.#scope.timeout('young calls', FOLLOW_AFTER_MS, this.#followAll);
    if (call.expires < this.#armedFor) this.#arm(call.expires);
  }

  get clock(): Clock {
    return this.#scope.clock;
  }

  ended(call: PendingCall, error: CoreError | undefined): void {
    if (this.tracer.on) tellCall(this.tracer, this.clock, call, error);
    const last = this.#calls.pop()!;
    if (last === call) return;
    this.#calls[call.place] = last;
    last.place = call.place;
  }

  /** Fails the calls of an operation that goes away. */
  endAll(which: (call: PendingCall) => boolean, reason: string): void {
    for (const call of [...this.#calls])
      if (which(call))
        call.fail(new CoreError('UNAVAILABLE', { what: call.name, reason, retryAfterMs: RETRY_AFTER_MS }));
  }

  readonly #followAll = (): void => {
    this.#sweep = undefined;
    for (const call of [...this.#calls]) call.follow();
  };

  /** Armed for the earliest deadline seen; answered calls leave it armed, so that in steady state it is set once in many calls. */
  #arm(at: number): void {
    if (this.#scope.signal.aborted) return;
    this.#timer?.[Symbol.dispose]();
    this.#armedFor = at;
    this.#timer = this.#scope.timeout('deadlines', Math.max(0, Math.ceil(at - this.clock.monotonic())), () =>
      this.#expire(),
    );
  }

  #expire(): void {
    this.#timer = undefined;
    this.#armedFor = Number.POSITIVE_INFINITY;
    const now = this.clock.monotonic();
    let next = Number.POSITIVE_INFINITY;
    for (const call of [...this.#calls])
      if (call.expires <= now) call.fail(new CoreError('TIMEOUT', { what: call.name, ms: call.ms }));
      else next = Math.min(next, call.expires);
    if (next < this.#armedFor) this.#arm(next);
  }
}
