/**
 * Steps of one request, in the order of decisions D1: host and origin, identity, capability, content type and body,
 * the gate.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ANONYMOUS, type Caller, CoreError, callerName, type Logger, toCoreError } from '@device-core/plugin-api';
import type { Identity } from '@device-core/plugin-api/inside/services/identity';
import type {
  OperationInfo,
  Operations,
  RestBinding,
  ServerSentEvent,
} from '@device-core/plugin-api/services/operations';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type LoopShare, REQUESTS } from '../shared/loop-share.ts';
import type { LoopTurns } from '../shared/loop-turns.ts';
import { credentialsOf, withConfirmation } from './authentication.ts';
import { contentTypeRefusal, isWholeJson, wholeBody } from './body.ts';
import type { Connection, Connections } from './connections.ts';
import type { EventStreams } from './event-streams.ts';
import type { ParamsReader, RequestParts } from './params.ts';
import type { RawBodies } from './raw-body.ts';
import { RequestCall } from './request-call.ts';
import { sendFailure, sendResult, startEventStream } from './responses.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set once the caller is known and may use the operation. */
    deviceCall: RequestCall | null;
  }
}

export type Routed = OperationInfo & { readonly rest: RestBinding };

export interface Route {
  readonly operation: Routed;
  readonly read: ParamsReader;
  /** Bytes. */
  readonly bodyLimit: number;
}

export interface FrontEndServices {
  readonly operations: Operations;
  readonly identity: Identity;
  /** Turns of callers at the event loop. */
  readonly loop: LoopTurns;
}

export class FrontEnd {
  readonly #operations: Operations;
  readonly #identity: Identity;
  readonly #loop: LoopTurns;
  readonly #connections: Connections;
  readonly #streams: EventStreams;
  readonly #bodies: RawBodies;
  readonly #log: Logger;

  constructor(
    { operations, identity, loop }: FrontEndServices,
    connections: Connections,
    streams: EventStreams,
    bodies: RawBodies,
    log: Logger,
  ) {
    this.#operations = operations;
    this.#identity = identity;
    this.#loop = loop;
    this.#connections = connections;
    this.#streams = streams;
    this.#bodies = bodies;
    this.#log = log;
  }

  /**
   * Everything before the body is read. Calls `next` where a body is still to come; a request that is there whole is
   * answered here, for fastify's way to its parser and handler costs a twentieth of it.
   */
  async admit(route: Route, request: FastifyRequest, reply: FastifyReply, next: () => void): Promise<void> {
    const { operation } = route;
    let bodyArrived: boolean;
    try {
      const connection = this.#connectionOf(request.raw);
      const caller = withConfirmation(await this.callerOf(request.raw, connection), request.raw);
      const call = new RequestCall(operation, caller, request.raw, reply.raw);
      const refusal = await this.#operations.permitted(operation.name, call);
      if (operation.rest.raw) return await this.#receive(call, refusal ?? call.wrong, route, request, reply);
      const fault = refusal ?? contentTypeRefusal(request.raw) ?? call.wrong;
      if (refusal && isUnnamed(refusal)) call.refusal = refusal;
      else if (fault) throw fault;
      request.deviceCall = call;
      const hasBody = operation.rest.method !== 'GET';
      bodyArrived = !hasBody || isWholeJson(request.raw);
      if (bodyArrived && hasBody) request.body = wholeBody(request.raw, route.bodyLimit);
    } catch (thrown) {
      this.fail(reply, thrown, operation.rest);
      return;
    }
    if (bodyArrived) void this.run(route.read, request, reply);
    else next();
  }

  /** A GET without params, whatever the routes are just now. */
  async answer(operation: OperationInfo, request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const connection = this.#connectionOf(request);
      const call = new RequestCall(operation, await this.callerOf(request, connection), request, response);
      const refusal = await this.#operations.permitted(operation.name, call);
      const fault = refusal ?? contentTypeRefusal(request) ?? call.wrong;
      if (fault) throw fault;
      sendResult(response, operation, await this.#operations.invoke(operation.name, {}, call));
    } catch (thrown) {
      if (!(thrown instanceof CoreError)) this.#log.error({ err: thrown, url: request.url }, 'request failed');
      sendFailure(response, toCoreError(thrown, 'http'), operation.rest);
    }
  }

