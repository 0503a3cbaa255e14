/**
 * Messages of the Model Context Protocol over streamable HTTP, in the two revisions that are served: 2026-07-28, where
 * each request says its version and the abilities of its client, and 2025-11-25, which begins with `initialize`.
 * Source: the published specification of each revision.
 */
import { CoreError, maybe } from '@device-core/plugin-api';
import type { DoorRequest } from '@device-core/plugin-api/inside/services/http-server';

export const STATELESS = '2026-07-28';
export const HANDSHAKE = '2025-11-25';
/** Revisions of the handshake that differ in nothing that is served here. */
export const HANDSHAKES: readonly string[] = [HANDSHAKE, '2025-06-18', '2025-03-26'];

const PREFIX = 'io.modelcontextprotocol/';
export const META = {
  version: `${PREFIX}protocolVersion`,
  abilities: `${PREFIX}clientCapabilities`,
  server: `${PREFIX}serverInfo`,
  subscription: `${PREFIX}subscriptionId`,
} as const;

export const CODE = {
  parse: -32_700,
  request: -32_600,
  method: -32_601,
  params: -32_602,
  internal: -32_603,
  header: -32_020,
  version: -32_022,
  resource: -32_602,
} as const;

type Members = Readonly<Record<string, unknown>>;
export type MessageId = string | number;

/** Fault that is answered as an error of JSON-RPC with this status of HTTP. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: number;
  readonly data: unknown;

  constructor(status: number, code: number, message: string, data?: unknown) {
    super(message);
    this.status = status;
    this.code = code;
    this.data = data;
  }
}

export interface Message {
  /** Absent: a notification, which has no answer. */
  readonly id?: MessageId;
  readonly method: string;
  readonly params: Members;
  readonly meta: Members;
  readonly revision: typeof STATELESS | typeof HANDSHAKE;
  /** Abilities that the client declared in this request. */
  readonly abilities: Members;
}

/** Reads one message. Throws Refusal, with the id of the message where it has one. */
export function readMessage({ body, fault, headers }: DoorRequest): Message {
  if (fault) throw new Refusal(fault.status, fault.code === 'JSON_INVALID' ? CODE.parse : CODE.request, fault.message);
  if (Array.isArray(body)) throw new Refusal(400, CODE.request, 'cannot accept a batch: one message at a time');
  const { jsonrpc, id, method, params = {}, result, error } = Object(body) as Members;
  if (jsonrpc !== '2.0') throw new Refusal(400, CODE.request, 'cannot accept the message: jsonrpc is not "2.0"');
  // An answer of the client: nothing was asked of it.
  if (method === undefined && (result !== undefined || error !== undefined))
    return { method: 'answer', params: {}, meta: {}, revision: HANDSHAKE, abilities: {} };
  if (typeof method !== 'string' || method.length > 128)
    throw new Refusal(400, CODE.request, 'cannot accept the message: method is no short text');
  if (id !== undefined && typeof id !== 'string' && !Number.isSafeInteger(id))
    throw new Refusal(400, CODE.request, 'cannot accept the message: id is neither a text nor a whole number');
  if (!isMembers(params)) throw new Refusal(400, CODE.params, 'cannot accept the message: params is no object');
  const { _meta: meta = {} } = params;
  if (!isMembers(meta)) throw new Refusal(400, CODE.params, 'cannot accept the message: _meta is no object');
  const message = { method, params, meta, ...maybe({ id: id as MessageId | undefined }) };
  const header = headers['mcp-protocol-version'];
  const isStateless = META.version in meta || META.abilities in meta || header === STATELESS;
  if (!isStateless) return { ...message, revision: HANDSHAKE, abilities: {} };
  return { ...message, revision: STATELESS, abilities: abilitiesOf(message, headers) };
}

/** Abilities of the client, which 2026-07-28 asks of each message. Throws Refusal. */
function abilitiesOf(
  { method, params, meta }: Pick<Message, 'method' | 'params' | 'meta'>,
  headers: DoorRequest['headers'],
): Members {
  const { [META.version]: version, [META.abilities]: abilities } = meta;
  if (typeof version !== 'string')
    throw new Refusal(400, CODE.params, `cannot accept the message: _meta has no ${META.version}`);
  const header = textOf(headers['mcp-protocol-version']);
  if (header !== version) throw mismatch('MCP-Protocol-Version', header, version);
  if (version !== STATELESS) {
    const supported = [STATELESS];
    throw new Refusal(400, CODE.version, `cannot speak revision ${version.slice(0, 40)}`, {
      supported,
      requested: version,
    });
  }
  if (!isMembers(abilities))
    throw new Refusal(400, CODE.params, `cannot accept the message: _meta has no ${META.abilities}`);
  const spoken = textOf(headers['mcp-method']);
  if (spoken !== method) throw mismatch('Mcp-Method', spoken, method);
  const name = nameOf(method, params);
  const named = textOf(headers['mcp-name']);
  if (name !== undefined && decoded(named) !== name) throw mismatch('Mcp-Name', named, name);
  return abilities;
}

/** Methods whose subject stands in the header `Mcp-Name`, too. */
function nameOf(method: string, { name, uri }: Members): string | undefined {
  const subject =
    method === 'resources/read' ? uri : method === 'tools/call' || method === 'prompts/get' ? name : undefined;
  return typeof subject === 'string' ? subject : undefined;
}

function mismatch(header: string, value: string | undefined, wanted: string): Refusal {
  const shown = value === undefined ? 'absent' : JSON.stringify(value.slice(0, 80));
  return new Refusal(
    400,
    CODE.header,
    `header ${header} is ${shown}, the body says ${JSON.stringify(wanted.slice(0, 80))}`,
  );
}

function textOf(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === 'string' ? header.trim() : undefined;
}

/** A name with letters outside of ASCII travels as `=?base64?...?=`. */
function decoded(value: string | undefined): string | undefined {
  const packed = value === undefined ? null : /^=\?base64\?([A-Za-z0-9+/=]*)\?=$/.exec(value);
  return packed ? Buffer.from(packed[1]!, 'base64').toString('utf8') : value;
}

export function isMembers(value: unknown): value is Members {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The error object of an answer. */
export function errorOf(thrown: unknown): { readonly status: number; readonly error: object } {
  if (thrown instanceof Refusal) {
    const { status, code, message, data } = thrown;
    return { status, error: { code, message, ...maybe({ data }) } };
  }
  if (!(thrown instanceof CoreError)) throw thrown;
  const { status, message, code } = thrown;
  return { status: status >= 500 ? 200 : status, error: { code: thrown.rpcCode, message, data: { code } } };
}
