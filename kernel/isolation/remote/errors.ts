import {
  CoreError,
  type CoreErrorCode,
  ERROR_CODES,
  type PluginErrorKind,
  pluginErrorProblem,
} from '@device-core/plugin-api';
import type { Form, Slots } from './protocol.ts';

type ErrorForm = Extract<Form, readonly ['core-error' | 'error', ...unknown[]]>;

/** An error as data. `encode` carries the details. The cause is kept for the log, one deep. */
export function errorForm(error: Error, encode: (value: object) => readonly [object, Slots]): ErrorForm {
  const { name, message, stack } = error;
  if (!(error instanceof CoreError)) {
    const plain = (member: unknown) => member === null || !['object', 'function', 'symbol'].includes(typeof member);
    return ['error', name, message, stack, Object.fromEntries(Object.entries(error).filter(([, one]) => plain(one)))];
  }
  const [details, slots] = encode(error.details);
  const { cause } = error;
  const told = cause instanceof Error ? { name: cause.name, message: cause.message, stack: cause.stack } : undefined;
  return ['core-error', error.kind ?? error.code, details, slots, stack, told];
}

/** The error that a form stands for; a code that is not of this side's table, nor of a plugin, is INTERNAL. */
export function errorOf(form: ErrorForm, decode: (value: object, slots: Slots) => object): Error {
  if (form[0] === 'error') {
    const [, name, message, stack, members] = form;
    const error = Object.assign(new Error(String(message)), members);
    Object.defineProperty(error, 'name', { value: String(name), configurable: true, writable: true });
    return withStack(error, stack);
  }
  const [, code, details, slots, stack, cause] = form;
  const known = kindOf(code) ?? 'INTERNAL';
  const decoded = decode(details, slots) as Record<string, unknown>;
  const told = cause as { name: string; message: string; stack?: string } | undefined;
  const options = told ? { cause: withStack(new Error(`${told.message}`), told.stack) } : undefined;
  return withStack(new CoreError(known, decoded, options), stack);
}

/** Kind of an error; undefined for an unknown one. Callers that know the plugin check that the kind belongs to it. */
function kindOf(code: unknown): CoreErrorCode | PluginErrorKind | undefined {
  if (typeof code === 'string') return Object.hasOwn(ERROR_CODES, code) ? (code as CoreErrorCode) : undefined;
  return pluginErrorProblem(code) === undefined ? (code as PluginErrorKind) : undefined;
}

function withStack<T extends Error>(error: T, stack: unknown): T {
  if (typeof stack === 'string') error.stack = stack;
  return error;
}
