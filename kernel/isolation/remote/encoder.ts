import type { Caller } from '@device-core/plugin-api';
import { CoreError, Secret } from '@device-core/plugin-api';
import { errorForm } from './errors.ts';
import { DISPOSE, type Form, ITERATE, LIMITS, type Slot, type Slots } from './protocol.ts';

/** Peer of an encoder: it gives numbers to values that stay here. */
export interface Exporter {
  /** The other side's number of the value, if it came from there. */
  theirs(value: object): number | undefined;
  export(value: object, methods: readonly string[], held: number[]): number;
  exportSignal(signal: AbortSignal, held: number[]): number;
  /** An object that lives until its signal aborts; `known`: the other side has it already. */
  exportLive(value: object, signal: AbortSignal, methods: readonly string[]): Live;
}

export interface Live {
  readonly ref: number;
  readonly known: boolean;
  /** Other exports that it holds. */
  readonly held: number[];
}

interface Described {
  readonly methods: readonly string[];
  readonly data: Record<string, unknown>;
}

const DEEP = 4;
/** Weights of a member, a container and a value with a slot: small ones cost the other side far more than their bytes. */
const MEMBER_BYTES = 8;
const CONTAINER_BYTES = 64;
const SLOT_BYTES = 512;
const TypedArray = Object.getPrototypeOf(Uint8Array) as abstract new () => Uint8Array;

/** Encodes the values of one message. What it exports is noted in `held`. */
export class Encoder {
  readonly held: number[];
  readonly transfer: ArrayBuffer[] = [];
  /** Live objects that this message is the first to carry. */
  readonly lives: number[] = [];
  readonly #exporter: Exporter;
  readonly #clones: boolean;
  readonly #limit: number;
  #slots: Slot[] | undefined;
  #path: (string | number)[] = [];
  #seen: Set<object> | undefined;
  #bytes = 0;

  constructor(exporter: Exporter, clones: boolean, limit: number, held: number[] = []) {
    this.#exporter = exporter;
    this.#clones = clones;
    this.#limit = limit;
    this.held = held;
  }

  /** Rough size of the values so far. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Throws PARAMS_INVALID for a symbol, BODY_TOO_LARGE. */
  encode<T>(value: T): readonly [T, Slots] {
    return this.#apart(() => this.#value(value) as T);
  }

  /** Encodes a value with separate slots. */
  #apart<T>(encode: () => T): readonly [T, Slots] {
    const outer = { slots: this.#slots, path: this.#path };
    this.#slots = undefined;
    this.#path = [];
    const encoded = encode();
    const slots = this.#slots;
    this.#slots = outer.slots;
    this.#path = outer.path;
    return [encoded, slots];
  }

