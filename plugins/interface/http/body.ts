/** The body of a request: its type, its encoding, its JSON. */
import { isUtf8 } from 'node:buffer';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { CoreError, isNestedDeeperThan, MAX_JSON_DEPTH, reasonOf } from '@device-core/plugin-api';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { tooManyValues } from '../shared/json-values.ts';

const JSON_TYPE = /^application\/json[ \t]*(;[ \t]*charset=("?)utf-8\2[ \t]*)?$/i;

/** The refusal, if any, of a request that has a body or names its type. */
export function contentTypeRefusal({ headers }: IncomingMessage): CoreError | undefined {
  const type = headers['content-type'];
  const packed = packedRefusal(headers, 'application/json');
  if (packed) return packed;
  if (type === 'application/json') return undefined;
  const empty = isEmpty(headers);
  if (type === undefined ? empty : JSON_TYPE.test(type)) return undefined;
  return new CoreError('CONTENT_TYPE_INVALID', {
    wanted: 'application/json',
    contentType: type === undefined ? 'absent' : type.slice(0, 80),
  });
}

/** Nothing is unpacked here: what came packed would be taken for something else. */
export function packedRefusal(headers: IncomingHttpHeaders, wanted: string): CoreError | undefined {
  const encoding = headers['content-encoding'];
  if (encoding === undefined || /^identity$/i.test(encoding) || isEmpty(headers)) return undefined;
  const contentType = `packed as ${encoding.slice(0, 80)}`;
  return new CoreError('CONTENT_TYPE_INVALID', { wanted: `${wanted} as it is`, contentType });
}

function isEmpty(headers: IncomingHttpHeaders): boolean {
  const length = headers['content-length'];
  return headers['transfer-encoding'] === undefined && (length === undefined || length === '0');
}

/**
 * The one parser there is: other types have been refused before. `limitOf` is the route's; `arrived` is called before a
 * body is parsed that came after its head.
 */
export function addBodyParser(
  app: FastifyInstance,
  limitOf: (request: FastifyRequest) => number,
  arrived: (request: FastifyRequest) => void,
): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', (request, payload, done) => {
    const limit = limitOf(request);
    const take = (bytes: Buffer): void => {
      arrived(request);
      attempt(() => parse(bytes), done);
    };
    if (payload.complete) attempt(() => wholeBody(payload, limit), done);
    else if (Number(request.headers['content-length']) > limit) done(tooLarge(limit));
    else collect(payload, limit).then(take, done);
  });
}

export function isWholeJson({ complete, headers }: IncomingMessage): boolean {
  return complete && headers['content-type'] === 'application/json';
}

/** JSON that lies there whole, as nearly every body does: no event has to be waited for. Throws BODY_TOO_LARGE, JSON_INVALID. */
export function wholeBody(request: IncomingMessage, limit: number): unknown {
  const bytes = Number(request.headers['content-length']) > limit ? undefined : (request.read() as Buffer | null);
  if (bytes === undefined || (bytes && bytes.length > limit)) throw tooLarge(limit);
  return parse(bytes ?? NOTHING);
}

/** JSON for a door; `arrived` is called before it is parsed. Throws BODY_TOO_LARGE, JSON_INVALID, REQUEST_INVALID. */
export async function readJson(request: IncomingMessage, limit: number, arrived: () => void): Promise<unknown> {
  if (Number(request.headers['content-length']) > limit) throw tooLarge(limit);
  const bytes = request.complete ? undefined : await collect(request, limit);
  arrived();
  return bytes ? parse(bytes) : wholeBody(request, limit);
}

function attempt(make: () => unknown, done: (error: Error | null, body?: unknown) => void): void {
  let body: unknown;
  try {
    body = make();
  } catch (thrown) {
    done(thrown as CoreError);
    return;
  }
  done(null, body);
}

const NOTHING = Buffer.alloc(0);

function collect(payload: IncomingMessage, limit: number): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  let length = 0;
  const take = (chunk: Buffer): void => {
    length += chunk.length;
    if (length <= limit) chunks.push(chunk);
    else stop(() => reject(tooLarge(limit)));
  };
  const end = (): void => stop(() => resolve(Buffer.concat(chunks, length)));
  const fail = (error: Error): void =>
    stop(() => reject(new CoreError('REQUEST_INVALID', { reason: reasonOf(error) }, { cause: error })));
  const stop = (settle: () => void): void => {
    payload.off('data', take).off('end', end).off('error', fail);
    settle();
  };
  payload.on('data', take).on('end', end).on('error', fail);
  return promise;
}

function tooLarge(limit: number): CoreError {
  return new CoreError('BODY_TOO_LARGE', { limit, what: 'request body' });
}

/** Throws JSON_INVALID. */
function parse(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return parseChecked(bytes);
  } catch (thrown) {
    throw new CoreError('JSON_INVALID', { reason: reasonOf(thrown) });
  }
}

function parseChecked(bytes: Buffer): unknown {
  const fault = isUtf8(bytes) ? tooManyValues(bytes) : 'it is not UTF-8';
  if (fault) throw new Error(fault);
  const text = bytes.toString('utf8');
  const value: unknown = JSON.parse(text);
  if ((text.includes('__proto__') || text.includes('\\u005')) && isPoisoned(value))
    throw new Error('no member may be called __proto__');
  if (text.length > 2 * MAX_JSON_DEPTH && isNestedDeeperThan(value, MAX_JSON_DEPTH))
    throw new Error(`it is nested deeper than ${MAX_JSON_DEPTH} levels`);
  return value;
}

/** Without recursion: the nesting is the caller's choice. */
function isPoisoned(root: unknown): boolean {
  const open = [root];
  for (let value = open.pop(); value !== undefined; value = open.pop()) {
    if (typeof value !== 'object' || value === null) continue;
    if (Object.hasOwn(value, '__proto__')) return true;
    open.push(...Object.values(value).filter((member) => typeof member === 'object' && member !== null));
  }
  return false;
}
