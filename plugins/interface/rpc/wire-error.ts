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

/** `reason` says what is wrong with a request that is none. */
export function protocolError(code: number | undefined, method: unknown, reason: string): RpcError {
  const known = OF_PROTOCOL[code ?? 0] ?? 'INTERNAL';
  const name = typeof method === 'string' ? method : '';
  if (known === 'METHOD_NOT_FOUND') return wireError(new CoreError(known, { name }));
  if (known === 'INTERNAL') return wireError(new CoreError(known, { what: name || 'a request' }));
  return wireError(new CoreError(known, { reason }));
}

/** Why a message is no JSON-RPC 2.0 request; undefined where it is one. */
export function faultOf(message: unknown): string | undefined {
  if (typeof message !== 'object' || message === null || Array.isArray(message)) return 'it is no object';
  const { jsonrpc, method, params, id } = message as Partial<Record<string, unknown>>;
  if (jsonrpc !== '2.0') return 'jsonrpc must be "2.0"';
  if (typeof method !== 'string') return 'method must be a string';
  if (params !== undefined && (typeof params !== 'object' || params === null))
    return 'params must be an object or an array';
  if (id !== undefined && id !== null && typeof id !== 'string' && typeof id !== 'number')
    return 'id must be a string or a number';
  return undefined;
}

/** Fault of a batch itself; else faults of its members that are no requests. */
export function faultsOf(message: unknown, maxBatch: number): readonly string[] {
  if (Array.isArray(message)) {
    if (message.length === 0) return ['the batch is empty'];
    if (message.length > maxBatch) return [`the batch has ${message.length} messages, at most ${maxBatch} are taken`];
    return message.map(faultOf).filter((fault) => fault !== undefined);
  }
  const fault = faultOf(message);
  return fault === undefined ? [] : [fault];
}

/** Error answer of an app. */
export function appError(app: string, method: string, error: unknown): CoreError {
  const given = error as { readonly code?: unknown; readonly message?: unknown } | null;
  const reason = typeof given?.message === 'string' ? given.message : 'its error has no message';
  return new CoreError('APP_ERROR', { app, function: method, reason, error });
}