  #value(value: unknown): unknown {
    if (typeof value === 'string') return this.#count(value.length, value);
    if (typeof value === 'function') return this.#slot(this.#function(value));
    if (typeof value === 'symbol') {
      throw new CoreError('PARAMS_INVALID', { where: 'a value', reason: `${String(value)} cannot cross the border` });
    }
    return typeof value === 'object' && value !== null ? this.#object(value) : value;
  }

  #object(value: object): unknown {
    if (Array.isArray(value)) return this.#members(value as never, value.length);
    const prototype = Object.getPrototypeOf(value);
    if (prototype === Object.prototype || prototype === null) {
      if (isContext(value) && Object.keys(value).every(isOfContext)) return this.#slot(this.#context(value));
      return isActive(value) ? this.#slot(this.#reference(value)) : this.#members(value as Record<string, unknown>);
    }
    if (ArrayBuffer.isView(value)) return this.#view(value);
    if (value instanceof ArrayBuffer) return this.#count(value.byteLength, value);
    if (value instanceof Date || value instanceof RegExp || value instanceof SharedArrayBuffer) return value;
    if (value instanceof Map) return this.#collection('map', [...value].flat(1), value);
    if (value instanceof Set) return this.#collection('set', [...value], value);
    if (value instanceof Error) return this.#slot(errorForm(value, (details) => this.encode(details)));
    if (value instanceof AbortSignal) return this.#slot(this.#signal(value));
    if (isContext(value)) return this.#slot(this.#context(value));
    if (value instanceof Secret) return this.#slot(['secret', value.name, this.#reference(value)]);
    if (typeof (value as PromiseLike<unknown>).then === 'function') {
      return this.#slot(['promise', this.#exporter.export(value, ['@await'], this.held)]);
    }
    return this.#slot(this.#reference(value));
  }

  /** The same container, or a copy where something in it is carried otherwise. */
  #members(container: Record<string | number, unknown>, length?: number): object {
    if (this.#path.length >= DEEP) {
      this.#seen ??= new Set();
      if (this.#seen.has(container)) return container; // a circle: what is special in it was met the first time
      this.#seen.add(container);
    }
    let copy: Record<string | number, unknown> | undefined;
    const keys = length === undefined ? Object.keys(container) : undefined;
    this.#count(CONTAINER_BYTES + MEMBER_BYTES * (keys?.length ?? length ?? 0), undefined);
    const visit = (key: string | number): void => {
      const member = container[key];
      if (typeof member === 'number' || typeof member === 'boolean') return;
      this.#path.push(key);
      const encoded = this.#value(member);
      this.#path.pop();
      if (encoded === member) return;
      copy ??= (Array.isArray(container) ? [...container] : { ...container }) as Record<string | number, unknown>;
      copy[key] = encoded;
    };
    if (keys) for (const key of keys) visit(key);
    else for (let index = 0; index < (length ?? 0); index++) visit(index);
    return copy ?? container;
  }

  #slot(form: Form): undefined {
    this.#slots ??= [];
    this.#slots.push([[...this.#path], form]);
    return this.#count(SLOT_BYTES, undefined);
  }

  #count<T>(bytes: number, value: T): T {
    this.#bytes += bytes;
    if (this.#bytes > this.#limit)
      throw new CoreError('BODY_TOO_LARGE', { limit: this.#limit, what: 'one message of a plugin' });
    return value;
  }

  /** A clone would take the whole buffer along, and with it what belongs to others. */
  #view(view: ArrayBufferView): ArrayBufferView {
    this.#count(view.byteLength, view);
    if (!this.#clones || !(view instanceof TypedArray)) return view;
    const whole = view.byteLength === view.buffer.byteLength;
    if (whole && view.byteLength < LIMITS.moveBytes) return view;
    const copy = view.slice();
    const own = Buffer.isBuffer(view) ? new Uint8Array(view) : copy;
    if (own.byteLength >= LIMITS.moveBytes) this.transfer.push(own.buffer as ArrayBuffer);
    return own;
  }

  #collection(kind: 'map' | 'set', items: unknown[], original: object): unknown {
    const [encoded, slots] = this.encode(items);
    return slots || encoded !== items ? this.#slot([kind, encoded, slots]) : original;
  }

  #function(fn: object): Form {
    const theirs = this.#exporter.theirs(fn);
    return theirs === undefined ? ['function', this.#exporter.export(fn, [''], this.held)] : ['yours', theirs, false];
  }

  #signal(signal: AbortSignal): Form {
    const theirs = this.#exporter.theirs(signal);
    if (theirs !== undefined && !signal.aborted) return ['yours', theirs, true];
    if (!signal.aborted) return ['signal', this.#exporter.exportSignal(signal, this.held)];
    const [reason, slots] = this.encode<unknown>(signal.reason);
    return ['aborted', reason, slots];
  }

  #context(value: object): Form {
    const { caller, deadline, signal, session, trace } = value as Record<string, unknown>;
    if ((session ?? trace) === undefined && signal instanceof AbortSignal && !signal.aborted && isCaller(caller)) {
      const theirs = this.#exporter.theirs(signal);
      if (theirs === undefined)
        return ['call', caller.kind, caller.id, Number(deadline), this.#exporter.exportSignal(signal, this.held)];
    }
    const told = { caller, deadline, signal, ...(session ? { session } : {}), ...(trace ? { trace } : {}) };
    return ['context', ...this.#apart(() => this.#members(told))];
  }

  #reference(value: object): Form {
    const theirs = this.#exporter.theirs(value);
    if (theirs !== undefined) return ['yours', theirs, false];
    const signal = 'signal' in value ? value.signal : undefined;
    const { methods, data } = describe(value);
    if (!(signal instanceof AbortSignal) || signal.aborted) {
      const ref = this.#exporter.export(value, methods, this.held);
      const [encoded, slots] = this.encode(data);
      return ['object', ref, methods, encoded, slots, false];
    }
    const { ref, known, held } = this.#exporter.exportLive(value, signal, methods);
    if (known) return ['known', ref];
    this.lives.push(ref);
    delete data.signal; // the object's own number stands for its signal, too
    const inner = new Encoder(this.#exporter, this.#clones, this.#limit, held);
    const [encoded, slots] = inner.encode(data);
    this.transfer.push(...inner.transfer);
    this.#count(inner.bytes, undefined);
    return ['object', ref, methods, encoded, slots, true];
  }
}
/**
 * A collection that finds no object of a class throws the code away that V8 compiled for it. Inside of the class tsc
 * would make it before the class.
 */
export const KEPT_ENCODER = new Encoder({} as Exporter, true, 0);

/** True for an object that cannot be copied: it has functions, or the symbols of disposables and iterables. */
export function isActive(value: object): boolean {
  for (const key in value) if (typeof (value as Record<string, unknown>)[key] === 'function') return true;
  return Symbol.asyncIterator in value || Symbol.asyncDispose in value || Symbol.dispose in value;
}

/** True for CallContext and Invocation, also with further members. */
function isContext(value: object): boolean {
  return 'caller' in value && 'deadline' in value && 'signal' in value;
}

/** A plain object with other members is a request that carries its context along, and goes as it is. */
function isOfContext(member: string): boolean {
  return ['caller', 'deadline', 'signal', 'session', 'trace', 'log'].includes(member);
}

function isCaller(value: unknown): value is Caller {
  const { kind, id } = Object(value);
  return typeof kind === 'string' && typeof id === 'string' && Object.keys(value as object).length === 2;
}

/** Methods and data of an object, those of its classes included. */
export function describe(value: object): Described {
  const methods = new Set<string>();
  const data: Record<string, unknown> = {};
  for (let owner = value; owner && owner !== Object.prototype; owner = Object.getPrototypeOf(owner)) {
    for (const key of Object.getOwnPropertyNames(owner)) {
      if (key === 'constructor' || key === '__proto__' || methods.has(key) || Object.hasOwn(data, key)) continue;
      const member = (value as Record<string, unknown>)[key];
      if (typeof member === 'function') methods.add(key);
      else data[key] = member;
    }
  }
  if (Symbol.asyncIterator in value) methods.add(ITERATE);
  if (Symbol.asyncDispose in value || Symbol.dispose in value) methods.add(DISPOSE);
  return { methods: [...methods], data };
}
