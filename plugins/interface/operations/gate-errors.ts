/** Which codes an operation may answer with: its own and those of the gate and the front ends. */
import {
  type CoreErrorCode,
  ERROR_CODES,
  type ErrorCode,
  formatError,
  PLUGIN_ERROR_RPC_CODE,
} from '@device-core/plugin-api';
import type { OperationError, OperationInfo } from '@device-core/plugin-api/services/operations';

const ALWAYS: readonly CoreErrorCode[] = [
  'METHOD_NOT_FOUND',
  'PARAMS_INVALID',
  'RATE_LIMITED',
  'TIMEOUT',
  'CANCELLED',
  'UNAVAILABLE',
  'INTERNAL',
];
const REST_ALWAYS: readonly CoreErrorCode[] = ['ORIGIN_DENIED', 'REQUEST_INVALID', 'METHOD_NOT_ALLOWED'];
const REST_BODY: readonly CoreErrorCode[] = ['CONTENT_TYPE_INVALID', 'JSON_INVALID', 'BODY_TOO_LARGE'];

export function errorsOf(operation: OperationInfo): readonly OperationError[] {
  return unique([
    // A wrong token is refused even where none is needed.
    'UNAUTHENTICATED',
    ...(operation.capability ? (['CAPABILITY_DENIED'] as const) : []),
    ...ALWAYS,
    ...operation.errors,
  ]);
}

export function restErrorsOf(operation: OperationInfo): readonly OperationError[] {
  const method = operation.rest?.method;
  const body = method === 'POST' || method === 'PUT' ? REST_BODY : [];
  return unique([...REST_ALWAYS, ...body, ...errorsOf(operation)]);
}

/** The template of an error as prose: `{app}` becomes `<app>`. */
export function describeError(error: OperationError): string {
  if (typeof error !== 'string') return error.template.replace(/\{(\w+)\}/g, '<$1>');
  const details = new Proxy({}, { get: (_, key) => `<${String(key)}>` });
  return formatError(error, details);
}

export function codeOf(error: OperationError): ErrorCode {
  return typeof error === 'string' ? error : error.code;
}

export function rpcCodeOf(error: OperationError): number {
  return typeof error === 'string' ? ERROR_CODES[error][1] : PLUGIN_ERROR_RPC_CODE;
}

function unique<T>(items: readonly T[]): T[] {
  return [...new Set(items)];
}
