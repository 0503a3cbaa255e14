import type { Logger } from '@device-core/plugin-api';
import { CoreError, LazyAbort, reasonOf, steadyMs } from '@device-core/plugin-api';
import { Decoder, type Importer } from './decoder.ts';
import { describe, Encoder, isActive } from './encoder.ts';
import { Exports, released } from './exports.ts';
import { Inbox, type Turns } from './inbox.ts';
import { Outbox } from './outbox.ts';
import {
  ABORT,
  ANSWER,
  AWAIT,
  CALL,
  DISPOSE,
  LIMITS,
  MARK,
  type Message,
  NEXT,
  PASSED,
  type Port,
  RELEASE,
  RETURN,
  type RemoteLimits,
  SELF,
  type Slots,
} from './protocol.ts';
import { RemoteCall } from './remote-call.ts';
import { RemoteIterator } from './remote-iterator.ts';
import { Serving } from './serving.ts';

export interface PeerOptions {
  /** Name of the other end in messages: `plugin weather`. */
  readonly name: string;
  /** Object that the other side may call from the beginning. */
  readonly root: object;
  /** Log of the contexts of calls that come in. */
  readonly log: Logger;
  readonly limits?: Partial<RemoteLimits>;
  /** The other side broke the rules of the border: it cannot be trusted any more. */
  readonly onBreach: (error: CoreError) => void;
  /** Something failed whose caller did not wait for it. */
  readonly onUnheard?: (error: unknown) => void;
  /** Called for each message that the other side begins. */
  readonly onRequest?: () => void;
  /** Limit of the time that its messages may keep the event loop at once; without it there is none. */
  readonly turns?: Turns;
}

/** The exports of a call that last until the last thing of its answer is released. */
interface Group {
  open: number;
  readonly held: readonly number[];
}

/** One end of a border: calls what the other side exported, and lets it call what this side exports. */
export class Peer {
  readonly #port: Port;
  readonly #options: PeerOptions;
  readonly #limits: RemoteLimits;
  readonly #pending = new Map<number, RemoteCall<unknown>>();
  readonly #standIns = new WeakMap<object, number>();
  readonly #lives = new Map<number, object>();
  readonly #signals = new Map<number, LazyAbort>();
  readonly #groups = new Map<number, Group>();
  readonly #exports: Exports;
  readonly #serving: Serving;
  readonly #garbage = new FinalizationRegistry<number>((ref) => this.#release(ref));
  readonly #decoder: Decoder;
  readonly #inbox: Inbox;
  readonly #outbox: Outbox;
  #calls = 0;
  #closed: CoreError | undefined;
  #sweeper: NodeJS.Timeout | undefined;

