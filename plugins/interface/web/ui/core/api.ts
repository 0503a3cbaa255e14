/** The REST interface of the Core, as every client sees it. The token of the session goes in a header, never in an address. */
import { signal } from '@preact/signals';
import { endSession, token } from './session.ts';

export interface ErrorBody {
  readonly code: string;
  readonly message: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

/** Error answer of the Core. `OFFLINE` is the page's own code: no answer came. */
export class ApiError extends Error {
  readonly code: string;
  readonly status: number;
  readonly data: Readonly<Record<string, unknown>>;

  constructor(status: number, { code, message, data = {} }: ErrorBody) {
    super(message);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.data = data;
  }
}

const offline = (): ApiError => new ApiError(0, { code: 'OFFLINE', message: 'the device does not answer' });

/**
 * A module that is fetched when it is first wanted. Rejects with `OFFLINE` where its files cannot be had: each browser
 * has words of its own for that.
 */
export async function fetched<T>(module: Promise<T>): Promise<T> {
  try {
    return await module;
  } catch (error) {
    throw error instanceof TypeError && /import/i.test(error.message) ? offline() : error;
  }
}

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export interface Ask {
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: object;
  /** Instead of `body`, for operations that take a file. */
  readonly file?: Blob;
  readonly signal?: AbortSignal;
}

/** The Core answers. False until somebody asked in vain; the shell shows it. */
export const answering = signal(true);
/** How often it came back: what was asked before is asked anew. */
export const returned = signal(0);

/** The second in which the device made an answer, by its own clock. */
const dates = new WeakMap<object, number>();
export const madeAt = (answer: unknown): number | undefined => dates.get(Object(answer));

/** Asked when the Core wants a sensitive act confirmed; resolves with a header for the second try, or undefined for no. */
let confirmer: ((error: ApiError) => Promise<Readonly<Record<string, string>> | undefined>) | undefined;
export function confirmWith(ask: NonNullable<typeof confirmer>): void {
  confirmer = ask;
}

export const api = {
  get: <T>(path: string, query?: Readonly<Record<string, unknown>>, abort?: AbortSignal): Promise<T> =>
    request<T>('GET', path, { ...(query && { query }), ...(abort && { signal: abort }) }),
  post: <T>(path: string, body: object = {}): Promise<T> => request<T>('POST', path, { body }),
  put: <T>(path: string, body: object = {}): Promise<T> => request<T>('PUT', path, { body }),
  delete: <T>(path: string, query?: Readonly<Record<string, unknown>>): Promise<T> =>
    request<T>('DELETE', path, query && { query }),
  upload: <T>(method: 'POST' | 'PUT', path: string, file: Blob): Promise<T> => request<T>(method, path, { file }),
};

/** Rejects with ApiError. */
export async function request<T>(method: Method, path: string, ask: Ask = {}): Promise<T> {
  try {
    return await once<T>(method, path, ask, {});
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'CONFIRMATION_REQUIRED' || confirmer === undefined) throw error;
    const confirmed = await confirmer(error);
    if (confirmed === undefined) throw error;
    return once<T>(method, path, ask, confirmed);
  }
}

async function once<T>(
  method: Method,
  path: string,
  { query, body, file, signal: abort }: Ask,
  more: Readonly<Record<string, string>>,
): Promise<T> {
  const answer = await send(method, address(path, query), {
    ...(file ? { body: file } : body ? { body: JSON.stringify(body) } : {}),
    headers: {
      ...(file ? { 'content-type': 'application/octet-stream' } : body ? { 'content-type': 'application/json' } : {}),
      ...more,
    },
    ...(abort && { signal: abort }),
  });
  const text = await answer.text();
  const value = text === '' ? {} : JSON.parse(text);
  const made = Date.parse(answer.headers.get('date') ?? '');
  if (Object(value) === value && !Number.isNaN(made)) dates.set(value, made);
  if (answer.ok || (answer.status === 503 && value.error === undefined)) return value as T;
  throw failure(answer.status, value);
}

async function send(method: Method, url: string, init: RequestInit): Promise<Response> {
  const held = token.peek();
  const headers = { ...(init.headers as object), ...(held && { authorization: `Bearer ${held}` }) };
  let answer: Response;
  try {
    answer = await fetch(url, { ...init, method, headers, cache: 'no-store', credentials: 'omit', redirect: 'error' });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    answering.value = false;
    throw offline();
  }
  if (!answering.peek()) {
    answering.value = true;
    returned.value += 1;
  }
  if (answer.status === 401 && held !== undefined && held === token.peek()) endSession('ended');
  return answer;
}

export function address(path: string, query: Readonly<Record<string, unknown>> = {}): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== '')
      search.set(name, typeof value === 'object' ? JSON.stringify(value) : String(value));
  return search.size === 0 ? path : `${path}?${search}`;
}

/** As decisions D5 has it: `error` is `CODE: message`, or the message alone where nobody named a code. */
interface FailureBody {
  readonly error?: string;
  readonly code?: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

function failure(status: number, { error = `HTTP ${status}`, code, details = {} }: FailureBody): ApiError {
  const said = /^((?:plugin\.[a-z0-9-]+\.)?[A-Z][A-Z0-9_]*): (.*)$/s.exec(error);
  const message = said?.[2] ?? error;
  return new ApiError(status, { code: code ?? said?.[1] ?? 'INTERNAL', message, data: details });
}
