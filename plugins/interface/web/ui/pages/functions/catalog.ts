/** Everything that can be called: operations and streams of the table, from the documents of the interface, and functions of apps. Pure. */
import { type Schema, schemaOfTypes } from './types.ts';
import type { CliView } from './words-of.ts';

export interface Rest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With `{name}` for a param. */
  readonly path: string;
  /** The body is a file. */
  readonly raw?: boolean;
  /** Items as they come. */
  readonly sse?: boolean;
}

export interface Operation {
  readonly kind: 'operation';
  readonly name: string;
  readonly area: string;
  readonly summary: string;
  readonly description?: string;
  readonly access?: string;
  readonly capability?: string;
  readonly plugin?: string;
  readonly params: Schema;
  readonly rest?: Rest;
  /** JSON-RPC callers see it. */
  readonly rpc: boolean;
  readonly views: readonly CliView[];
}

export interface RegisteredFunction {
  readonly name: string;
  readonly app: string;
  readonly version: string;
  readonly id: string;
  readonly available: boolean;
  readonly description?: string;
  readonly inputs?: Readonly<Record<string, string>>;
  readonly returns?: Readonly<Record<string, string>>;
  readonly permissions?: readonly string[];
  readonly utterances?: readonly string[];
  readonly timeout_ms?: number;
  readonly idempotent?: boolean;
}

export interface StreamKind {
  readonly kind: 'stream';
  readonly name: string;
  readonly area: string;
  readonly summary: string;
  readonly direction: 'read' | 'write' | 'duplex';
  readonly capability?: string;
  readonly plugin?: string;
  readonly params: Schema;
}

interface Parameter {
  readonly name: string;
  readonly required?: boolean;
  readonly schema?: Schema;
}

interface OpenApiOperation {
  readonly operationId: string;
  readonly summary?: string;
  readonly description?: string;
  readonly 'x-access'?: string;
  readonly 'x-capability'?: string;
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content?: Readonly<Record<string, { readonly schema?: Schema }>> };
  readonly responses?: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>;
}

export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
}

interface OpenRpcMethod {
  readonly name: string;
  readonly summary?: string;
  readonly description?: string;
  readonly params?: readonly Parameter[];
  readonly 'x-cli'?: CliView | readonly CliView[];
  readonly 'x-plugin'?: string;
  readonly 'x-access'?: string;
  readonly 'x-capability'?: string;
}

export interface OpenRpc {
  readonly methods: readonly OpenRpcMethod[];
  readonly 'x-streams'?: readonly Omit<StreamKind, 'kind' | 'area'>[];
}

const areaOf = (name: string): string => name.split('.')[0]!;

/** The REST document knows what is a file and what is a stream; the other one knows the commands, and what has no route. */
export function operationsOf(rest: OpenApi, rpc: OpenRpc): readonly Operation[] {
  const found = new Map<string, Operation>();
  for (const method of rpc.methods) {
    const { name, summary = '', description, params = [] } = method;
    found.set(name, {
      kind: 'operation',
      name,
      area: areaOf(name),
      summary,
      rpc: true,
      params: objectOf(params),
      ...defined({
        description,
        plugin: method['x-plugin'],
        access: method['x-access'],
        capability: method['x-capability'],
      }),
      views: [method['x-cli'] ?? []].flat(),
    });
  }
  for (const [path, methods] of Object.entries(rest.paths))
    for (const [verb, one] of Object.entries(methods)) {
      const name = one.operationId;
      const known = found.get(name);
      const content = one.requestBody?.content ?? {};
      const raw = 'application/octet-stream' in content;
      const sse = Object.values(one.responses ?? {}).some((answer) => 'text/event-stream' in (answer.content ?? {}));
      const binding: Rest = {
        method: verb.toUpperCase() as Rest['method'],
        path,
        ...(raw && { raw }),
        ...(sse && { sse }),
      };
      const body = content['application/json']?.schema;
      found.set(name, {
        ...(known ?? {
          kind: 'operation',
          name,
          area: areaOf(name),
          summary: one.summary ?? '',
          rpc: false,
          views: [],
          ...defined({ description: one.description, access: one['x-access'], capability: one['x-capability'] }),
          params: joined(objectOf(one.parameters ?? []), body),
        }),
        rest: binding,
      });
    }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}

