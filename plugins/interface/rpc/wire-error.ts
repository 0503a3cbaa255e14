/** Errors of the table as JSON-RPC error objects, and back. */
import { CoreError, type CoreErrorCode } from '@device-core/plugin-api';

export interface RpcError {
  readonly code: number;
  readonly message: string;
  readonly data?: { readonly code: string; readonly details?: unknown };
}

/** `{code, message: '<CODE>: <text>', data: {code, details}}` */
export function wireError(error: CoreError): RpcError {
  return { code: error.rpcCode, message: error.toWire(), data: { code: error.code, details: error.details } };
}

/** JSON-RPC's own error codes, as jayson's core uses them, in the table. */
const OF_PROTOCOL: Readonly<Record<number, CoreErrorCode>> = {
  [-32700]: 'JSON_INVALID',
  [-32600]: 'REQUEST_INVALID',
  [-32601]: 'METHOD_NOT_FOUND',
  [-32099]: 'REQUEST_INVALID',
};

export function protocolError(code: number | undefined, method: unknown): RpcError {
  const known = OF_PROTOCOL[code ?? 0] ?? 'INTERNAL';
  const name = typeof method === 'string' ? method : '';
  if (known === 'METHOD_NOT_FOUND') return wireError(new CoreError(known, { name }));
  if (known === 'INTERNAL') return wireError(new CoreError(known, { what: name || 'a request' }));
  const reason = code === -32099 ? 'the batch is too long' : 'it is no JSON-RPC 2.0 request';
  return wireError(new CoreError(known, { reason }));
}

/** What an app answered with instead of a result. */
export function appError(app: string, method: string, error: unknown): CoreError {
  const given = error as { readonly code?: unknown; readonly message?: unknown } | null;
  const reason = typeof given?.message === 'string' ? given.message : 'its error has no message';
  return new CoreError('APP_ERROR', { app, function: method, reason, error });
}
