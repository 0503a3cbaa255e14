/** Answers of a service as a guest may have them: the members that the contract declares, and no others. */
import { Secret } from '../../contract/secret.ts';
import type { Given } from './contract.ts';

/** Values that cross a border by copy, or in a form of their own. */
const COPIED = [Array, ArrayBuffer, SharedArrayBuffer, Date, RegExp, Map, Set, Error, AbortSignal, Secret] as const;

type Keyed = Readonly<Record<PropertyKey, unknown>>;

/** `given` undefined: data. A promise is answered by one for the same. */
export function handed(answer: unknown, given: Given | undefined): unknown {
  if (typeof answer !== 'object' || answer === null || given === 'any') return answer;
  if (!isThenable(answer)) return shaped(answer, given);
  const later: Record<PropertyKey, unknown> = {
    // biome-ignore lint/suspicious/noThenProperty: the answer of another thread is promise, iterable and disposable in one
    then: (done?: (value: unknown) => unknown, failed?: (error: unknown) => unknown) =>
      answer.then((value) => shaped(value, given)).then(done, failed),
  };
  const active = Symbol.asyncIterator in answer || Symbol.asyncDispose in answer || Symbol.dispose in answer;
  if (!active) return answer.then((value) => shaped(value, given));
  return typeof given === 'string' ? Object.assign(later, bySymbol(answer, given)) : later;
}

function shaped(answer: unknown, given: Given | undefined): unknown {
  if (typeof answer !== 'object' || answer === null) return answer;
  if (given === undefined) return isData(answer) ? answer : dataOf(answer);
  const from = answer as Keyed;
  if (typeof given === 'string') return bySymbol(answer, given);
  const view = bySymbol(answer, 'dispose');
  for (const name of given) {
    const member = from[name];
    if (name in from) view[name] = typeof member === 'function' ? calling(answer, member) : member;
  }
  return view;
}

/** An object that can be disposed of or iterated, and nothing else. */
function bySymbol(answer: object, given: 'dispose' | 'iterate' | 'any'): Record<PropertyKey, unknown> {
  const symbols = given === 'iterate' ? [Symbol.asyncIterator] : [Symbol.asyncDispose, Symbol.dispose];
  const view: Record<PropertyKey, unknown> = {};
  for (const symbol of symbols) {
    const member = (answer as Keyed)[symbol];
    if (typeof member === 'function') view[symbol] = calling(answer, member);
  }
  return view;
}

/** No bound function: `await using` of V8 13.6 does not take one. */
function calling(self: object, member: object): (...args: readonly unknown[]) => unknown {
  return (...args) => Reflect.apply(member as () => unknown, self, args);
}

function isThenable(value: object): value is PromiseLike<unknown> {
  return typeof (value as Partial<PromiseLike<unknown>>).then === 'function';
}

function isData(value: object): boolean {
  if (ArrayBuffer.isView(value) || COPIED.some((one) => value instanceof one)) return true;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  const symbols = Symbol.asyncIterator in value || Symbol.asyncDispose in value || Symbol.dispose in value;
  return !symbols && Object.values(value).every((member) => typeof member !== 'function');
}

function dataOf(value: object): Keyed {
  const data: Record<string, unknown> = {};
  for (let owner = value; owner && owner !== Object.prototype; owner = Object.getPrototypeOf(owner))
    for (const key of Object.getOwnPropertyNames(owner)) {
      if (key === '__proto__' || Object.hasOwn(data, key)) continue;
      const member = (value as Keyed)[key];
      if (typeof member !== 'function') data[key] = member;
    }
  return data;
}
