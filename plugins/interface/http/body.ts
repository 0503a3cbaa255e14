/** The body of a request: its type, its encoding, its JSON. */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { CoreError, isNestedDeeperThan, MAX_JSON_DEPTH, reasonOf } from '@device-core/plugin-api';
import type { FastifyInstance } from 'fastify';

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

/** The one parser there is: other types have been refused before. */
export function addBodyParser(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => {
    try {
      done(null, parse(body as Buffer));
    } catch (thrown) {
      done(new CoreError('JSON_INVALID', { reason: reasonOf(thrown) }));
    }
  });
}

function parse(bytes: Buffer): unknown {
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