export function streamsOf({ 'x-streams': streams = [] }: OpenRpc): readonly StreamKind[] {
  return streams.map((one) => ({ ...one, kind: 'stream', area: areaOf(one.name) }));
}

function objectOf(params: readonly Parameter[]): Schema {
  return {
    type: 'object',
    additionalProperties: false,
    properties: Object.fromEntries(params.map(({ name, schema = {} }) => [name, schema])),
    required: params.filter(({ required }) => required).map(({ name }) => name),
  };
}

function joined(a: Schema, b: Schema = {}): Schema {
  return {
    ...a,
    properties: { ...(a.properties as object), ...(b.properties as object | undefined) },
    required: [...(a.required as string[]), ...((b.required as string[] | undefined) ?? [])],
  };
}

const defined = (members: Readonly<Record<string, string | undefined>>): object =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));

/** Verbs that take something away, stop what runs, or cannot be undone by calling them again. */
const DANGEROUS =
  /^(apply|clear|disable|forget|install|purge|reboot|recover|release|remove|reset\w*|restart|revoke|rollback|stop|switch|try|uninstall|unregister|update|crash|factory\w*)$/;

/** It asks before it does it. */
export function isDangerous({ name, rest }: Pick<Operation, 'name' | 'rest'>): boolean {
  if (rest?.method === 'GET') return false;
  return rest?.method === 'DELETE' || DANGEROUS.test(name.split('.').at(-1)!);
}

export const hasMembers = ({ properties }: Schema): boolean => Object.keys((properties ?? {}) as object).length > 0;

export const inputsOf = ({ inputs }: RegisteredFunction, describe?: (type: string) => string | undefined): Schema =>
  schemaOfTypes(inputs, describe);

/** Searched and shown members of an entry of the list. */
export interface Listed {
  readonly key: string;
  readonly name: string;
  readonly note: string;
  readonly group: string;
  readonly href: readonly string[];
  readonly text: string;
}

export function listed(
  operations: readonly Operation[],
  streams: readonly StreamKind[],
  functions: readonly RegisteredFunction[],
): readonly Listed[] {
  const row = (
    key: string,
    name: string,
    note: string,
    group: string,
    href: readonly string[],
    more: string,
  ): Listed => ({
    key,
    name,
    note,
    group,
    href,
    text: `${name} ${note} ${more}`.toLowerCase(),
  });
  return [
    ...functions.map((one) =>
      row(
        `f ${one.id}`,
        one.name,
        one.description ?? '',
        one.app,
        ['fn', one.app, one.name, one.version],
        `${one.app} ${one.version}`,
      ),
    ),
    ...operations.map((one) =>
      row(
        `o ${one.name}`,
        one.name,
        one.summary,
        one.area,
        ['op', one.name],
        `${one.rest?.method ?? ''} ${one.rest?.path ?? ''} ${one.plugin ?? ''}`,
      ),
    ),
    ...streams.map((one) => row(`s ${one.name}`, one.name, one.summary, one.area, ['stream', one.name], 'stream')),
  ];
}

export type Kind = 'all' | 'functions' | 'operations' | 'streams';

/** In groups by app and by area, each under its heading. */
export function grouped(
  all: readonly Listed[],
  search: string,
  kind: Kind,
): readonly (Listed | { readonly heading: string; readonly count: number })[] {
  const wanted = search.trim().toLowerCase().split(/\s+/).filter(Boolean);
  const of = { functions: 'f ', operations: 'o ', streams: 's ', all: '' }[kind];
  const fitting = all.filter(({ key, text }) => key.startsWith(of) && wanted.every((word) => text.includes(word)));
  const groups = Map.groupBy(fitting, ({ group }) => group);
  return [...groups]
    .sort(([a], [b]) => Number(b.includes('.')) - Number(a.includes('.')) || (a < b ? -1 : 1))
    .flatMap(([heading, rows]) => [{ heading, count: rows.length }, ...rows]);
}