  constructor(port: Port, options: PeerOptions) {
    this.#port = port;
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
    this.#exports = new Exports(this.#standIns, (ref, reason) => this.#tellAbort(ref, reason));
    this.#exports.root(options.root, describe(options.root).methods);
    this.#decoder = new Decoder(this.#makeImporter());
    this.#serving = this.#makeServing();
    this.#outbox = new Outbox(port, this.#limits.windowBytes);
    this.#inbox = new Inbox({
      port,
      turns: options.turns,
      isHeld: () => this.isFull,
      dispatch: (message) => this.#dispatch(message),
      onBreach: (error) => this.#breach(error),
    });
  }

  /** Numbers of held items on this side; all zero at rest. */
  get counts(): {
    readonly exports: number;
    readonly calls: number;
    readonly running: number;
    readonly groups: number;
  } {
    const exports = this.#exports.size - (this.#closed ? 0 : 1);
    return { exports, calls: this.#pending.size, running: this.#serving.size, groups: this.#groups.size };
  }

  /** Calls a method of the other side's root. */
  call<T = unknown>(method: string, ...args: readonly unknown[]): RemoteCall<T> {
    return this.#call(0, method, args) as RemoteCall<T>;
  }

  /** The same for what the other side keeps: callbacks that are handed over live until the end. */
  offer<T = unknown>(method: string, ...args: readonly unknown[]): RemoteCall<T> {
    return this.#call(0, method, args, true) as RemoteCall<T>;
  }

  /** More waits for the other side than it should. */
  get isFull(): boolean {
    return this.#outbox.waiting >= this.#limits.waitingBytes.notifications;
  }

  /** A call without an answer; a failure is reported on the other side. */
  notify(method: string, ...args: readonly unknown[]): void {
    if (this.#closed) return;
    this.#say(args, (value, slots) => [CALL, 0, 0, method, value, slots], false);
  }

  /** Resolves when every unobserved call is answered, or after `ms`. */
  async quiet(ms: number): Promise<void> {
    // Calls without a deadline are left out: a lent promise, or a call that lives as long as a session, may last for ever.
    const unheard = [...this.#pending.values()].filter(
      ({ observed, deadline }) => !observed && deadline !== Number.POSITIVE_INFINITY,
    );
    if (unheard.length === 0) return;
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, ms);
    const heard = unheard.map((call) => Promise.prototype.then.call(call, undefined, () => undefined));
    await Promise.race([Promise.all(heard), late.promise]);
    clearTimeout(timer);
  }

  /** Everything under way fails with the reason; idempotent. */
  close(reason: CoreError): void {
    if (this.#closed) return;
    this.#outbox.end();
    const unsaid = this.#inbox.close();
    this.#closed = reason;
    clearInterval(this.#sweeper);
    this.#serving.close();
    for (const answer of unsaid) answer(); // what it would have given is disposed of
    this.#exports.clear();
    this.#groups.clear();
    this.#lives.clear();
    for (const controller of this.#signals.values()) controller.abort(reason);
    this.#signals.clear();
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    for (const call of pending) this.#fail(call, reason);
    this.#port.close();
  }

  // ---- calls from here ----

  #call(target: number, method: string, args: readonly unknown[], forGood = false): RemoteCall<unknown> {
    const call = RemoteCall.make();
    const refusal = this.#refusal(method);
    if (refusal) {
      this.#fail(call, refusal);
      return call;
    }
    try {
      const number = ++this.#calls;
      const held = this.#say(args, (value, slots) => [CALL, number, target, method, value, slots]);
      call.end = this.#disposeResult;
      call.number = number;
      call.method = method;
      if (!forGood) call.held = held;
      call.began = performance.now();
      this.#limit(call, args);
      this.#pending.set(number, call);
      this.#sweeper ??= setInterval(() => this.#sweep(), this.#limits.sweepMs).unref();
    } catch (error) {
      this.#fail(call, error);
    }
    return call;
  }

  #fail(call: RemoteCall<unknown>, error: unknown): void {
    this.#hear(call);
    call.fail(error);
  }

  /** Reports the failure of an unobserved call a tick later: the caller may still begin to wait. */
  #hear(call: RemoteCall<unknown>): void {
    const untold = (error: unknown) => {
      if (!call.observed && !this.#closed) this.#options.onUnheard?.(error);
    };
    Promise.prototype.then.call(call, undefined, (error) => void setImmediate(untold, error));
  }

  #refusal(method: string): CoreError | undefined {
    if (this.#closed) return this.#closed;
    const what = `${method} of ${this.#options.name}`;
    if (this.#pending.size >= this.#limits.inFlight)
      return new CoreError('BUSY', { what, limit: this.#limits.inFlight });
    const { calls } = this.#limits.waitingBytes;
    if (this.#outbox.waiting < calls || method.startsWith('@')) return undefined; // what ends something always goes
    return new CoreError('BUSY', { what, limit: `${calls >> 20} MiB` });
  }

  /** Ends what a call answers, or will answer, before what is asked next: what comes after may count on it. */
  readonly #disposeResult = async (call: RemoteCall<unknown>): Promise<void> => {
    if (this.#closed) return;
    if (!this.#pending.has(call.number)) {
      await (call.result as Partial<AsyncDisposable> | null | undefined)?.[Symbol.asyncDispose]?.();
      return;
    }
    this.#exports.mute(call.held);
    const [disposed, result] = await Promise.allSettled([this.#call(-call.number, DISPOSE, []), call]);
    const ref = result.status === 'fulfilled' ? this.#standIns.get(Object(result.value)) : undefined;
    if (ref !== undefined) this.#release(ref, false);
    if (disposed.status === 'rejected' && !this.#closed) throw disposed.reason;
  };

  /** Sets the deadline of a call. There is none for a call with the life of a session or stream, for NEXT and for AWAIT. */
  #limit(call: RemoteCall<unknown>, args: readonly unknown[]): void {
    call.deadline = Number.POSITIVE_INFINITY;
    if (call.method === NEXT || call.method === AWAIT) return;
    let ms = this.#limits.callMs;
    for (const arg of args) {
      if (typeof arg !== 'object' || arg === null || !('signal' in arg)) continue;
      if ('deadline' in arg && 'caller' in arg) ms = Number(arg.deadline) - steadyMs() + this.#limits.graceMs;
      else if (arg.signal instanceof AbortSignal && isActive(arg)) call.signal = arg.signal;
    }
    if (!call.signal) call.deadline = call.began + ms;
  }

  #sweep(): void {
    const now = performance.now();
    for (const [number, call] of this.#pending) {
      if (call.signal?.aborted) call.deadline = Math.min(call.deadline, now + this.#limits.callMs);
      if (call.deadline > now) continue;
      const { name } = this.#options;
      const what = call.method === SELF ? `a callback of ${name}` : `${call.method} of ${name}`;
      const error = new CoreError('TIMEOUT', { what, ms: Math.round(now - call.began) });
      this.#pending.delete(number);
      this.#exports.abort(call.held, error);
      this.#exports.releaseAll(call.held);
      this.#fail(call, error);
    }
    if (this.#pending.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  #answered(number: number, ok: boolean, value: unknown, slots: Slots): void {
    const opened: number[] = [];
    this.#opened = opened;
    const result: unknown = this.#decoder.decode(value, slots);
    this.#opened = undefined;
    const call = this.#pending.get(number);
    if (!call) {
      for (const ref of opened) this.#send([RELEASE, ref]); // it came too late
      return;
    }
    this.#pending.delete(number);
    if (opened.length === 0) this.#exports.releaseAll(call.held);
    else {
      const group: Group = { open: opened.length, held: call.held };
      for (const ref of opened) this.#groups.set(ref, group);
    }
    call.result = result;
    if (!ok) this.#fail(call, result);
    else {
      if (typeof (result as PromiseLike<unknown> | undefined)?.then === 'function') this.#hear(call); // it may fail yet
      call.settle(result);
    }
  }

  /** Signals that came with the call being decoded: they end with it. */
  #arrived: number[] | undefined;
  /** Stand-ins that came with the answer being decoded. */
  #opened: number[] | undefined;

  /** This side has no use for it any more. */
  #release(ref: number, tell = true): void {
    const group = this.#groups.get(ref);
    if (!group) return;
    this.#groups.delete(ref);
    group.open--;
    if (group.open === 0) this.#exports.releaseAll(group.held);
    if (tell && !this.#closed) this.#send([RELEASE, ref]);
  }

  // ---- calls from there ----

  #breach(error: unknown): void {
    const reason = `it broke the rules of the border: ${reasonOf(error)}`;
    this.#options.onBreach(new CoreError('UNAVAILABLE', { what: this.#options.name, reason }, { cause: error }));
  }

  #dispatch(message: Message): void {
    if (this.#closed) return;
    switch (message[0]) {
      case CALL: {
        const [, call, target, method, args, slots] = message;
        this.#options.onRequest?.();
        const signals: number[] = [];
        this.#arrived = signals;
        const decoded = this.#decoder.decode(args, slots);
        this.#arrived = undefined;
        this.#serving.serve(call, target, method, decoded, signals);
        return;
      }
      case ANSWER:
        this.#answered(message[1], message[2], message[3], message[4]);
        return;
      case RELEASE:
        this.#exports.release(message[1]);
        return;
      case ABORT: {
        const [, ref, reason, slots] = message;
        this.#lives.delete(ref);
        const controller = this.#signals.get(ref);
        this.#signals.delete(ref);
        controller?.abort(this.#decoder.decode(reason, slots));
        return;
      }
      case MARK:
        this.#outbox.reached(message[1]);
        return;
      case PASSED:
        this.#outbox.passed(message[1]);
        return;
      default:
        throw new TypeError('there is a message of no known kind');
    }
  }

  // ---- the wire ----

  /**
   * Sends a message with a value and returns its exports. Without `keep` they are forgotten at once, because no answer would release them.
   * Throws if the value cannot be sent; nothing is sent then.
   */
  #say<T>(value: T, message: (encoded: T, slots: Slots) => Message, keep = true): readonly number[] {
    const encoder = new Encoder(this.#exports, this.#port.clones, this.#limits.bytes);
    let kept = false;
    try {
      this.#send(message(...encoder.encode(value)), encoder.bytes, encoder.transfer);
      kept = keep;
      return encoder.held;
    } finally {
      if (!kept) this.#exports.releaseAll([...encoder.held, ...encoder.lives]);
    }
  }

  #send(message: Message, bytes?: number, transfer?: readonly ArrayBuffer[]): void {
    if (!this.#closed) this.#outbox.add(message, bytes, transfer);
  }

  #tellAbort(ref: number, reason: unknown): void {
    if (!this.#closed) this.#say(reason, (value, slots) => [ABORT, ref, value, slots]);
  }

  #makeServing(): Serving {
    return new Serving({
      exports: this.#exports,
      limit: 2 * this.#limits.inFlight,
      forget: (signals) => {
        for (const ref of signals) this.#signals.delete(ref);
      },
      answer: (call, ok, value) => this.#say(value, (encoded, slots) => [ANSWER, call, ok, encoded, slots]),
      onUnheard: (error) => this.#options.onUnheard?.(error),
      inTurn: (work) => this.#inbox.answer(work),
    });
  }

  #makeImporter(): Importer {
    return {
      log: this.#options.log,
      own: (ref, signal) => {
        const exported = this.#exports.get(ref);
        if (exported) return exported.value;
        return signal ? AbortSignal.abort(released('this side')) : () => Promise.reject(released('this side'));
      },
      call: (ref, method, args) => {
        if (method === AWAIT) this.#opened?.push(ref);
        if (method === DISPOSE) this.#exports.mute(this.#groups.get(ref)?.held ?? []);
        const answer = this.#call(ref, method, args);
        if (method !== DISPOSE && method !== AWAIT) return answer;
        const gone = () => this.#release(ref, false); // the other side forgets it by itself
        Promise.prototype.then.call(answer, gone, gone);
        return answer;
      },
      iterate: (ref, release) =>
        new RemoteIterator(
          () => this.#call(ref, NEXT, []) as Promise<IteratorResult<unknown>>,
          () => this.#call(ref, RETURN, []),
          release,
        ),
      signal: (ref, lasting) => {
        const abort: LazyAbort = new LazyAbort(() => {
          if (!lasting) this.#standIns.set(abort.signal, ref);
        });
        this.#signals.set(ref, abort);
        if (!lasting) this.#arrived?.push(ref);
        return abort;
      },
      known: (ref) => {
        const standIn = this.#lives.get(ref);
        if (!standIn) throw new TypeError(`there is no ${ref} any more`);
        return standIn;
      },
      keep: (ref, standIn, live, disposable) => {
        this.#standIns.set(standIn, ref);
        if (live) this.#lives.set(ref, standIn);
        else if (this.#opened) {
          this.#opened.push(ref);
          if (!disposable) this.#garbage.register(standIn, ref); // a lost stand-in cannot be ended
        }
      },
      release: (ref) => this.#release(ref),
    };
  }
}
