/** The one gate: capability -> rate -> schema -> confirmation -> handler -> deadline. */
import {
  type CallContext,
  type Caller,
  CoreError,
  type HookCaller,
  type Logger,
  pluginErrorProblem,
  toCoreError,
} from '../../index.ts';
import type { Invocation, StreamChannel } from '../../services/operations.ts';
import type { Entry, OperationEntry, StreamEntry } from './entry.ts';
import type { InFlight } from './in-flight.ts';
import type { Refused } from './own.ts';
import { PendingCall } from './pending-call.ts';
import { isAsyncIterable, isThenable, relay } from './relay.ts';
import { actOf } from './sensitive-act.ts';
import { shownName, type Table } from './table.ts';

/** Extra milliseconds for a handler that keeps its deadline, to report its partial work. */
const GRACE_MS = 400;

export interface GateOptions {
  readonly before: HookCaller<'operation.before'>;
  readonly confirm: HookCaller<'operation.confirm'>;
  readonly log: Logger;
  /** Whether a result that does not fit its schema fails the call, asked for each. */
  readonly checkResults: () => boolean;
  /** Called at each refusal of a capability, or of a foreign name. */
  readonly refused?: Refused;
  /** Plugins on their way up, whose operations are unknown yet; asked for when a name is missing. */
  readonly starting?: () => readonly string[];
}

/** Milliseconds until a plugin that starts may be there. */
const RETRY_START_MS = 1_000;
const NAMED = 3;

export class Gate {
  readonly #table: Table;
  readonly #inFlight: InFlight;
  readonly #before: HookCaller<'operation.before'>;
  readonly #confirm: HookCaller<'operation.confirm'>;
  readonly #log: Logger;
  readonly #checkResults: () => boolean;
  readonly #refused: GateOptions['refused'];
  readonly #starting: () => readonly string[];
  /** Answers that came after their deadline or cancellation, and were dropped. */
  late = 0;

  constructor(table: Table, inFlight: InFlight, options: GateOptions) {
    const { before, confirm, log, checkResults, refused, starting = () => [] } = options;
    this.#starting = starting;
    this.#table = table;
    this.#inFlight = inFlight;
    this.#before = before;
    this.#confirm = confirm;
    this.#log = log;
    this.#checkResults = checkResults;
    this.#refused = refused;
  }

  permitted(name: string, { caller }: Invocation): CoreError | undefined {
    const there = this.#table.operation(name);
    const entry = there ?? this.#table.departed.get(name);
    if (!entry) return this.#missing(name);
    try {
      mayCall(entry, caller);
      entry.authorization.family(caller);
      return there ? undefined : this.#missing(name);
    } catch (thrown) {
      return this.#explain(thrown, entry);
    }
  }

