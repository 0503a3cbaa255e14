import { CoreError, reasonOf } from '@device-core/plugin-api';
import { type Exported, type Exports, released } from './exports.ts';
import { AWAIT, DISPOSE, ITERATE, NEXT, RETURN, SELF } from './protocol.ts';

type Method = (...args: readonly unknown[]) => unknown;

/** The peer as incoming calls need it. */
export interface Served {
  readonly exports: Exports;
  /** Calls under way that no honest peer exceeds. */
  readonly limit: number;
  /** Forgets signals that have no listener any more. */
  forget(signals: readonly number[]): void;
  /** Sends an answer and returns its exports. Throws if it cannot be sent. */
  answer(call: number, ok: boolean, value: unknown): readonly number[];
  onUnheard(error: unknown): void;
  /** Does it now, or when this side has time for this peer again. */
  inTurn(work: () => void): void;
}

/** Calls of the other side: each is answered once, and what it answers with stays until it is released. */
export class Serving {
  readonly #served: Served;
  /** Not answered yet. */
  readonly #calls = new Map<number, PromiseLike<unknown>>();
  /** Answers that can be disposed of, by call. */
  readonly #disposables = new Map<number, number>();
  #closed = false;

  constructor(served: Served) {
    this.#served = served;
  }

  get size(): number {
    return this.#calls.size;
  }

  /** `signals` came with the arguments. Throws where the other side breaks the rules. */
  serve(call: number, target: number, method: string, args: readonly unknown[], signals: readonly number[]): void {
    let result: unknown;
    try {
      result = this.#invoke(target, method, args);
    } catch (error) {
      this.#answer(call, false, error, signals);
      return;
    }
    if (!isThenable(result)) {
      this.#answer(call, true, result, signals);
      return;
    }
    if (call !== 0) this.#calls.set(call, result);
    if (this.#calls.size > this.#served.limit) throw new RangeError('there are too many calls under way');
    result.then(
      (value) => this.#settled(call, true, value, signals),
      (error: unknown) => this.#settled(call, false, error, signals),
    );
  }

  /** An answer costs as much as its call, or more: many that come together have no turn in common. */
  #settled(call: number, ok: boolean, value: unknown, signals: readonly number[]): void {
    if (call === 0 || this.#closed) this.#answer(call, ok, value, signals);
    else this.#served.inTurn(() => this.#answer(call, ok, value, signals));
  }

  /** The other side is gone: what it was given to dispose of is disposed of, what it read is closed. */
  close(): void {
    this.#closed = true;
    const { exports } = this.#served;
    const given = [...this.#disposables.values()].flatMap((ref) => exports.get(ref)?.value ?? []);
    // Later objects may use earlier ones, so the last one ends first.
    for (const value of given.reverse()) this.#end(() => dispose(value));
    for (const iterator of exports.iterators()) this.#end(() => iterator.return?.());
    this.#calls.clear();
    this.#disposables.clear();
  }

  #end(fn: () => unknown): void {
    new Promise((resolve) => resolve(fn())).catch((error: unknown) => this.#served.onUnheard(error));
  }

  #invoke(target: number, method: string, args: readonly unknown[]): unknown {
    if (target < 0 && method === DISPOSE) return this.#disposeAnswer(-target);
    const exported = this.#served.exports.get(target);
    if (!exported) {
      if (method === NEXT || method === RETURN) return { done: true, value: undefined };
      if (method === DISPOSE) return undefined;
      throw released('this side');
    }
    const { value, methods } = exported;
    if (method === NEXT || method === RETURN) return iterate(exported, method);
    if (!methods.has(method)) throw new CoreError('METHOD_NOT_FOUND', { name: method || 'of that object' });
    if (exported.muted) return undefined;
    if (method === SELF) return (value as Method)(...args);
    if (method === AWAIT) return this.#last(target, value);
    if (method === DISPOSE) return this.#last(target, dispose(value));
    return (value as Record<string, Method>)[method]!(...args);
  }

  /** It is gone when this is done. */
  async #last(ref: number, work: unknown): Promise<unknown> {
    try {
      return await work;
    } finally {
      this.#served.exports.release(ref);
    }
  }

  #disposeAnswer(call: number): unknown {
    const ref = this.#disposables.get(call);
    if (ref !== undefined) return this.#invoke(ref, DISPOSE, []);
    // It may still be under way, or have answered with something else.
    return this.#calls.get(call)?.then(
      (value) => dispose(Object(value)),
      () => undefined,
    );
  }

  #answer(call: number, ok: boolean, value: unknown, signals: readonly number[]): void {
    this.#calls.delete(call);
    if (this.#closed) {
      if (ok && isDisposable(value)) this.#end(() => dispose(value as object)); // the caller is gone
      return;
    }
    const { exports } = this.#served;
    const over = () => this.#served.forget(signals);
    if (call === 0) {
      over();
      if (!ok) this.#served.onUnheard(value);
      return;
    }
    let held: readonly number[];
    try {
      held = this.#served.answer(call, ok, value);
    } catch (error) {
      this.#answer(call, false, error instanceof CoreError ? error : new Error(reasonOf(error)), signals);
      return;
    }
    const first = held[0];
    if (first !== undefined && isDisposable(value)) {
      this.#disposables.set(call, first);
      exports.whenReleased([first], () => void this.#disposables.delete(call));
    }
    // Values of the answer may still need the caller's abort signals.
    if (held.length > 0 && signals.length > 0) exports.whenReleased(held, over);
    else over();
  }
}

/** Runs the reads of an iterator one after the other. */
function iterate(exported: Exported, method: typeof NEXT | typeof RETURN): unknown {
  if (!exported.methods.has(ITERATE)) throw new TypeError('that cannot be iterated');
  exported.iterator ??= (exported.value as AsyncIterable<unknown>)[Symbol.asyncIterator]();
  const { iterator } = exported;
  if (method === RETURN) return iterator.return?.();
  const read = () => iterator.next();
  const item = exported.last ? exported.last.then(read, read) : read();
  exported.last = item;
  return item;
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | undefined)?.then === 'function';
}

function isDisposable(value: unknown): boolean {
  return typeof value === 'object' && value !== null && (Symbol.asyncDispose in value || Symbol.dispose in value);
}

function dispose(value: object): unknown {
  const { [Symbol.asyncDispose]: later, [Symbol.dispose]: now } = value as Partial<AsyncDisposable & Disposable>;
  return later ? later.call(value) : now?.call(value);
}
