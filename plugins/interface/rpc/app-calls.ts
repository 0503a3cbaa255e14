/** Calls from the Core into one app over one session: matched by id, bounded in time and number, settled once. */

import { CoreError } from '@device-core/plugin-api';
import type { AppCall } from '@device-core/plugin-api/inside/services/app-sockets';
import { parseTraceparent, type TraceContext } from '@device-core/plugin-api/tracing';
import type { Counters } from './counters.ts';
import { type Deadlines, Expiring, Later } from './deadlines.ts';
import type { CallMessage } from './raw-parts.ts';
import { appError } from './wire-error.ts';

/** Outgoing messages to the app. */
export interface CallPort {
  readonly app: string;
  /** Both throw BODY_TOO_LARGE, SESSION_CLOSED. */
  send(message: object): void;
  call(message: CallMessage): void;
}

interface Response {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** A call that lasts longer than this listens to its caller's signal: to listen costs more than most answers. */
const FOLLOW_AFTER_MS = 20;

export class AppCalls {
  readonly #port: CallPort;
  readonly #deadlines: Deadlines;
  readonly #counters: Counters;
  readonly #limit: number;
  readonly #pending = new Map<string, PendingAppCall>();
  /** When those that are in flight will be looked after. */
  #looking: Later | undefined;
  #last = 0;

  constructor(port: CallPort, deadlines: Deadlines, counters: Counters, limit: number) {
    this.#port = port;
    this.#deadlines = deadlines;
    this.#counters = counters;
    this.#limit = limit;
  }

  call(call: AppCall): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (call.signal?.aborted) throw cancelled(call);
      if (!call.urgent && this.#pending.size >= this.#limit)
        throw new CoreError('BUSY', { what: `a call of ${call.method} in ${this.#port.app}`, limit: this.#limit });
      // Ids of ours are strings of a form that no counting client uses, so that logs and naive apps cannot take them for the app's own.
      const id = `core-${++this.#last}`;
      this.#port.call({ jsonrpc: '2.0', id, method: call.method, params: call.params, meta: call.meta });
      const { now } = this.#deadlines;
      const pending = new PendingAppCall(id, call, now, this.#ended, { resolve, reject });
      this.#pending.set(id, pending);
      this.#deadlines.add(pending);
      if (call.signal && !this.#looking) {
        this.#looking = new Later(now + FOLLOW_AFTER_MS, this.#followAll);
        this.#deadlines.add(this.#looking);
      }
    });
  }

  /** Is it an answer to a call of ours, whatever it looks like? */
  expects(id: unknown): boolean {
    return this.#pending.has(id as string);
  }

  /** An app hands back what it was given while it works on the call; whatever else it names is its own affair, and only linked. */
  traceOf(traceparent: unknown): TraceContext | undefined {
    const trace = parseTraceparent(traceparent);
    if (!trace) return undefined;
    for (const { call } of this.#pending.values()) if (call.meta.traceparent === traceparent) return trace;
    return { ...trace, remote: 'link' };
  }

  settle(response: Response): void {
    const pending = this.#pending.get(response.id as string);
    if (!pending) {
      this.#counters.lateAnswers++;
      return;
    }
    this.#remove(pending);
    if (response.error !== undefined && response.error !== null)
      pending.reject(appError(this.#port.app, pending.call.method, response.error));
    else pending.resolve(response.result ?? null);
  }

  /** The app cannot answer any more. */
  close(reason: string): void {
    if (this.#looking) this.#deadlines.delete(this.#looking);
    for (const pending of [...this.#pending.values()]) {
      this.#remove(pending);
      pending.reject(new CoreError('SESSION_CLOSED', { app: this.#port.app, reason }));
    }
  }

  readonly #followAll = (): void => {
    this.#looking = undefined;
    for (const pending of [...this.#pending.values()]) pending.follow();
  };

  readonly #ended = (pending: PendingAppCall, why: CoreError): void => {
    if (this.#pending.get(pending.id) !== pending) return;
    this.#remove(pending);
    pending.reject(why);
    try {
      const params = { callId: pending.call.meta.callId };
      this.#port.send({ jsonrpc: '2.0', method: 'cancel', params });
    } catch (thrown) {
      // The session is closing: the app learns of the end of all its calls by that.
      if (!(thrown instanceof CoreError)) throw thrown;
    }
  };

  #remove(pending: PendingAppCall): void {
    this.#pending.delete(pending.id);
    this.#deadlines.delete(pending);
    pending.forget();
  }
}

interface Settle {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: CoreError) => void;
}

class PendingAppCall extends Expiring {
  readonly id: string;
  readonly call: AppCall;
  readonly resolve: Settle['resolve'];
  readonly reject: Settle['reject'];
  readonly #ended: (call: PendingAppCall, why: CoreError) => void;
  #onAbort: (() => void) | undefined;

  constructor(
    id: string,
    call: AppCall,
    now: number,
    ended: (call: PendingAppCall, why: CoreError) => void,
    { resolve, reject }: Settle,
  ) {
    super(now + call.meta.deadlineMs);
    this.id = id;
    this.call = call;
    this.resolve = resolve;
    this.reject = reject;
    this.#ended = ended;
  }

  /** From now on its caller's signal ends it. */
  follow(): void {
    const { signal } = this.call;
    if (!signal || this.#onAbort) return;
    this.#onAbort = () => this.#ended(this, cancelled(this.call));
    if (signal.aborted) this.#onAbort();
    else signal.addEventListener('abort', this.#onAbort, { once: true });
  }

  expire(): void {
    this.#ended(this, new CoreError('TIMEOUT', { what: this.call.method, ms: this.call.meta.deadlineMs }));
  }

  forget(): void {
    if (this.#onAbort) this.call.signal?.removeEventListener('abort', this.#onAbort);
  }
}

function cancelled(call: AppCall): CoreError {
  const reason: unknown = call.signal?.reason;
  if (reason instanceof CoreError) return reason;
  return new CoreError('CANCELLED', { what: call.method, reason: 'the caller withdrew it or went away' });
}
