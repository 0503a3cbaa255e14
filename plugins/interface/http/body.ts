/** The body of a request: its type, its encoding, its JSON. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { CoreError, isNestedDeeperThan, MAX_JSON_DEPTH, reasonOf } from '@device-core/plugin-api';

const JSON_TYPE = /^application\/json[ \t]*(;[ \t]*charset=("?)utf-8\2[ \t]*)?$/i;

/** The refusal, if any, of a request that has a body or names its type. */
export function contentTypeRefusal({ headers }: IncomingMessage): CoreError | undefined {
  const type = headers['content-type'];
  if (type === 'application/json') return undefined;
  const length = headers['content-length'];
  const empty = headers['transfer-encoding'] === undefined && (length === undefined || length === '0');
  if (type === undefined ? empty : JSON_TYPE.test(type)) return undefined;
  return new CoreError('CONTENT_TYPE_INVALID', { contentType: type === undefined ? 'absent' : type.slice(0, 80) });
}

/** Whether it has a body that is to be read. Methods without one may bring it: nobody looks at it. */
export function hasBody({ method, headers }: IncomingMessage): boolean {
  if (method === 'GET' || method === 'HEAD') return false;
  const { 'content-type': type, 'content-length': length, 'transfer-encoding': encoding } = headers;
  return type !== undefined || encoding !== undefined || (length !== undefined && length !== '0');
}

/** Whether it says that it is JSON, whatever else it says. */
export function isJson({ headers }: IncomingMessage): boolean {
  return /^\s*application\/json\s*(;|$)/i.test(headers['content-type'] ?? '');
}

/** What the body says; a promise only where some of it is still on its way. Throws JSON_INVALID, BODY_TOO_LARGE, REQUEST_INVALID. */
export function readJson(request: IncomingMessage, limit: number): unknown {
  if (Number(request.headers['content-length']) > limit) throw tooLarge(limit);
  if (!request.complete) return collect(request, limit).then(parse);
  const bytes = (request.read() as Buffer | null) ?? EMPTY;
  if (bytes.length > limit) throw tooLarge(limit);
  return parse(bytes);
}

const EMPTY = Buffer.alloc(0);

function collect(request: IncomingMessage, limit: number): Promise<Buffer> {
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
    request.off('data', take).off('end', end).off('error', fail);
    settle();
  };
  request.on('data', take).on('end', end).on('error', fail);
  return promise;
}

function tooLarge(limit: number): CoreError {
  return new CoreError('BODY_TOO_LARGE', { limit, what: 'request body' });
}

function parse(bytes: Buffer): unknown {
  try {
    return decode(bytes);
  } catch (thrown) {
    throw new CoreError('JSON_INVALID', { reason: reasonOf(thrown) });
  }
}

function decode(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  if (!isUtf8(bytes)) throw new Error('it is not UTF-8');
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
