/**
 * The routes of the table as it is now. Fastify takes no route once it runs: a new instance is built beside the old one
 * and takes over in one step. It is loaded and built when somebody asks for something: a start, and a device that is
 * asked for its health alone, go without it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { CoreError, type Logger, reasonOf } from '@device-core/plugin-api';
import type { OperationInfo, RestBinding } from '@device-core/plugin-api/services/operations';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest, FastifyServerOptions } from 'fastify';
import { addBodyParser } from './body.ts';
import type { Doors } from './doors.ts';
import type { FrontEnd, Route, Routed } from './front-end.ts';
import type { Mounts } from './mounts.ts';
import { lazyParamsReader } from './params.ts';
import { sendFailure } from './responses.ts';

const BODY_LIMIT = 256 * 1024;
const PARAM_LIMIT = 512;
/** Fastify's errors repeat the whole URL. */
const SHOWN = 200;
/** Every route stands under /v1, too, however it is encoded; a request line may name a whole URL (RFC 9112, 3.2.2). */
const VERSION_PREFIX = /^((?:[hH][tT][tT][pP][sS]?:\/\/[^/?#]+)?)(\/(?:v|%76)(?:1|%31))(?=\/)/;

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export class Router {
  readonly #frontEnd: FrontEnd;
  readonly #log: Logger;
  readonly #mounts: Mounts;
  readonly #doors: Doors;
  #routes: readonly Routed[] = [];
  #health: Routed | undefined;
  #handler: Handler | undefined;
  #building: Promise<Handler> | undefined;

  constructor(frontEnd: FrontEnd, { mounts, doors }: { readonly mounts: Mounts; readonly doors: Doors }, log: Logger) {
    this.#frontEnd = frontEnd;
    this.#mounts = mounts;
    this.#doors = doors;
    this.#log = log;
  }

  /** Requests in flight stay with the instance that they began with. */
  update(operations: readonly OperationInfo[]): void {
    const routes = operations.filter((operation): operation is Routed => operation.rest !== undefined);
    if (routes.length === this.#routes.length && routes.every((one, index) => one === this.#routes[index])) return;
    this.#routes = routes;
    this.#health = routes.find(({ rest }) => rest.method === 'GET' && rest.path === HEALTH);
    this.#handler = undefined; // built when somebody asks: plugins come in bursts
  }

  readonly handle: Handler = (request, response) => {
    // It is asked for from the first moment of a start on, and then again and again.
    if (request.url === HEALTH && request.method === 'GET' && this.#health)
      void this.#frontEnd.answer(this.#health, request, response);
    else if (this.#mounts.take(request, response) || this.#doors.take(request, response)) return;
    else if (this.#handler) this.#handler(request, response);
    else void this.#handleLater(request, response);
  };

  /** Resolves when the routes are those of the table. */
  async #ready(): Promise<Handler> {
    while (!this.#handler) {
      const routes = this.#routes;
      this.#building ??= build(routes, this.#frontEnd, this.#log).finally(() => {
        this.#building = undefined;
      });
      const handler = await this.#building;
      if (routes === this.#routes) this.#handler = handler;
    }
    return this.#handler;
  }

  async #handleLater(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      (await this.#ready())(request, response);
    } catch (thrown) {
      this.#log.error({ reason: reasonOf(thrown) }, 'cannot build the routes');
      sendFailure(response, new CoreError('UNAVAILABLE', { what: 'the routes', reason: 'they cannot be built' }));
    }
  }
}

const HEALTH = '/health';

/** No route has a schema of fastify's: the gate checks params and results, and fastify need not load what compiles them. */
const schemaController = {
  compilersFactory: { buildValidator: () => () => () => true, buildSerializer: () => () => JSON.stringify },
} as unknown as NonNullable<FastifyServerOptions['schemaController']>;

async function build(operations: readonly Routed[], frontEnd: FrontEnd, log: Logger): Promise<Handler> {
  const { fastify } = await import('fastify'); // the largest single cost of a start: after it, not within
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    exposeHeadRoutes: false, // a method of the same route instead: half as many
    rewriteUrl: ({ url = '/' }) => withoutVersion(url),
    schemaController,
    genReqId: () => '', // nobody sees it
    routerOptions: { maxParamLength: PARAM_LIMIT },
    frameworkErrors: (error, request, reply) =>
      void frontEnd.refuse(
        explain(error, BODY_LIMIT, request.originalUrl),
        request as FastifyRequest,
        reply as FastifyReply,
      ),
  });
  const fail = (reply: FastifyReply, error: unknown): void => {
    const rest = reply.request.deviceCall?.operation.rest;
    frontEnd.fail(reply, explain(error, rest?.bodyLimit ?? BODY_LIMIT), rest);
  };
  addBodyParser(
    app,
    ({ deviceCall }) => deviceCall?.operation.rest?.bodyLimit ?? BODY_LIMIT,
    ({ raw }) => frontEnd.charge(raw),
  );
  app.decorateRequest('deviceCall', null);
  app.setErrorHandler<FastifyError>((error, _request, reply) => fail(reply, error));
  const at = operationsAt(operations);
  app.addHook('onRequest', (request, reply, next) => {
    if (request.is404) void frontEnd.missing(at(request.originalUrl), request, reply);
    else next();
  });
  for (const operation of operations) addRoute(app, operation, frontEnd);
  await app.ready();
  log.debug({ operations: operations.length }, 'routes built');
  return (request, response) => app.routing(request, response);
}

function addRoute(app: FastifyInstance, operation: Routed, frontEnd: FrontEnd): void {
  const { method, path, bodyLimit = BODY_LIMIT } = operation.rest;
  const route: Route = { operation, read: lazyParamsReader(operation), bodyLimit };
  app.route({
    method: method === 'GET' ? ['GET', 'HEAD'] : method,
    url: path,
    bodyLimit,
    onRequest: (request, reply, next) => void frontEnd.admit(route, request, reply, next),
    handler: (request: FastifyRequest, reply: FastifyReply) => void frontEnd.run(route.read, request, reply),
  });
}

/** Operations at a path that has no route for the method of the request. Called only on the way to an error. */
function operationsAt(operations: readonly Routed[]): (url: string) => readonly RestBinding[] {
  let patterns: readonly { readonly rest: RestBinding; readonly pattern: RegExp }[] | undefined;
  return (url) => {
    patterns ??= operations.map(({ rest }) => {
      const pattern = rest.path.replaceAll('.', '\\.').replaceAll(/:[^/]+/g, '[^/]+');
      return { rest, pattern: new RegExp(`^(/v1)?${pattern}$`) };
    });
    const path = url.split('?', 1)[0]!;
    return patterns.filter(({ pattern }) => pattern.test(path)).map(({ rest }) => rest);
  };
}

/** Fastify's own errors in the words of the table. */
function explain(error: unknown, limit: number, url = ''): unknown {
  const { code, statusCode } = error as Partial<FastifyError>;
  if (error instanceof CoreError) return error;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new CoreError('BODY_TOO_LARGE', { limit, what: 'request body' });
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new CoreError('CONTENT_TYPE_INVALID', { wanted: 'application/json', contentType: 'malformed' });
  if (statusCode !== undefined && statusCode < 500)
    return new CoreError('REQUEST_INVALID', { reason: asAsked(reasonOf(error), url).slice(0, SHOWN) });
  return error;
}

function withoutVersion(url: string): string {
  return url.startsWith('/v1/') ? url.slice(3) : url.replace(VERSION_PREFIX, '$1');
}

/** It quotes the path without the prefix that was taken from it. */
function asAsked(reason: string, url: string): string {
  if (withoutVersion(url) === url) return reason;
  const [, host = '', version = ''] = VERSION_PREFIX.exec(url)!;
  return reason.startsWith("'/") ? reason.replace("'", `'${version}`) : reason.replace(host, host + version);
}
