import { createReadStream } from 'node:fs';
import { type IncomingMessage, request } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { pause } from '@device-core/plugin-api/inside/program';
import {
  EXIT,
  Failure,
  type ProgramAnswer,
  type ProgramClient,
  type ProgramRequest,
  type ProgramStreamItem,
} from '@device-core/plugin-api/program';
import { answered } from './answered.ts';
import type { Target } from './target.ts';

export interface RequestOptions extends ProgramRequest {
  readonly body?: object;
  /** Path of a file that is the body. */
  readonly file?: string;
}

const TIMEOUT_MS = 35_000;
const MAX_ANSWER = 64 * 1024 * 1024;

interface Sending {
  readonly extra?: Readonly<Record<string, string>>;
  /** A piece of the file was taken. */
  readonly went?: () => void;
}

/** REST over the shared Unix socket or TCP. */
export class CoreClient implements ProgramClient {
  readonly target: Target;

  constructor(target: Target) {
    this.target = target;
  }

  /** Rejects with a Failure: the answer's own, or "not reachable". */
  async request(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    options: RequestOptions = {},
  ): Promise<ProgramAnswer> {
    // A login takes its time first, outside of the timeout.
    await this.target.reach();
    using patience = new Patience(options.timeoutMs ?? TIMEOUT_MS);
    let { status, text, body } = await this.#ask(method, path, options, patience);
    for (let ms = untilStarted(body); ms !== undefined; ms = untilStarted(body)) {
      // A person who asks a device that starts waits for it; an operation that is not there was not begun either.
      if (!(await waited(ms, patience.signal))) break;
      ({ status, text, body } = await this.#ask(method, path, options, patience));
    }
    if (status >= 400 && !options.accept?.includes(status)) throw answered(status, text, body);
    if (body === undefined) throw this.#unreachable(`its answer to ${method} ${path} is not a JSON object`);
    return { status, text: text.trimEnd(), body };
  }

  async #ask(method: string, path: string, options: RequestOptions, patience: Patience) {
    const response = await this.#send(method, path, options, patience.signal, { went: () => patience.renew() });
    const text = await this.#read(response);
    return { status: response.statusCode ?? 0, text, body: parse(text) };
  }

  get(path: string, options?: ProgramRequest): Promise<ProgramAnswer> {
    return this.request('GET', path, options);
  }

  post(path: string, body: object = {}, options?: ProgramRequest): Promise<ProgramAnswer> {
    return this.request('POST', path, { ...options, body });
  }

  upload(path: string, file: string, options?: ProgramRequest): Promise<ProgramAnswer> {
    return this.request('POST', path, { ...options, file });
  }

  put(path: string, body: object, options?: ProgramRequest): Promise<ProgramAnswer> {
    return this.request('PUT', path, { ...options, body });
  }

  /** Server-sent events until the signal is aborted. Rejects when the Core ends the stream. */
  async *stream(path: string, options: ProgramRequest, signal: AbortSignal): AsyncGenerator<ProgramStreamItem> {
    try {
      const extra = { accept: 'text/event-stream' };
      const response = await this.#send('GET', path, options, signal, { extra });
      if (response.statusCode !== 200) {
        const text = await this.#read(response);
        throw answered(response.statusCode ?? 0, text, parse(text));
      }
      yield* readEvents(response);
    } catch (error) {
      if (signal.aborted) return;
      throw error instanceof Failure ? error : this.#unreachable(reason(error));
    }
    if (!signal.aborted) throw this.#unreachable('it ended the stream');
  }

