/** REST of the Core over its Unix socket, or over TCP where there is no socket. */

import { request } from 'node:http';
import { maybe } from '../kits/maybe.ts';
import type { AppEnvironment } from './environment.ts';

export interface RestInit {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Sent as JSON. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** 30,000 if absent. */
  readonly timeoutMs?: number;
}

export interface RestResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed JSON; the text where it is none. */
  readonly body: unknown;
}

export function rest(where: AppEnvironment, path: string, init: RestInit = {}): Promise<RestResponse> {
  const { httpSocket, url, token } = where;
  if (!httpSocket && !url) throw new Error('cannot reach REST: neither DEVICE_HTTP_SOCKET nor DEVICE_URL is set');
  const body = init.body === undefined ? undefined : JSON.stringify(init.body);
  const headers: Record<string, string> = {
    accept: 'application/json',
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...init.headers,
  };
  const options = {
    method: init.method ?? (body === undefined ? 'GET' : 'POST'),
    headers,
    signal: AbortSignal.timeout(init.timeoutMs ?? 30_000),
    ...maybe({ socketPath: httpSocket }),
  };
  return new Promise((resolve, reject) => {
    const sent = request(new URL(path, url ?? 'http://localhost'), options, (response) => {
      const parts: Buffer[] = [];
      response.on('data', (part: Buffer) => parts.push(part));
      response.on('error', reject);
      response.on('end', () => {
        const text = Buffer.concat(parts).toString();
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: parse(text) });
      });
    });
    sent.on('error', reject);
    sent.end(body);
  });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text; // documented: not every body is JSON
  }
}