  /** No route. `there` is what the path has for other methods. */
  async missing(there: readonly RestBinding[], request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const path = request.originalUrl.split('?', 1)[0]!.slice(0, 200);
    // A path is the name of no operation: the gate says whether there is none, or whether it may still be to come.
    const absent = await this.#operations.permitted(path, {
      caller: ANONYMOUS,
      signal: new AbortController().signal,
      deadline: Number.MAX_SAFE_INTEGER,
    });
    if (absent?.details.starting === true) return this.refuse(absent, request, reply);
    const allowed = [...new Set(there.flatMap(({ method }) => (method === 'GET' ? ['GET', 'HEAD'] : [method])))];
    if (allowed.length === 0) return this.refuse(new CoreError('METHOD_NOT_FOUND', { name: path }), request, reply);
    const details = { method: request.method, path, allowed: allowed.join(', ') };
    const error = new CoreError('METHOD_NOT_ALLOWED', details);
    return this.refuse(error, request, reply, there[0], { allow: allowed.join(', ') });
  }

  /** Answers with the error, but nothing of it is told to those who may not ask. */
  async refuse(
    error: unknown,
    request: FastifyRequest,
    reply: FastifyReply,
    rest?: RestBinding,
    headers: Record<string, string> = {},
  ): Promise<void> {
    try {
      await this.callerOf(request.raw, this.#connectionOf(request.raw));
      throw error;
    } catch (thrown) {
      this.fail(reply, thrown, rest, thrown === error ? headers : {});
    }
  }

  /** The operation gets the file in which the body is, and may take it away. */
  async #receive(
    call: RequestCall,
    refusal: CoreError | undefined,
    { operation, bodyLimit }: Route,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<void> {
    // The unread rest of a body must not be taken for the next request.
    reply.raw.setHeader('connection', 'close');
    if (refusal) throw refusal;
    const file = await this.#bodies.receive(request.raw, bodyLimit, call.caller);
    this.charge(request.raw);
    reply.hijack();
    try {
      sendResult(reply.raw, operation, await this.#operations.invoke(operation.name, { file }, call));
    } finally {
      await this.#bodies.discard(file);
    }
  }

  async run(read: ParamsReader, request: FastifyRequest, reply: FastifyReply): Promise<void> {
    const call = request.deviceCall!;
    const { operation } = call;
    reply.hijack();
    try {
      const params = call.refusal ? namedParams(read, request, call.refusal) : read(request);
      if (operation.rest!.sse) await this.#stream(call, params, request.method === 'HEAD', reply);
      else sendResult(reply.raw, operation, await this.#operations.invoke(operation.name, params, call));
    } catch (thrown) {
      this.fail(reply, thrown, operation.rest);
    }
  }

  /** The one place where an error leaves as an answer; a fault of ours is logged here. */
  fail(reply: FastifyReply, cause: unknown, rest?: RestBinding, headers: Record<string, string> = {}): void {
    // A refused caller learns of no other fault; the best refusal names the requested right.
    const { refusal } = reply.request.deviceCall ?? {};
    const thrown = refusal && !isRefusal(cause) ? refusal : cause;
    if (!(thrown instanceof CoreError))
      this.#log.error({ err: thrown, url: reply.request.originalUrl }, 'request failed');
    reply.hijack();
    sendFailure(reply.raw, toCoreError(thrown, 'http'), rest, headers);
  }

  /** Throws ORIGIN_DENIED, REQUEST_INVALID. */
  #connectionOf(raw: IncomingMessage): Connection {
    const connection = this.#connections.of(raw.socket);
    if (!connection) throw new CoreError('REQUEST_INVALID', { reason: 'its connection is closed' });
    // Before it is known, and where it is refused: all those together are one caller.
    connection.share ??= shareOf(this.#loop, ANONYMOUS);
    this.charge(raw, connection);
    const refusal = connection.origin?.refusal(raw);
    if (refusal) throw refusal;
    return connection;
  }

  /** Caller of a request, as soon as it may have a turn. Throws UNAUTHENTICATED. */
  async callerOf(raw: IncomingMessage, connection: Connection): Promise<Caller> {
    const caller = remembered(await this.#authenticate(raw, connection), connection);
    connection.share = shareOf(this.#loop, caller);
    // A page is looked up on the disk: what follows is no longer measured then.
    if (!connection.measured) this.charge(raw, connection);
    await this.#loop.turn(connection.share);
    return caller;
  }

  /** Has what follows charged to the caller of the connection, who may be known only at the end of it. */
  charge(raw: IncomingMessage, connection = this.#connections.of(raw.socket)): void {
    if (!connection) return;
    connection.measured = true;
    this.#loop.follow(() => {
      connection.measured = false;
      return connection.share!;
    });
  }

  #authenticate(raw: IncomingMessage, connection: Connection): Promise<Caller> {
    const credentials = credentialsOf(raw, connection);
    if (credentials instanceof Promise) return credentials.then((known) => this.#identity.authenticate(known));
    return this.#identity.authenticate(credentials);
  }

  async #stream(call: RequestCall, params: unknown, headOnly: boolean, reply: FastifyReply): Promise<void> {
    if (headOnly) {
      startEventStream(reply.raw);
      reply.raw.end();
      return;
    }
    const events = await this.#operations.invoke(call.operation.name, params, call);
    await this.#streams.run(reply.raw, events as AsyncIterable<ServerSentEvent>);
  }
}

/** Share of a caller: a page has its own, and so have processes of each unknown user. */
export function shareOf(loop: LoopTurns, caller: Caller): LoopShare {
  return loop.share(shareName(caller), REQUESTS);
}

function shareName(caller: Caller): string {
  if (caller.signedIn) return `page ${caller.signedIn.id}`;
  return caller.kind === 'anonymous' ? `anonymous ${caller.peer?.uid ?? ''}` : callerName(caller);
}

/** Remembers of the connection who has spoken on it. */
function remembered(caller: Caller, connection: Connection): Caller {
  if (caller.kind !== 'anonymous') connection.known = true;
  if (caller.kind === 'app') connection.apps.add(caller.id);
  if (caller.signedIn) connection.signedIn.add(caller.signedIn.id);
  return caller;
}

function isRefusal(thrown: unknown): thrown is CoreError {
  return thrown instanceof CoreError && thrown.code === 'CAPABILITY_DENIED';
}

/** It says `bridges.spi:<handle>`: which handle it is stands in the params, which are not read yet. */
function isUnnamed(refusal: CoreError): boolean {
  return isRefusal(refusal) && String(refusal.details.capability).endsWith('>');
}

/** For a caller that will be refused: params that cannot be read change nothing. */
function namedParams(read: ParamsReader, parts: RequestParts, refusal: CoreError): unknown {
  try {
    return read(parts);
  } catch {
    throw refusal;
  }
}
