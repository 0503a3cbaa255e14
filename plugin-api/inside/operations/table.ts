/** The one table: operations and stream endpoints by name, and who watches it. */

import type { JsonSchema } from '../../contract/json-schema.ts';
import {
  type Capabilities,
  CoreError,
  didYouMean,
  type Logger,
  pluginErrorProblem,
  type Scope,
  type ServiceUser,
} from '../../index.ts';
import type { Operation, OperationInfo, RestBinding, StreamEndpoint, StreamInfo } from '../../services/operations.ts';
import { authorization } from './capability-template.ts';
import { Departed } from './departed.ts';
import type { Entry, OperationEntry, StreamEntry } from './entry.ts';
import { checkOperation, checkStream } from './form.ts';
import { closed, type Schemas } from './schema.ts';

const LONGEST_SHOWN = 200;
const NAME = /^[a-z][A-Za-z0-9]*(\.[a-z][A-Za-z0-9]*)+$/;
const PATH = /^(\/(:[A-Za-z][A-Za-z0-9]*|[A-Za-z0-9_.-]+))+$/;
const TIMEOUT_MS = 30_000;

/** A caller may send a name of any length. */
export const shownName = (name: string): string =>
  name.length > LONGEST_SHOWN ? `${name.slice(0, LONGEST_SHOWN)}...` : name;

export class Table {
  readonly #operations = new Map<string, OperationEntry>();
  readonly #streams = new Map<string, StreamEntry>();
  readonly #routes = new Map<string, string>();
  readonly #watchers = new Set<(operations: readonly OperationInfo[]) => void>();
  readonly #schemas: Schemas;
  readonly #capabilities: Capabilities;
  readonly #scope: Scope;
  readonly #removed: (entry: Entry) => void;
  readonly departed: Departed;
  readonly #log: Logger;
  #listed: readonly OperationInfo[] | undefined;
  #telling = false;

