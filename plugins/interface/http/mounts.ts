/** Files that another plugin serves on the same origin: GET and HEAD, nothing secret, no identity. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CoreError, type Logger, maybe, toCoreError } from '@device-core/plugin-api';
import type { PageAnswer, PageRequest } from '@device-core/plugin-api/inside/services/http-server';
import type { Connections } from './connections.ts';
import { sendFailure } from './responses.ts';

const PREFIX = /^(?:\/[a-z][a-z0-9-]*)+\/$/;
const LONGEST = 1_024;

type Handler = (request: PageRequest) => Promise<PageAnswer>;

export class Mounts {
  readonly #mounts = new Map<string, Handler>();
  readonly #connections: Connections;
  readonly #log: Logger;

  constructor(connections: Connections, log: Logger) {
    this.#connections = connections;
    this.#log = log;
  }

  /** Throws PARAMS_INVALID. */
  add(prefix: string, handler: Handler): Disposable {
    const refuse = (reason: string) => new CoreError('PARAMS_INVALID', { where: `the prefix ${prefix}`, reason });
    if (!PREFIX.test(prefix)) throw refuse('it is no path of plain segments with a slash at both ends');
    if (this.#mounts.has(prefix)) throw refuse('it is taken');
    this.#mounts.set(prefix, handler);
    return { [Symbol.dispose]: () => void this.#mounts.delete(prefix) };
  }

  /** Whether it was a request for a file, and is answered. */
  take(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#mounts.size === 0) return false;
    const path = (request.url ?? '/').split(/[?#]/, 1)[0]!;
    for (const [prefix, handler] of this.#mounts) {
      if (path !== prefix.slice(0, -1) && !path.startsWith(prefix)) continue;
      void this.#answer(handler, path.slice(prefix.length), request, response);
      return true;
    }
    return false;
  }

  async #answer(handler: Handler, rest: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const connection = this.#connections.of(request.socket);
      if (!connection) throw new CoreError('REQUEST_INVALID', { reason: 'its connection is closed' });
      const refusal = connection.origin?.refusal(request);
      if (refusal) throw refusal;
      const { method = 'GET', url = '' } = request;
      if (method !== 'GET' && method !== 'HEAD') {
        response.setHeader('allow', 'GET, HEAD');
        throw new CoreError('METHOD_NOT_ALLOWED', { method, path: url.slice(0, 200), allowed: 'GET, HEAD' });
      }
      const { 'if-none-match': ifNoneMatch } = request.headers;
      const path = plain(rest);
      if (path === undefined) throw new CoreError('METHOD_NOT_FOUND', { name: url.slice(0, 200) });
      const answer = await handler({ path, ...maybe({ ifNoneMatch }) });
      if (response.destroyed) return;
      const body =
        answer.status === 304 ? {} : { 'content-type': answer.type, 'content-length': answer.body.byteLength };
      response.writeHead(answer.status, { ...body, ...answer.headers });
      response.end(method === 'HEAD' || answer.status === 304 ? undefined : answer.body);
    } catch (thrown) {
      if (!(thrown instanceof CoreError)) this.#log.error({ err: thrown, url: request.url }, 'request failed');
      sendFailure(response, toCoreError(thrown, 'http'));
    }
  }
}

/** Decoded, without segments that lead elsewhere; undefined where there is no such file anyway. */
function plain(path: string): string | undefined {
  if (path.length > LONGEST) return undefined;
  let decoded: string;
  try {
    decoded = decodeURIComponent(path);
  } catch {
    return undefined; // no UTF-8: no name of a file
  }
  const strange = decoded.split('/').some((segment) => segment === '.' || segment === '..') || /[\\\0]/.test(decoded);
  return strange ? undefined : decoded;
}
