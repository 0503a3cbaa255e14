/** What one request goes through, in the order of decisions D1: host and origin, identity, capability, content type and body, the gate. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  type Caller,
  CoreError,
  type Identity,
  type Logger,
  type OperationInfo,
  type Operations,
  type RestBinding,
  type ServerSentEvent,
  toCoreError,
} from '@device-core/plugin-api';
import { credentialsOf } from './authentication.ts';
import { contentTypeRefusal, hasBody, isJson, readJson } from './body.ts';
import type { Connections } from './connections.ts';
import type { EventStreams } from './event-streams.ts';
import { RequestCall } from './request-call.ts';
import { sendFailure, sendResult, startEventStream } from './responses.ts';
import { type Found, Routes } from './routes.ts';

const BODY_LIMIT = 256 * 1024;

export class FrontEnd {
  readonly #table: Operations;
  readonly #identity: Identity;
  readonly #connections: Connections;
  readonly #streams: EventStreams;
  readonly #log: Logger;
  #operations: readonly OperationInfo[] = [];
  #routes: Routes | undefined;

  constructor(
    operations: Operations,
    identity: Identity,
    connections: Connections,
    streams: EventStreams,
    log: Logger,
  ) {
    this.#table = operations;
    this.#identity = identity;
    this.#connections = connections;
    this.#streams = streams;
    this.#log = log;
  }

  /** Requests in flight stay with the routes that they began with. */
  update(operations: readonly OperationInfo[]): void {
    this.#operations = operations;
    this.#routes = undefined; // made when somebody asks: plugins come in bursts
  }

  readonly handle = (request: IncomingMessage, response: ServerResponse): void => {
    this.#routes ??= new Routes(this.#operations);
    const found = this.#routes.find(request.method!, request.url!);
    if (!found) void this.#missing(this.#routes.at(request.url!), request, response);
    else if (found instanceof CoreError) void this.#refuse(found, request, response);
    else void this.#serve(found, request, response);
  };

  async #serve({ route, values, query }: Found, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { operation, rest } = route;
    /** Who calls may not, whatever the params; they are read only to name what is missing. */
    let refusal: CoreError | undefined;
    try {
      const call = new RequestCall(operation, await this.#callerOf(request), response);
      refusal = await this.#table.permitted(operation.name, call);
      if (refusal && !isUnnamed(refusal)) throw refusal;
      const body = this.#bodyOf(request, rest, refusal);
      const params = route.read({ values, query, body: body instanceof Promise ? await body : body });
      if (rest.sse) await this.#stream(call, params, request.method === 'HEAD', response);
      else sendResult(response, operation, await this.#table.invoke(operation.name, params, call));
    } catch (thrown) {
      // Who may not ask hears of nothing else; the best refusal is the one that names what was asked for.
      this.#fail(request, response, refusal && !isRefusal(thrown) ? refusal : thrown, rest);
    }
  }

  /** Throws CONTENT_TYPE_INVALID, JSON_INVALID, BODY_TOO_LARGE, REQUEST_INVALID. */
  #bodyOf(request: IncomingMessage, { bodyLimit = BODY_LIMIT }: RestBinding, refusal: CoreError | undefined): unknown {
    const wrong = refusal ? undefined : contentTypeRefusal(request);
    if (wrong) throw wrong;
    if (!hasBody(request)) return undefined;
    if (refusal && !isJson(request)) throw refusal;
    return readJson(request, bodyLimit);
  }

  /** No route. `there` is what the path has for other methods. */
  async #missing(there: readonly RestBinding[], request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = request.url!.split('?', 1)[0]!.slice(0, 200);
    const allowed = [...new Set(there.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))];
    if (allowed.length === 0) return this.#refuse(new CoreError('METHOD_NOT_FOUND', { name: path }), request, response);
    const details = { method: request.method!, path, allowed: allowed.join(', ') };
    const error = new CoreError('METHOD_NOT_ALLOWED', details);
    return this.#refuse(error, request, response, there[0], { allow: allowed.join(', ') });
  }

  /** Answers with the error, but nothing of it is told to those who may not ask. */
  async #refuse(
    error: CoreError,
    request: IncomingMessage,
    response: ServerResponse,
    rest?: RestBinding,
    headers: Record<string, string> = {},
  ): Promise<void> {
    try {
      await this.#callerOf(request);
      throw error;
    } catch (thrown) {
      this.#fail(request, response, thrown, rest, thrown === error ? headers : {});
    }
  }

  /** The one place where an error leaves as an answer; a fault of ours is logged here. */
  #fail(
    { url }: IncomingMessage,
    response: ServerResponse,
    thrown: unknown,
    rest?: RestBinding,
    headers: Record<string, string> = {},
  ): void {
    if (!(thrown instanceof CoreError)) this.#log.error({ err: thrown, url }, 'request failed');
    sendFailure(response, toCoreError(thrown, 'http'), rest, headers);
  }

  async #callerOf(request: IncomingMessage): Promise<Caller> {
    const connection = this.#connections.of(request.socket);
    if (!connection) throw new CoreError('REQUEST_INVALID', { reason: 'its connection is closed' });
    const refusal = connection.origin?.refusal(request);
    if (refusal) throw refusal;
    const credentials = credentialsOf(request, connection);
    const caller = await this.#identity.authenticate(credentials instanceof Promise ? await credentials : credentials);
    if (caller.kind !== 'anonymous') connection.known = true;
    if (caller.kind === 'app') connection.apps.add(caller.id);
    return caller;
  }

  async #stream(call: RequestCall, params: unknown, headOnly: boolean, response: ServerResponse): Promise<void> {
    if (headOnly) {
      startEventStream(response);
      response.end();
      return;
    }
    const events = await this.#table.invoke(call.operation.name, params, call);
    await this.#streams.run(response, events as AsyncIterable<ServerSentEvent>);
  }
}

function isRefusal(thrown: unknown): thrown is CoreError {
  return thrown instanceof CoreError && thrown.code === 'CAPABILITY_DENIED';
}

/** It says `bridges.spi:<handle>`: which handle it is stands in the params, which are not read yet. */
function isUnnamed(refusal: CoreError): boolean {
  return isRefusal(refusal) && String(refusal.details.capability).endsWith('>');
}
