import { type CallContext, type Logger, Secret } from '@device-core/plugin-api';
import { logOfTrace } from '@device-core/plugin-api/tracing';
import { errorOf } from './errors.ts';
import { AWAIT, DISPOSE, type Form, ITERATE, type Path, SELF, type Slots } from './protocol.ts';

/** Peer of a decoder: it makes stand-ins for values that stay on the other side. */
export interface Importer {
  readonly log: Logger;
  own(ref: number, signal: boolean): object;
  call(ref: number, method: string, args: readonly unknown[]): unknown;
  iterate(ref: number, release: () => void): AsyncIterator<unknown>;
  /** `lasting`: until it aborts, else until the call is over that brought it. */
  signal(ref: number, lasting: boolean): { readonly signal: AbortSignal };
  /** The stand-in of a live object that came before. Throws if there is none. */
  known(ref: number): object;
  keep(ref: number, standIn: object, live: boolean, disposable: boolean): void;
  release(ref: number): void;
}

/** Puts what the slots hold back into the value, which must be fresh from the port. Throws where a slot has no place. */
export class Decoder {
  readonly #importer: Importer;
  constructor(importer: Importer) {
    this.#importer = importer;
  }

  decode<T>(value: T, slots: Slots): T {
    if (!slots) return value;
    let root: unknown = value;
    for (const [path, form] of slots) {
      if (path.length === 0) root = this.#form(form);
      else put(root, path, this.#form(form));
    }
    return root as T;
  }

  #form(form: Form): unknown {
    switch (form[0]) {
      case 'yours':
        return this.#importer.own(form[1], form[2]);
      case 'known':
        return this.#importer.known(form[1]);
      case 'function':
        return this.#function(form[1]);
      case 'object':
        return this.#object(form);
      case 'promise':
        return this.#importer.call(form[1], AWAIT, []);
      case 'signal':
        return this.#importer.signal(form[1], false).signal;
      case 'aborted':
        return AbortSignal.abort(this.decode(form[1], form[2]));
      case 'context': {
        const context = this.decode(form[1], form[2]) as CallContext;
        return Object.assign(context, { log: logOfTrace(this.#importer.log, context.trace) });
      }
      case 'call': {
        const [, kind, id, deadline, ref] = form;
        const { log } = this.#importer;
        const abort = this.#importer.signal(ref, false);
        // The signal is made at its first use: most calls end before an abort is possible.
        return {
          caller: { kind, id },
          deadline,
          log,
          get signal() {
            return abort.signal;
          },
        };
      }
      case 'secret':
        return new Secret(String(form[1]), (this.#form(form[2]) as Secret).reveal);
      case 'map': {
        const items = this.decode(form[1], form[2]);
        return new Map(Array.from({ length: items.length / 2 }, (_, at) => [items[2 * at], items[2 * at + 1]]));
      }
      case 'set':
        return new Set(this.decode(form[1], form[2]));
      default:
        return errorOf(form, (details, slots) => this.decode(details, slots));
    }
  }

  #function(ref: number): (...args: unknown[]) => unknown {
    const standIn = (...args: unknown[]): unknown => this.#importer.call(ref, SELF, args);
    this.#importer.keep(ref, standIn, false, false);
    return standIn;
  }

  #object([, ref, methods, data, slots, live]: Extract<Form, readonly ['object', ...unknown[]]>): object {
    const importer = this.#importer;
    const standIn = this.decode(data, slots) as Record<PropertyKey, unknown>;
    const signal = live ? importer.signal(ref, true).signal : undefined;
    if (signal) standIn.signal = signal;
    const call = (method: string, args: readonly unknown[]) => {
      if (signal?.aborted) return ended(signal.reason);
      // A held method keeps the object: it must not be released as garbage before.
      return standIn && importer.call(ref, method, args);
    };
    for (const method of methods) {
      if (method === ITERATE) {
        standIn[Symbol.asyncIterator] = () => importer.iterate(ref, () => void (standIn && importer.release(ref)));
      } else if (method === DISPOSE) {
        const dispose = async () => void (await call(DISPOSE, []));
        standIn[Symbol.asyncDispose] = dispose;
        standIn[Symbol.dispose] = () => void dispose().catch((err) => importer.log.warn({ err }, 'cannot dispose'));
      } else if (method !== '__proto__') standIn[method] = (...args: unknown[]) => call(method, args);
    }
    importer.keep(ref, standIn, live, methods.includes(DISPOSE));
    return standIn;
  }
}

function ended(reason: unknown): Promise<never> {
  const failure = Promise.reject(reason);
  failure.catch(() => undefined); // who does not wait for the answer does not want to know
  return failure;
}

/** The place must be there already: nothing of the other side's choosing is ever reached through a prototype. */
function put(root: unknown, path: Path, value: unknown): void {
  let node = root as Record<string | number, unknown>;
  for (const [depth, key] of path.entries()) {
    if (typeof node !== 'object' || node === null || !Object.hasOwn(node, key)) {
      throw new TypeError(`there is no ${path.join('.')} in the message`);
    }
    if (depth < path.length - 1) node = node[key] as typeof node;
    else node[key] = value;
  }
}
