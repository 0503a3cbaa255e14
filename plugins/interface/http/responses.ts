/** Bodies and headers of answers: decisions D5 and D6. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { CoreError } from '@device-core/plugin-api';
import { type OperationInfo, type RestBinding, restStatus } from '@device-core/plugin-api/services/operations';
import { STATUS_CODES } from './node-http.ts';
import { isLong, pack } from './packing.ts';

const VERSION = '1';
const JSON_TYPE = 'application/json; charset=utf-8';

type Headers = Record<string, string | number>;

export function sendResult(response: ServerResponse, operation: OperationInfo, result: unknown): void {
  const rest = operation.rest!;
  if (rest.text !== undefined) {
    send(response, successStatus(rest, result), String(result), {
      'content-type': rest.text,
      'cache-control': 'no-store',
    });
    return;
  }
  send(response, successStatus(rest, result), rest.bare ? bytesOf(result) : withOk(result));
}

/** Documents that are made once and asked for often: one copy for every client that is slow to read it. */
const documents = new WeakMap<object, string | Buffer>();
/** A text goes out in one piece with its head; beyond this, a copy for each client costs more than a second piece. */
const SHORT = 4096;

function bytesOf(result: unknown): string | Buffer {
  if (typeof result !== 'object' || result === null || !Object.isFrozen(result)) return JSON.stringify(result);
  const known = documents.get(result);
  if (known !== undefined) return known;
  const text = JSON.stringify(result);
  const made = text.length <= SHORT ? text : Buffer.from(text);
  documents.set(result, made);
  return made;
}

/** Retry time in refusals for lack of room or rate, from every part of the Core. */
const RETRY_MS = 1_000;

/** Throws nothing; a client that has gone is no concern of anybody. */
export function sendFailure(
  response: ServerResponse,
  error: CoreError,
  rest?: RestBinding,
  headers: Headers = {},
): void {
  if (response.headersSent || response.destroyed) {
    response.destroy();
    return;
  }
  const status = restStatus(rest, error);
  const { retryAfterMs = error.status === 429 || error.code === 'QUEUE_FULL' ? RETRY_MS : undefined } = error.details;
  if (typeof retryAfterMs === 'number') headers['retry-after'] = Math.max(1, Math.ceil(retryAfterMs / 1000));
  if (status === 401) headers['www-authenticate'] = 'Bearer realm="device"';
  // The rest of a body that is too long is not read.
  if (status === 413) headers.connection = 'close';
  send(response, status, failureBody(error, rest?.failure?.bare), headers);
}

export function sendJson(response: ServerResponse, status: number, value: unknown): void {
  send(response, status, JSON.stringify(value), { 'cache-control': 'no-store' });
}

export function startEventStream(response: ServerResponse): void {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'device-api-version': VERSION,
  });
  response.flushHeaders();
}

/** For what never became a request, so that there is no ServerResponse: written and closed. */
export function rejectSocket(socket: Socket, error: CoreError): void {
  const body = failureBody(error);
  socket.end(
    `HTTP/1.1 ${error.status} ${STATUS_CODES[error.status]}\r\ncontent-type: ${JSON_TYPE}\r\n` +
      `content-length: ${Buffer.byteLength(body)}\r\ndevice-api-version: ${VERSION}\r\nconnection: close\r\n\r\n${body}`,
  );
}

function send(response: ServerResponse, status: number, body: string | Buffer, more?: Headers): void {
  const length = Buffer.byteLength(body);
  if (isLong(length) && more?.['content-type'] === undefined) sendLong(response, status, body, length, more);
  else write(response, status, body, length, more);
}

/** JSON that is worth packing. */
function sendLong(
  response: ServerResponse,
  status: number,
  body: string | Buffer,
  length: number,
  more?: Headers,
): void {
  const plain = { ...more, vary: 'accept-encoding' };
  const packed = pack(body, response.req);
  if (packed === undefined) {
    write(response, status, body, length, plain);
    return;
  }
  packed.then(
    (bytes) => write(response, status, bytes, bytes.length, { ...plain, 'content-encoding': 'gzip' }),
    () => write(response, status, body, length, plain), // no memory for it: it goes out as it is
  );
}

function write(
  response: ServerResponse,
  status: number,
  body: string | Buffer,
  length: number,
  more: Headers | undefined,
): void {
  const headers: Headers = {
    'content-type': JSON_TYPE,
    'content-length': length,
    'device-api-version': VERSION,
  };
  response.writeHead(status, more ? Object.assign(headers, more) : headers);
  const { req: request } = response;
  if (!request.complete && !request.destroyed) {
    // A client that still sends would find the connection closed, and no answer: its bytes are dropped until it has
    // the answer, or has sent all. Arrivals ends one that goes on.
    response.write(body);
    request.once('close', () => response.end());
    request.resume();
  }
  // As many bytes as letters: ASCII, which need not be encoded.
  else if (length === body.length) response.end(body, 'latin1');
  else response.end(body);
}

function successStatus(rest: RestBinding, result: unknown): number {
  if (rest.statusBy) {
    const value = (result as Record<string, unknown> | undefined)?.[rest.statusBy.member];
    const status = rest.statusBy.map[String(value)];
    if (status !== undefined) return status;
  }
  return rest.status ?? 200;
}

/** `{ok:true, ...result}` without a copy of the result. */
function withOk(result: unknown): string {
  if (result === undefined || result === null) return '{"ok":true}';
  if (typeof result !== 'object' || Array.isArray(result)) return JSON.stringify({ ok: true, result });
  if ('ok' in result) return JSON.stringify({ ...result, ok: true });
  const json = JSON.stringify(result);
  return json === '{}' ? '{"ok":true}' : `{"ok":true,${json.slice(1)}`;
}

function failureBody(error: CoreError, bare = false): string {
  if (bare) return JSON.stringify({ ok: false, error: error.toWire() });
  const details = Object.keys(error.details).length > 0 ? { details: error.details } : {};
  return JSON.stringify({ ok: false, error: error.toWire(), code: error.code, ...details });
}
