/**
 * The form of what a plugin adds. A plugin without types is told which member is wrong, in its own words, and not by a
 * TypeError of ours.
 */
import { CoreError, ERROR_CODES, type ServiceUser } from '../../index.ts';
import type { Operation } from '../../services/operations.ts';
import { isObject } from '../schema-reader.ts';
import { wrongPage } from './page-form.ts';

/** Undefined where it is good, else what is wrong: `its errors are missing`. */
type Rule = (value: unknown) => string | undefined;

const text: Rule = (value) => (typeof value === 'string' && value !== '' ? undefined : 'a text');
const flag: Rule = (value) => (typeof value === 'boolean' ? undefined : 'true or false');
const schema: Rule = (value) => (isObject(value) ? undefined : 'a schema, { type: "object" }');
const count: Rule = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 1 ? undefined : 'a whole number from 1';
const oneOf =
  (...values: readonly unknown[]): Rule =>
  (value) =>
    values.includes(value) ? undefined : `one of ${values.join(', ')}`;
const work: Rule = (value) => (typeof value === 'function' ? undefined : 'a function');
const object: Rule = (value) => (isObject(value) ? undefined : 'an object');

const errors: Rule = (value) => {
  if (!Array.isArray(value)) return 'a list: [] where run() has no errors beyond those of the gate';
  const wrong = value.find((one) => (typeof one === 'string' ? !Object.hasOwn(ERROR_CODES, one) : !isObject(one)));
  return wrong === undefined
    ? undefined
    : `a list of codes of the table and of errors of the plugin, and ${shown(wrong)} is neither`;
};
const REST: Readonly<Record<string, readonly [needed: boolean, rule: Rule]>> = {
  method: [true, oneOf('GET', 'POST', 'PUT', 'DELETE')],
  path: [true, text],
  status: [false, count],
  bodyLimit: [false, count],
  text: [false, text],
  statusBy: [false, object],
  failure: [false, object],
  bare: [false, flag],
  raw: [false, flag],
  sse: [false, flag],
};
const rest: Rule = (value) => {
  if (!isObject(value)) return 'an object with method and path';
  const wrong = wrongMember(value, REST);
  return wrong && `an object whose ${wrong}`;
};
const sensitive: Rule = (value) =>
  isObject(value) && text(value.act) === undefined ? undefined : 'an object with the text act';

const COMMON = {
  summary: [true, text],
  params: [true, schema],
  capability: [false, text],
  viewers: [false, flag],
  run: [true, work],
} as const;
const OPERATION: Readonly<Record<string, readonly [needed: boolean, rule: Rule]>> = {
  ...COMMON,
  result: [true, schema],
  errors: [true, errors],
  rest: [false, rest],
  sensitive: [false, sensitive],

  description: [false, text],
  access: [false, text],
  timeoutMs: [false, count],
  cli: [false, (value) => (Array.isArray(value) ? undefined : object(value))],
  anonymous: [false, flag],
  rpc: [false, flag],
  keepsDeadline: [false, flag],
  about: [false, work],
};
const STREAM: typeof OPERATION = { ...COMMON, direction: [true, oneOf('read', 'write', 'duplex')] };

/** Both throw OPERATION_CONFLICT, with the plugin's name. */
export function checkOperation(given: unknown, user: ServiceUser | undefined): void {
  check(given, OPERATION, user);
  const { name, page } = given as Operation;
  const wrong = page === undefined ? undefined : wrongPage(given as Operation, user?.installed === true);
  if (wrong)
    throw new CoreError('OPERATION_CONFLICT', { name, what: user ? `${wrong} (plugin ${user.plugin})` : wrong });
}
export const checkStream = (given: unknown, user: ServiceUser | undefined): void => check(given, STREAM, user);

function check(given: unknown, rules: typeof OPERATION, user: ServiceUser | undefined): void {
  const what = !isObject(given) ? 'it is no object' : (wrongName(given.name) ?? wrongMember(given, rules));
  if (what === undefined) return;
  const name = isObject(given) && typeof given.name === 'string' ? shown(given.name) : '(without a name)';
  throw new CoreError('OPERATION_CONFLICT', { name, what: user ? `${what} (plugin ${user.plugin})` : what });
}

/** Values in one operation of an author from outside, and how deep they lie. */
const MOST_VALUES = 10_000;
const DEEPEST = 64;

/**
 * Throws OPERATION_CONFLICT for an operation from outside that is more than data: one with a getter, with a function
 * beside run() and about(), too deep or with too many values.
 */
export function checkSize(given: object, user: ServiceUser): void {
  let values = 0;
  const faultOf = (value: unknown, path: string, depth: number): string | undefined => {
    values++;
    if (values > MOST_VALUES) return `it has more than ${MOST_VALUES} values`;
    if (typeof value === 'function') return `${path} is a function, and has to be data`;
    if (typeof value !== 'object' || value === null) return undefined;
    if (depth > DEEPEST) return `${path.slice(0, 60)} lies more than ${DEEPEST} deep`;
    for (const member of Object.keys(value)) {
      const { get, value: inner } = Object.getOwnPropertyDescriptor(value, member) ?? {};
      const place = path === '' ? member : `${path}.${member}`;
      if (get) return `${place.slice(0, 60)} is a getter, and has to be a value`;
      if (path === '' && (member === 'run' || member === 'about')) continue;
      const fault = faultOf(inner, place.slice(0, 200), depth + 1);
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
  const fault = faultOf(given, '', 0);
  const { name } = given as { readonly name?: unknown };
  if (fault !== undefined)
    throw new CoreError('OPERATION_CONFLICT', { name: shown(name), what: `${fault} (plugin ${user.plugin})` });
}

const wrongName = (name: unknown): string | undefined => (typeof name === 'string' ? undefined : 'its name is no text');

function wrongMember(given: Readonly<Record<string, unknown>>, rules: typeof OPERATION): string | undefined {
  for (const [member, [needed, rule]] of Object.entries(rules)) {
    const value = given[member];
    if (value === undefined && !needed) continue;
    const wanted = rule(value);
    if (wanted !== undefined)
      return `${member} is ${value === undefined ? 'missing' : shown(value)}, and has to be ${wanted}`;
  }
  return undefined;
}

function shown(value: unknown): string {
  const plain = typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || value === null;
  if (plain) return String(value).slice(0, 60);
  return Array.isArray(value) ? 'a list' : `of type ${typeof value}`;
}
