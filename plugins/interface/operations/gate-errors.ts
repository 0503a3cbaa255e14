/** Which codes an operation may answer with: its own and those of the gate and the front ends. */
import { type ErrorCode, formatError, type OperationInfo } from '@device-core/plugin-api';

const ALWAYS: readonly ErrorCode[] = [
  'METHOD_NOT_FOUND',
  'PARAMS_INVALID',
  'RATE_LIMITED',
  'TIMEOUT',
  'CANCELLED',
  'UNAVAILABLE',
  'INTERNAL',
];
const REST_ALWAYS: readonly ErrorCode[] = ['ORIGIN_DENIED', 'REQUEST_INVALID', 'METHOD_NOT_ALLOWED'];
const REST_BODY: readonly ErrorCode[] = ['CONTENT_TYPE_INVALID', 'JSON_INVALID', 'BODY_TOO_LARGE'];

export function codesOf(operation: OperationInfo): readonly ErrorCode[] {
  return unique([
    // A wrong token is refused even where none is needed.
    'UNAUTHENTICATED',
    ...(operation.capability ? (['CAPABILITY_DENIED'] as const) : []),
    ...ALWAYS,
    ...operation.errors,
  ]);
}

export function restCodesOf(operation: OperationInfo): readonly ErrorCode[] {
  const method = operation.rest?.method;
  const body = method === 'POST' || method === 'PUT' ? REST_BODY : [];
  return unique([...REST_ALWAYS, ...body, ...codesOf(operation)]);
}

/** The template of a code as prose: `{app}` becomes `<app>`. */
export function describeCode(code: ErrorCode): string {
  const details = new Proxy({}, { get: (_, key) => `<${String(key)}>` });
  return formatError(code, details);
}

function unique<T>(items: readonly T[]): T[] {
  return [...new Set(items)];
}