  async #send(
    method: string,
    path: string,
    options: RequestOptions,
    signal: AbortSignal,
    { extra = {}, went = () => undefined }: Sending = {},
  ): Promise<IncomingMessage> {
    const payload = options.body === undefined ? undefined : Buffer.from(JSON.stringify(options.body));
    const token = this.target.token();
    const { url } = this.target;
    const socket = await this.target.reach();
    const base = url?.pathname.replace(/\/$/, '') ?? '';
    const place = url ? { host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port || 80 } : { socketPath: socket };
    const headers: Record<string, string | number> = {
      host: url?.host ?? 'localhost',
      accept: 'application/json',
      ...(options.file !== undefined && { 'content-type': 'application/octet-stream' }),
      ...(payload && { 'content-type': 'application/json', 'content-length': payload.length }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...options.headers,
      ...extra,
    };
    return new Promise((resolve, reject) => {
      const outgoing = request({
        ...place,
        method,
        path: `${base}${path}${queryString(options.query)}`,
        headers,
        signal,
        agent: false,
      });
      outgoing.once('response', resolve);
      outgoing.once('error', (error) =>
        reject(signal.aborted ? this.#timedOut(path) : this.#unreachable(reason(error))),
      );
      if (options.file === undefined) outgoing.end(payload);
      else pipeline(createReadStream(options.file), (pieces) => told(pieces, went), outgoing).catch(reject);
    });
  }

  async #read(response: IncomingMessage): Promise<string> {
    const chunks: Buffer[] = [];
    let size = 0;
    try {
      for await (const chunk of response) {
        size += (chunk as Buffer).length;
        if (size > MAX_ANSWER) throw new Error(`its answer exceeds ${MAX_ANSWER} bytes`);
        chunks.push(chunk as Buffer);
      }
    } catch (error) {
      throw this.#unreachable(reason(error));
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  #timedOut(path: string): Failure {
    return new Failure(EXIT.unreachable, 'TIMEOUT', `no answer from ${this.target.name} to ${path} in time`);
  }

  #unreachable(why: string): Failure {
    const { device, name } = this.target;
    if (device) {
      const hint = `ssh reached the machine; does a Core run there? ${device.trouble}`.trim();
      return new Failure(EXIT.unreachable, 'UNAVAILABLE', `cannot reach the Core at ${name}: ${why}`, { hint });
    }
    return new Failure(EXIT.unreachable, 'UNAVAILABLE', `cannot reach the Core at ${this.target.name}: ${why}`, {
      hint: 'is it running? start it with: npm start, or say where it is with --root, --socket or --url',
    });
  }
}

/** Milliseconds after which to ask again, of an answer that says that plugins are still starting. */
function untilStarted(body: Readonly<Record<string, unknown>> | undefined): number | undefined {
  const { starting, retryAfterMs } = Object(body?.details) as Readonly<Record<string, unknown>>;
  return starting === true && typeof retryAfterMs === 'number' ? retryAfterMs : undefined;
}

/** False where there is no time left for it. */
const waited = (ms: number, signal: AbortSignal): Promise<boolean> =>
  pause(ms, signal).then(
    () => true,
    () => false,
  );

/** How long the Core may be silent: a file that goes on is no silence, however large it is. */
class Patience implements Disposable {
  readonly #over = new AbortController();
  readonly #timer: NodeJS.Timeout;

  constructor(ms: number) {
    this.#timer = setTimeout(() => this.#over.abort(), ms);
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  renew(): void {
    if (!this.#over.signal.aborted) this.#timer.refresh();
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer);
  }
}

async function* told(pieces: AsyncIterable<Buffer>, went: () => void): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    yield piece;
    went();
  }
}

async function* readEvents(response: IncomingMessage): AsyncGenerator<ProgramStreamItem> {
  response.setEncoding('utf8');
  let rest = '';
  let item: { event: string; id: string | undefined; data: string[] } = { event: 'message', id: undefined, data: [] };
  for await (const chunk of response) {
    const lines = (rest + chunk).split(/\r?\n/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      if (line === '') {
        if (item.data.length > 0) yield { event: item.event, id: item.id, data: item.data.join('\n') };
        item = { event: 'message', id: undefined, data: [] };
        continue;
      }
      const [, field, value] = /^([a-z]*):? ?(.*)$/.exec(line) ?? [];
      if (field === 'data') item.data.push(value ?? '');
      else if (field === 'event') item.event = value ?? '';
      else if (field === 'id') item.id = value;
    }
  }
}

function queryString(query: RequestOptions['query']): string {
  const search = new URLSearchParams();
  for (const [key, value] of Object.entries(query ?? {}))
    for (const one of Array.isArray(value) ? value : [value]) if (one !== undefined) search.append(key, String(one));
  return search.size > 0 ? `?${search}` : '';
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    // Not JSON: the caller tells what it got instead.
    return undefined;
  }
}

function reason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
      return 'there is no socket';
    case 'ECONNREFUSED':
      return 'no program listens there';
    case 'EACCES':
      return 'this user may not open the socket';
    case 'ECONNRESET':
      return 'it closed the connection';
    default:
      return message;
  }
}
