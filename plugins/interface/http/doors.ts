/** Paths of plugins that speak a protocol of their own over HTTP: one handler for all methods, no row of the table. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ANONYMOUS, type Caller, CoreError, type Logger, maybe, toCoreError } from '@device-core/plugin-api';
import type { DoorAnswer, DoorRequest } from '@device-core/plugin-api/inside/services/http-server';
import type { ServerSentEvent } from '@device-core/plugin-api/services/operations';
import { REQUESTS } from '../shared/loop-share.ts';
import type { LoopTurns } from '../shared/loop-turns.ts';
import { credentialsOf } from './authentication.ts';
import { contentTypeRefusal, readJson } from './body.ts';
import type { Connection, Connections } from './connections.ts';
import type { EventStreams } from './event-streams.ts';
import { shareOf } from './front-end.ts';
import { sendFailure, sendJson } from './responses.ts';

const PATH = /^(?:\/[a-z][a-z0-9-]*)+$/;
const BODY_LIMIT = 256 * 1024;

export type DoorHandler = (request: DoorRequest) => Promise<DoorAnswer>;

export interface DoorWays {
  readonly connections: Connections;
  readonly streams: EventStreams;
  readonly log: Logger;
  /** Turns of callers at the event loop. */
  readonly loop: LoopTurns;
  /** Caller of the connection in its turn, by decisions D1. Throws UNAUTHENTICATED. */
  readonly callerOf: (request: IncomingMessage, connection: Connection) => Promise<Caller>;
  /** Has the caller of the connection charged with what follows. */
  readonly charge: (request: IncomingMessage, connection: Connection) => void;
}

export class Doors {
  readonly #doors = new Map<string, DoorHandler>();
  readonly #ways: DoorWays;

  constructor(ways: DoorWays) {
    this.#ways = ways;
  }

  /** Throws PARAMS_INVALID. */
  add(path: string, handler: DoorHandler): Disposable {
    const refuse = (reason: string) => new CoreError('PARAMS_INVALID', { where: `the path ${path}`, reason });
    if (!PATH.test(path)) throw refuse('it is no path of plain segments');
    if (this.#doors.has(path)) throw refuse('it is taken');
    this.#doors.set(path, handler);
    return { [Symbol.dispose]: () => void this.#doors.delete(path) };
  }

  /** Whether the request was for a door, and is answered. */
  take(request: IncomingMessage, response: ServerResponse): boolean {
    if (this.#doors.size === 0) return false;
    const handler = this.#doors.get((request.url ?? '/').split(/[?#]/, 1)[0]!);
    if (!handler) return false;
    void this.#answer(handler, request, response);
    return true;
  }

  async #answer(handler: DoorHandler, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { connections, streams, log, loop, callerOf, charge } = this.#ways;
    try {
      const connection = connections.of(request.socket);
      if (!connection) throw new CoreError('REQUEST_INVALID', { reason: 'its connection is closed' });
      // The caller is known after its body was read, and is charged with that, too.
      connection.share = shareOf(loop, ANONYMOUS);
      const refusal = connection.origin?.refusal(request);
      if (refusal) throw refusal;
      const { token } = await credentialsOf(request, connection);
      const over = new AbortController();
      response.once('close', () => over.abort());
      const { method = 'GET', headers } = request;
      const arrived = () => charge(request, connection);
      const answer = await handler({
        method,
        headers,
        signal: over.signal,
        caller: () => callerOf(request, connection),
        turn: async (client) => {
          connection.share = loop.share(`client ${client}`, REQUESTS);
          await loop.turn(connection.share);
        },
        ...(await bodyOf(request, response, arrived)),
        ...maybe({ token }),
      });
      if (response.destroyed) return;
      for (const [name, value] of Object.entries(answer.headers ?? {})) response.setHeader(name, value);
      if (answer.events) await streams.run(response, messages(answer.events));
      else if (answer.json === undefined) response.writeHead(answer.status, { 'content-length': 0 }).end();
      else sendJson(response, answer.status, answer.json);
    } catch (thrown) {
      if (!(thrown instanceof CoreError)) log.error({ err: thrown, url: request.url }, 'request failed');
      sendFailure(response, toCoreError(thrown, 'http'));
    }
  }
}

/** The value of the body, or what is wrong with it: the protocol of the door has words for that. */
async function bodyOf(
  request: IncomingMessage,
  response: ServerResponse,
  arrived: () => void,
): Promise<Pick<DoorRequest, 'body' | 'fault'>> {
  if (request.method === 'GET' || request.method === 'HEAD') return { body: undefined };
  try {
    const refusal = contentTypeRefusal(request);
    if (refusal) throw refusal;
    return { body: await readJson(request, BODY_LIMIT, arrived) };
  } catch (thrown) {
    if (!(thrown instanceof CoreError)) throw thrown;
    // The unread rest of a body must not be taken for the next request.
    response.setHeader('connection', 'close');
    return { body: undefined, fault: thrown };
  }
}

async function* messages(events: AsyncIterable<unknown>): AsyncGenerator<ServerSentEvent> {
  for await (const data of events) yield { data };
}
