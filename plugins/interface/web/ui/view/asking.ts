/** Requests that a page which is data may make by itself. */
import type { Operation } from '../core/operation.ts';

export interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  /** Params outside the path: a query, or a body. */
  readonly rest: Readonly<Record<string, unknown>>;
}

/** Params in a path: `id` of `/traces/:id`. */
export const pathNames = (path = ''): readonly string[] =>
  [...path.matchAll(/:([A-Za-z]\w*)/g)].map(([, name = '']) => name);

/** The REST request of an operation. Undefined where there is none, or a parameter of its path is missing. */
export function requestOf(
  name: string,
  params: Readonly<Record<string, unknown>>,
  operations: readonly Operation[],
): Request | undefined {
  const found = operations.find((one) => one.name === name);
  if (found?.method === undefined || found.path === undefined) return undefined;
  const rest: Record<string, unknown> = { ...params };
  let whole = true;
  const path = found.path.replace(/:([A-Za-z]\w*)/g, (_, member: string) => {
    const value = rest[member];
    delete rest[member];
    if (typeof value !== 'string' && typeof value !== 'number') whole = false;
    return encodeURIComponent(String(value));
  });
  return whole ? { method: found.method, path, rest } : undefined;
}

/** The request that a panel makes without a click: reads only. */
export function readOf(...asked: Parameters<typeof requestOf>): Request | undefined {
  const request = requestOf(...asked);
  return request?.method === 'GET' ? request : undefined;
}

/** The value at a JSON pointer, RFC 6901. */
export function at(data: unknown, pointer: string): unknown {
  if (pointer === '') return data;
  let value = data;
  for (const part of pointer.slice(1).split('/')) {
    const name = part.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
    value = (value as Readonly<Record<string, unknown>>)[name];
  }
  return value;
}
