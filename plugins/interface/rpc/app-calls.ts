/** Calls from the Core into one app over one session: matched by id, bounded in time and number, settled once. */
import { type AppCall, CoreError } from '@device-core/plugin-api';
import type { Counters } from './counters.ts';
import type { Deadlines, Expiring } from './deadlines.ts';
import { appError } from './wire-error.ts';

/** Where messages to the app go. */
export interface CallPort {
  readonly app: string;
  /** Throws BODY_TOO_LARGE, SESSION_CLOSED. */
  send(message: object): void;
}

interface Response {
  readonly id?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

export class AppCalls {
  readonly #port: CallPort;
  readonly #deadlines: Deadlines;
  readonly #counters: Counters;
  readonly #limit: number;
  readonly #pending = new Map<string, PendingAppCall>();
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
      this.#port.send({ jsonrpc: '2.0', id, method: call.method, params: call.params, meta: call.meta });
      const pending = new PendingAppCall(call, this.#deadlines.now, resolve, reject, (end) =>
        this.#end(id, pending, end),
      );
      this.#pending.set(id, pending);
      this.#deadlines.add(pending);
    });
  }

  /** Is it an answer to a call of ours, whatever it looks like? */
  expects(id: unknown): boolean {
    return this.#pending.has(id as string);
  }

  settle(response: Response): void {
    const pending = this.#pending.get(response.id as string);
    if (!pending) {
      this.#counters.lateAnswers++;
      return;
    }
    this.#remove(response.id as string, pending);
    if (response.error !== undefined && response.error !== null)
      pending.reject(appError(this.#port.app, pending.call.method, response.error));
    else pending.resolve(response.result ?? null);
  }

  /** The app cannot answer any more. */
  close(reason: string): void {
    for (const [id, pending] of [...this.#pending]) {
      this.#remove(id, pending);
      pending.reject(new CoreError('SESSION_CLOSED', { app: this.#port.app, reason }));
    }
  }

  #end(id: string, pending: PendingAppCall, why: CoreError): void {
    if (this.#pending.get(id) !== pending) return;
    this.#remove(id, pending);
    pending.reject(why);
    try {
      const params = { callId: pending.call.meta.callId };
      this.#port.send({ jsonrpc: '2.0', method: 'cancel', params });
    } catch (thrown) {
      // The session is closing: the app learns of the end of all its calls by that.
      if (!(thrown instanceof CoreError)) throw thrown;
    }
  }

  #remove(id: string, pending: PendingAppCall): void {
    this.#pending.delete(id);
    this.#deadlines.delete(pending);
    pending.forget();
  }
}

class PendingAppCall implements Expiring {
  readonly call: AppCall;
  readonly expires: number;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: CoreError) => void;
  readonly #end: (why: CoreError) => void;
  readonly #onAbort: () => void;

  constructor(
    call: AppCall,
    now: number,
    resolve: (result: unknown) => void,
    reject: (error: CoreError) => void,
    end: (why: CoreError) => void,
  ) {
    this.call = call;
    this.expires = now + call.meta.deadlineMs;
    this.resolve = resolve;
    this.reject = reject;
    this.#end = end;
    this.#onAbort = () => this.#end(cancelled(this.call));
    call.signal?.addEventListener('abort', this.#onAbort, { once: true });
  }

  expire(): void {
    this.#end(new CoreError('TIMEOUT', { what: this.call.method, ms: this.call.meta.deadlineMs }));
  }

  forget(): void {
    this.call.signal?.removeEventListener('abort', this.#onAbort);
  }
}

function cancelled(call: AppCall): CoreError {
  const reason: unknown = call.signal?.reason;
  if (reason instanceof CoreError) return reason;
  return new CoreError('CANCELLED', { what: call.method, reason: 'the caller withdrew it or went away' });
}