  constructor(
    schemas: Schemas,
    capabilities: Capabilities,
    scope: Scope,
    log: Logger,
    removed: (entry: Entry) => void,
  ) {
    this.#schemas = schemas;
    this.#capabilities = capabilities;
    this.#scope = scope;
    this.#log = log;
    this.#removed = removed;
    this.departed = new Departed(scope, () => this.#changed());
  }

  operation(name: string): OperationEntry | undefined {
    return this.#operations.get(name);
  }

  stream(name: string): StreamEntry | undefined {
    return this.#streams.get(name);
  }

  add(operation: Operation<never, unknown>, user?: ServiceUser): Disposable {
    checkOperation(operation, user);
    const { run, about, ...described } = operation;
    const { name } = operation;
    const given: OperationInfo = { ...described, params: closed(operation.params), ...ownerOf(user) };
    this.#checkName(name);
    checkErrors(operation, user);
    const route = operation.rest ? routeKey(operation.rest, name) : undefined;
    const owner = route === undefined ? undefined : this.#routes.get(route);
    if (owner !== undefined) throw new CoreError('OPERATION_CONFLICT', { name, what: `${route} belongs to ${owner}` });
    // An operation that comes back unchanged keeps its info: no reader has to build its routes anew.
    const former = this.departed.take(name, route)?.info;
    const info = former && JSON.stringify(former) === JSON.stringify(given) ? former : given;
    const entry: OperationEntry = {
      ...this.#compile(
        info,
        { ...operation, reads: operation.rest?.method === 'GET' || operation.viewers === true },
        user,
      ),
      info,
      sensitive: info.sensitive,
      about: (about as Operation<unknown>['about'])?.bind(operation),
      run: measured((run as Operation<unknown>['run']).bind(operation), user),
      checkResult: this.#schemas.result(name, info.result),
    };
    this.#operations.set(name, entry);
    if (route !== undefined) this.#routes.set(route, name);
    this.#changed();
    return this.#removal(() => {
      this.#operations.delete(name);
      if (route !== undefined) this.#routes.delete(route);
      this.departed.add(route === undefined ? entry : { ...entry, route });
      this.#removed(entry);
    });
  }

  addStream(endpoint: StreamEndpoint<never>, user?: ServiceUser): Disposable {
    checkStream(endpoint, user);
    const { run, ...described } = endpoint;
    const info: StreamInfo = { ...described, params: closed(endpoint.params), ...ownerOf(user) };
    this.#checkName(endpoint.name);
    const entry: StreamEntry = {
      ...this.#compile(info, { reads: endpoint.viewers ?? endpoint.direction === 'read' }, user),
      info,
      run: measured((run as StreamEndpoint['run']).bind(endpoint), user),
    };
    this.departed.take(endpoint.name);
    this.#streams.set(endpoint.name, entry);
    this.#changed();
    return this.#removal(() => {
      this.#streams.delete(endpoint.name);
      const { info: _, ...rest } = entry;
      this.departed.add(rest);
      this.#removed(entry);
    });
  }

  /** Sorted by name; the same array until the table changes. */
  list(): readonly OperationInfo[] {
    this.#listed ??= [...this.#operations.values()].map((entry) => entry.info).sort(byName);
    return this.#listed;
  }

  streams(): readonly StreamInfo[] {
    return [...this.#streams.values()].map((entry) => entry.info).sort(byName);
  }

  /** Why a call by this name cannot be served. */
  unknown(name: string): CoreError {
    const suggestion = didYouMean(name, this.#operations.keys());
    return new CoreError('METHOD_NOT_FOUND', { name: shownName(name), suggestion });
  }

  watch(listener: (operations: readonly OperationInfo[]) => void): Disposable {
    this.#watchers.add(listener);
    listener(this.#offered());
    return { [Symbol.dispose]: () => void this.#watchers.delete(listener) };
  }

  #offered(): readonly OperationInfo[] {
    const departed = this.departed.infos();
    return departed.length === 0 ? this.list() : [...this.list(), ...departed].sort(byName);
  }

  #checkName(name: string): void {
    if (!NAME.test(name))
      throw new CoreError('OPERATION_CONFLICT', { name, what: 'a name is dotted camel case words' });
    if (this.#operations.has(name) || this.#streams.has(name))
      throw new CoreError('OPERATION_CONFLICT', { name, what: 'the name is taken' });
  }

  #compile(
    info: { readonly name: string; readonly params: JsonSchema; readonly capability?: string },
    {
      anonymous = false,
      timeoutMs = TIMEOUT_MS,
      keepsDeadline = false,
      reads,
    }: Pick<Operation, 'anonymous' | 'timeoutMs' | 'keepsDeadline'> & { readonly reads: boolean },
    user?: ServiceUser,
  ): Entry {
    return {
      name: info.name,
      timeoutMs,
      keepsDeadline,
      // Rights of every stranger are a viewer's, too: signing in.
      reads: reads || anonymous,
      authorization: authorization(info.capability, anonymous, this.#capabilities),
      checkParams: this.#schemas.params(info.name, info.params, user?.outside),
      user,
    };
  }

  #removal(remove: () => void): Disposable {
    let gone = false;
    return {
      [Symbol.dispose]: () => {
        if (gone) return;
        gone = true;
        remove();
        this.#changed();
      },
    };
  }

  /** Plugins add their operations in bulk: watchers hear of it once per turn of the event loop. */
  #changed(): void {
    this.#listed = undefined;
    if (this.#telling) return;
    this.#telling = true;
    setImmediate(() => {
      this.#telling = false;
      if (this.#scope.signal.aborted) return;
      for (const listener of [...this.#watchers]) this.#tell(listener);
    });
  }

  #tell(listener: (operations: readonly OperationInfo[]) => void): void {
    try {
      listener(this.#offered());
    } catch (err) {
      this.#log.error({ err }, 'a watcher of the operations failed');
    }
  }
}

/** `GET /config/:`: routes that differ only in the names of their segments are the same route. Throws OPERATION_CONFLICT. */
function routeKey(rest: RestBinding, name: string): string {
  if (!PATH.test(rest.path) || /^\/v\d+(\/|$)/.test(rest.path))
    throw new CoreError('OPERATION_CONFLICT', { name, what: `${rest.path} is no path of plain segments outside /v1` });
  return `${rest.method} ${rest.path.replaceAll(/:[^/]+/g, ':')}`;
}

/** Throws OPERATION_CONFLICT for an invalid error of the plugin, or one with the id of another plugin. */
function checkErrors({ name, errors }: Pick<Operation, 'name' | 'errors'>, user: ServiceUser | undefined): void {
  for (const error of errors) {
    const problem = typeof error === 'string' ? undefined : pluginErrorProblem(error, user?.plugin);
    if (problem !== undefined) throw new CoreError('OPERATION_CONFLICT', { name, what: problem });
  }
}

function ownerOf(user: ServiceUser | undefined): { readonly plugin?: string } {
  return user ? { plugin: user.plugin } : {};
}

function measured<A extends readonly unknown[], R>(run: (...args: A) => R, user: ServiceUser | undefined) {
  return user ? user.measured('operation', run) : run;
}

function byName(a: { readonly name: string }, b: { readonly name: string }): number {
  return a.name < b.name ? -1 : 1;
}
