/** The routes of the table as it is now. Fastify takes no route once it runs: a new instance is built beside the old one and takes over in one step. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import {
  CoreError,
  type Logger,
  type OperationInfo,
  type RestBinding,
  reasonOf,
  type Scope,
} from '@device-core/plugin-api';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { addBodyParser } from './body.ts';
import type { FrontEnd } from './front-end.ts';
import { paramsReader } from './params.ts';
import { sendFailure } from './responses.ts';

const BODY_LIMIT = 256 * 1024;
const PARAM_LIMIT = 512;
/** Fastify's errors repeat the whole URL. */
const SHOWN = 200;
/** Plugins come in bursts: wait until none has come for this long, or until somebody asks. */
const QUIET_MS = 50;
const PREFIXES = ['', '/v1'];

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

export class Router {
  readonly #frontEnd: FrontEnd;
  readonly #scope: Scope;
  readonly #log: Logger;
  #operations: readonly OperationInfo[] = [];
  #handler: Handler | undefined;
  #building: Promise<Handler> | undefined;
  #timer: Disposable | undefined;

  constructor(frontEnd: FrontEnd, scope: Scope, log: Logger) {
    this.#frontEnd = frontEnd;
    this.#scope = scope;
    this.#log = log;
  }

  /** Requests in flight stay with the instance that they began with. */
  update(operations: readonly OperationInfo[]): void {
    const routed = operations.filter((operation) => operation.rest);
    if (routed.length === this.#operations.length && routed.every((one, index) => one === this.#operations[index]))
      return;
    this.#operations = routed;
    this.#handler = undefined;
    this.#timer?.[Symbol.dispose]();
    this.#timer = this.#scope.timeout('build routes', QUIET_MS, async () => void (await this.ready()));
  }

  readonly handle: Handler = (request, response) => {
    if (this.#handler) this.#handler(request, response);
    else void this.#handleLater(request, response);
  };

  /** Resolves when the routes are those of the table. */
  async ready(): Promise<Handler> {
    while (!this.#handler) {
      const operations = this.#operations;
      this.#building ??= build(operations, this.#frontEnd, this.#log).finally(() => {
        this.#building = undefined;
      });
      const handler = await this.#building;
      if (operations === this.#operations) this.#handler = handler;
    }
    return this.#handler;
  }

  async #handleLater(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      (await this.ready())(request, response);
    } catch (thrown) {
      this.#log.error({ reason: reasonOf(thrown) }, 'cannot build the routes');
      sendFailure(response, new CoreError('UNAVAILABLE', { what: 'the routes', reason: 'they cannot be built' }));
    }
  }
}

async function build(operations: readonly OperationInfo[], frontEnd: FrontEnd, log: Logger): Promise<Handler> {
  const { fastify } = await import('fastify'); // the largest single cost of a start: after it, not within
  const app = fastify({
    bodyLimit: BODY_LIMIT,
    exposeHeadRoutes: true,
    routerOptions: { maxParamLength: PARAM_LIMIT },
    frameworkErrors: (error, request, reply) =>
      void frontEnd.refuse(explain(error, BODY_LIMIT), request as FastifyRequest, reply as FastifyReply),
  });
  const fail = (reply: FastifyReply, error: unknown): void => {
    const rest = reply.request.deviceCall?.operation.rest;
    frontEnd.fail(reply, explain(error, rest?.bodyLimit ?? BODY_LIMIT), rest);
  };
  addBodyParser(app);
  app.decorateRequest('deviceCall', null);
  app.setErrorHandler<FastifyError>((error, _request, reply) => fail(reply, error));
  const at = operationsAt(operations);
  app.addHook('onRequest', (request, reply, next) => {
    if (request.is404) void frontEnd.missing(at(request.raw.url ?? ''), request, reply);
    else next();
  });
  for (const operation of operations) addRoutes(app, operation, frontEnd);
  await app.ready();
  log.debug({ operations: operations.length }, 'routes built');
  return (request, response) => app.routing(request, response);
}

function addRoutes(app: FastifyInstance, operation: OperationInfo, frontEnd: FrontEnd): void {
  const { method, path, bodyLimit = BODY_LIMIT } = operation.rest!;
  const read = paramsReader(operation);
  for (const prefix of PREFIXES)
    app.route({
      method,
      url: prefix + path,
      bodyLimit,
      onRequest: (request, reply, next) => void frontEnd.admit(operation, request, reply, next),
      handler: (request: FastifyRequest, reply: FastifyReply) => void frontEnd.run(read, request, reply),
    });
}

/** What a path has that has no route for the method it was asked with. Only asked on the way to an error. */
function operationsAt(operations: readonly OperationInfo[]): (url: string) => readonly RestBinding[] {
  const patterns = operations.map(({ rest }) => {
    const pattern = rest!.path.replaceAll('.', '\\.').replaceAll(/:[^/]+/g, '[^/]+');
    return { rest: rest!, pattern: new RegExp(`^(/v1)?${pattern}$`) };
  });
  return (url) => {
    const path = url.split('?', 1)[0]!;
    return patterns.filter(({ pattern }) => pattern.test(path)).map(({ rest }) => rest);
  };
}

/** Fastify's own errors in the words of the table. */
function explain(error: unknown, limit: number): unknown {
  const { code, statusCode } = error as Partial<FastifyError>;
  if (error instanceof CoreError) return error;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new CoreError('BODY_TOO_LARGE', { limit, what: 'request body' });
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE')
    return new CoreError('CONTENT_TYPE_INVALID', { contentType: 'malformed' });
  if (statusCode !== undefined && statusCode < 500)
    return new CoreError('REQUEST_INVALID', { reason: reasonOf(error).slice(0, SHOWN) });
  return error;
}
