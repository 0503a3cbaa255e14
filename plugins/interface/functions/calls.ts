/** Calls into apps: which function, may it be called, do inputs and result fit, how long may it take, and what if the app goes away. */
import { randomBytes } from 'node:crypto';
import {
  type Caller,
  type Capabilities,
  type CapabilityId,
  CoreError,
  callerName,
  type HookCaller,
  maybe,
  steadyMs,
} from '@device-core/plugin-api';
import type { AppCall, CallMeta } from '@device-core/plugin-api/inside/services/app-sockets';
import type { FunctionRequest } from '@device-core/plugin-api/services/functions';
import { formatTraceparent, type Tracer } from '@device-core/plugin-api/tracing';
import type { Registered } from './entry.ts';
import type { Presence } from './presence.ts';
import type { Registry } from './registry.ts';

type Members = Readonly<Record<string, unknown>>;

export interface CallsOptions {
  readonly registry: Registry;
  readonly presence: Presence;
  readonly capabilities: Capabilities;
  readonly policy: HookCaller<'function.call'>;
  readonly tracer: Tracer;
  /** The session that registered a function, where it was one. */
  readonly sessionOf: (id: string) => string | undefined;
}

export class Calls {
  readonly #options: CallsOptions;
  /** Call ids are unique across restarts of the plugin, so that an app never takes a new call for an old one. */
  readonly #prefix = randomBytes(4).toString('hex');
  #count = 0;

  constructor(options: CallsOptions) {
    this.#options = options;
  }

  async call(request: FunctionRequest): Promise<Members> {
    const { tracer } = this.#options;
    if (!tracer.on) return this.#call(request);
    const { app, name, caller, trace } = request;
    const attributes = { ...maybe({ app }), caller: callerName(caller) };
    const span = tracer.begin(`function ${name}`, trace, attributes)!;
    try {
      const result = await this.#call({ ...request, trace: span.context });
      span.end();
      return result;
    } catch (error) {
      span.end({ error });
      throw error;
    }
  }

  async #call(request: FunctionRequest): Promise<Members> {
    const { registry, capabilities, policy } = this.#options;
    const started = steadyMs();
    const app = request.app ?? registry.owner(request.name);
    if (!isOwn(request.caller, app)) capabilities.require(request.caller, `functions.call:${app}`);
    const target = registry.resolve(app, request.name, request.version);
    checkPermissions(capabilities, target);
    let inputs = request.inputs ?? {};
    const misfit = target.checkInputs(inputs);
    if (misfit) throw new CoreError('PARAMS_INVALID', { where: `the inputs of ${target.id}`, reason: misfit });
    const deadline = Math.min(started + target.timeoutMs, request.deadline ?? Number.POSITIVE_INFINITY);
    if (policy.isUsed()) {
      const { name, version } = target.entry;
      const refusal = await policy.promise({ app, name, version, inputs, deadline, caller: request.caller });
      if (refusal) throw refusal;
      // A policy may have changed the inputs: the copy no longer counts as the bytes that came.
      inputs = { ...inputs };
    }
    return readResult(target, await this.#deliver(target, inputs, deadline, request));
  }

  async #deliver(target: Registered, inputs: Members, deadline: number, request: FunctionRequest): Promise<unknown> {
    const { presence } = this.#options;
    // An idempotent call that is repeated carries the key of its first try, so that the app can tell.
    const key = request.idempotencyKey ?? (target.idempotent ? `${this.#prefix}-i${this.#count + 1}` : undefined);
    const seen = presence.opened(target.app);
    try {
      return await this.#send(target, inputs, deadline, request, key);
    } catch (error) {
      if (!(error instanceof CoreError) || error.code !== 'SESSION_CLOSED') throw error;
      if (!target.idempotent) throw gone(target, 'it is not idempotent, so it is not repeated', error);
    }
    return this.#repeat(seen, target, deadline, request, () => this.#send(target, inputs, deadline, request, key));
  }

  async #repeat(
    seen: number,
    target: Registered,
    deadline: number,
    { signal }: FunctionRequest,
    send: () => Promise<unknown>,
  ): Promise<unknown> {
    const { presence } = this.#options;
    const { app } = target;
    const nextSession = (since: number) =>
      presence.next(app, since, `function ${target.id}`, Math.max(0, deadline - steadyMs()), signal);
    if (!presence.has(app)) await nextSession(seen);
    const before = presence.opened(app);
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof CoreError)) throw error;
      if (error.code === 'SESSION_CLOSED') throw gone(target, 'it happened again when the call was repeated', error);
      // The session was gone already and nothing was sent: the repetition is still to come.
      if (error.code !== 'APP_NOT_RUNNING') throw error;
    }
    await nextSession(before);
    return send();
  }

  #send(
    target: Registered,
    inputs: Members,
    deadline: number,
    request: FunctionRequest,
    key?: string,
  ): Promise<unknown> {
    const { sockets } = this.#options.presence;
    const { app, entry } = target;
    if (!sockets) throw new CoreError('APP_NOT_RUNNING', { app, reason: 'app sockets are not served now' });
    const deadlineMs = deadline - steadyMs();
    if (deadlineMs <= 0) throw new CoreError('TIMEOUT', { what: `function ${target.id}`, ms: target.timeoutMs });
    this.#count += 1;
    const meta: { -readonly [K in keyof CallMeta]: CallMeta[K] } = {
      callId: `${this.#prefix}-${this.#count}`,
      version: entry.version,
      deadlineMs,
      caller: callerName(request.caller),
    };
    if (key !== undefined) meta.idempotencyKey = key;
    if (request.trace) meta.traceparent = formatTraceparent(request.trace);
    const call: { -readonly [K in keyof AppCall]: AppCall[K] } = { method: entry.name, params: inputs, meta };
    if (request.signal) call.signal = request.signal;
    const session = this.#options.sessionOf(target.id);
    if (session !== undefined) call.session = session;
    return sockets.call(app, call);
  }
}

/** The app that offers a function must still hold what it said the function needs. Throws CAPABILITY_DENIED. */
export function checkPermissions(capabilities: Capabilities, { app, permissions }: Registered): void {
  for (const permission of permissions) capabilities.require({ kind: 'app', id: app }, permission as CapabilityId);
}

function isOwn(caller: Caller, app: string): boolean {
  return caller.kind === 'app' && caller.id === app;
}

function gone(target: Registered, why: string, cause: CoreError): CoreError {
  const { reason: told } = cause.details;
  const how = typeof told === 'string' ? ` (${told})` : '';
  const reason = `it went away in the middle of ${target.entry.name}${how}; ${why}`;
  return new CoreError('APP_NOT_RUNNING', { app: target.app, reason }, { cause });
}

function readResult(target: Registered, given: unknown): Members {
  const result = given ?? {};
  const isMap = typeof result === 'object' && !Array.isArray(result);
  const reason = isMap ? target.checkResult?.(result as Members) : 'it is not an object';
  if (reason) throw new CoreError('RESULT_INVALID', { app: target.app, function: target.entry.name, reason });
  return result as Members;
}