  /**
   * While a plugin starts, a wrong name looks like an operation that is still to come. A plugin that waits, or has
   * failed, adds nothing soon.
   */
  #missing(name: string): CoreError {
    const departed = this.#table.departed.missing(name);
    if (departed) return departed;
    const starting = this.#starting();
    if (starting.length === 0) return this.#table.unknown(name);
    const more = starting.length > NAMED ? ` and ${starting.length - NAMED} more` : '';
    const reason = `plugins that may bring it are starting: ${starting.slice(0, NAMED).join(', ')}${more}`;
    return new CoreError('UNAVAILABLE', {
      what: shownName(name),
      reason,
      retryAfterMs: RETRY_START_MS,
      starting: true,
    });
  }

  invoke(name: string, params: unknown, invocation: Invocation): Promise<unknown> {
    const entry = this.#table.operation(name);
    if (!entry) return Promise.reject(this.#missing(name));
    return new Promise((resolve, reject) => {
      this.#guard(entry, params ?? {}, this.#admit(entry, invocation, resolve, reject), undefined);
    });
  }

  openStream(
    name: string,
    params: unknown,
    channel: StreamChannel,
    invocation: Invocation,
  ): Promise<{ readonly done: Promise<void> }> {
    const entry = this.#table.stream(name);
    if (!entry) return Promise.reject(this.#missing(name));
    return new Promise((resolve, reject) => {
      const call = this.#admit(entry, invocation, resolve as (value: unknown) => void, reject);
      this.#guard(entry, params ?? {}, call, channel);
    });
  }

  #admit(
    entry: Entry,
    invocation: Invocation,
    resolve: (value: unknown) => void,
    reject: (error: CoreError) => void,
  ): PendingCall {
    const { clock } = this.#inFlight;
    const now = clock.steady();
    const deadline = Math.min(invocation.deadline, now + entry.timeoutMs);
    const ms = Math.max(0, deadline - now);
    const began = clock.monotonic();
    const expires = began + ms + (entry.keepsDeadline ? GRACE_MS : 0);
    const { name } = entry;
    const call = new PendingCall(
      { name, ms, deadline, expires, began, invocation, log: this.#log, owner: this.#inFlight },
      resolve,
      reject,
    );
    this.#inFlight.add(call);
    return call;
  }

  /**
   * Checks before the handler, in the order of decisions D1. The hook costs a turn of the microtask queue only for a
   * tap that answers later.
   */
  #guard(entry: Entry, params: unknown, call: PendingCall, channel: StreamChannel | undefined): void {
    try {
      mayCall(entry, call.caller);
      entry.authorization.exact(call.caller, params);
      const refusal = this.#refusal(entry.name, call);
      if (refusal instanceof Promise) {
        refusal.then(
          (late) => this.#proceed(late, entry, params, call, channel),
          (thrown: unknown) => call.fail(this.#explain(thrown, entry, call)),
        );
      } else this.#proceed(refusal, entry, params, call, channel);
    } catch (thrown) {
      call.fail(this.#explain(thrown, entry, call));
    }
  }

  #refusal(operation: string, call: CallContext): CoreError | undefined | Promise<CoreError | undefined> {
    if (this.#before.first) return this.#before.first(operation, call);
    return this.#before.isUsed() ? this.#before.promise(operation, call) : undefined;
  }

  #proceed(
    refusal: CoreError | undefined,
    entry: Entry,
    params: unknown,
    call: PendingCall,
    channel: StreamChannel | undefined,
  ): void {
    if (call.settled) return;
    try {
      if (refusal) throw refusal;
      if (call.ms === 0 && !entry.keepsDeadline) throw new CoreError('TIMEOUT', { what: entry.name, ms: 0 });
      entry.checkParams(params);
      if (channel) this.#runStream(entry as StreamEntry, params, channel, call);
      else if (call.caller.signedIn) this.#confirmed(entry as OperationEntry, params, call);
      else this.#run(entry as OperationEntry, params, call);
    } catch (thrown) {
      call.fail(this.#explain(thrown, entry, call));
    }
  }

  /** For pages alone: what is sensitive waits for a person. */
  #confirmed(entry: OperationEntry, params: unknown, call: PendingCall): void {
    const act = entry.sensitive && actOf(entry.name, entry.sensitive, params);
    if (act === undefined) {
      this.#run(entry, params, call);
      return;
    }
    const nobody = { what: act.what, reason: 'no plugin here can ask for a confirmation' };
    if (!this.#confirm.isUsed()) throw new CoreError('CONFIRMATION_REQUIRED', nobody);
    const { about } = entry;
    this.#confirm.promise(about ? { ...act, about: () => about(params, call) } : act, call).then(
      (refusal) => {
        if (call.settled) return;
        if (refusal) call.fail(refusal);
        else this.#run(entry, params, call);
      },
      (thrown: unknown) => call.fail(this.#explain(thrown, entry, call)),
    );
  }

  #run(entry: OperationEntry, params: unknown, call: PendingCall): void {
    const outcome = entry.run(params, call);
    // The answer of a plugin in a worker or process is both until it has come.
    if (isAsyncIterable(outcome) && !isThenable(outcome)) {
      this.#stream(entry, outcome, call);
      return;
    }
    Promise.resolve(outcome).then(
      (result) => {
        if (isAsyncIterable(result)) this.#stream(entry, result, call);
        else this.#answer(entry, result, call);
      },
      (thrown: unknown) => {
        if (!call.settled) call.fail(this.#explain(thrown, entry, call));
        else if (!(thrown instanceof CoreError))
          this.#log.debug({ err: thrown, operation: entry.name }, 'handler failed after its call had ended');
      },
    );
  }

  #stream(entry: OperationEntry, items: AsyncIterable<unknown>, call: PendingCall): void {
    if (call.settled) {
      Promise.resolve(items[Symbol.asyncIterator]().return?.()).catch((thrown: unknown) =>
        this.#explain(thrown, entry, call),
      );
      return;
    }
    const { ended, answer } = call.outlive();
    answer(relay(items, call, ended, (thrown) => this.#explain(thrown, entry, call)));
  }

  #answer(entry: OperationEntry, result: unknown, call: PendingCall): void {
    if (call.settled) {
      this.late++;
      this.#log.debug({ operation: entry.name, late: this.late }, 'dropped an answer that came too late');
      return;
    }
    const wrong = this.#checkResults() ? entry.checkResult(result) : undefined;
    if (wrong === undefined) call.succeed(result);
    else call.fail(this.#explain(new Error(`the result does not fit its schema: ${wrong}`), entry, call));
  }

  #runStream(entry: StreamEntry, params: unknown, channel: StreamChannel, call: PendingCall): void {
    const closed = (): void => call.cancel(channel.signal.reason);
    if (channel.signal.aborted) {
      closed();
      return;
    }
    const { ended, answer } = call.outlive();
    channel.signal.addEventListener('abort', closed, { once: true });
    const over = (): void => {
      channel.signal.removeEventListener('abort', closed);
      call.succeed(undefined);
    };
    const work = (async () => entry.run(params, channel, call))().then(over, (thrown: unknown) => {
      if (call.settled) return;
      over();
      throw this.#explain(thrown, entry, call);
    });
    const { promise: done, resolve, reject } = Promise.withResolvers<void>();
    work.then(resolve, reject);
    ended.catch(reject);
    done.catch(() => undefined); // the front end reports it; here it only must not count as unhandled
    answer({ done });
  }

  /** Error as the caller sees it. One outside the table is a fault of the Core or a plugin: logged here, once. */
  #explain(thrown: unknown, { name, user }: Entry, call?: PendingCall): CoreError {
    if (thrown instanceof CoreError && thrown.code === 'CAPABILITY_DENIED') this.#refused?.();
    // Only under its own name: what another plugin's code means is for that plugin to say.
    const foreign =
      thrown instanceof CoreError && thrown.kind ? pluginErrorProblem(thrown.kind, user?.plugin) : undefined;
    if (thrown instanceof CoreError && foreign === undefined) return thrown;
    const error =
      foreign === undefined ? toCoreError(thrown, name) : new CoreError('INTERNAL', { what: name }, { cause: thrown });
    // A full disk is no fault of a plugin.
    if (error.code !== 'INTERNAL') return error;
    user?.failed('operation');
    (call?.log ?? this.#log).error(
      { err: thrown, operation: name, plugin: user?.plugin, reason: foreign },
      `operation ${name} failed`,
    );
    return error;
  }
}

/** Throws CALLER_DENIED: a page that signed in to look changes nothing. */
function mayCall({ name, reads }: Pick<Entry, 'name' | 'reads'>, { signedIn }: Caller): void {
  if (signedIn === undefined || signedIn.role === 'operator' || reads) return;
  const reason =
    'this page signed in as a viewer, who may look and change nothing; "devicectl web" makes a code for more';
  throw new CoreError('CALLER_DENIED', { verb: `call ${name}`, reason });
}
