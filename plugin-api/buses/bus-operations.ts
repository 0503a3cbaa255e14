import { decodeBase64 } from '../base64.ts';
import { type Caller, callerName } from '../caller.ts';
import { CoreError, type ErrorCode } from '../errors.ts';
import type { Capabilities } from '../plugin.ts';
import type { JsonSchema, Operation } from '../services/operations.ts';
import type { HandleRow, HandleTable } from './handle-table.ts';

/** What requests to a handle may answer with beside what the gate says. */
export const BUS_ERRORS: readonly ErrorCode[] = [
  'PARAMS_INVALID',
  'INVALID_HANDLE',
  'HANDLE_NOT_FOUND',
  'NOT_INITIALIZED',
  'TRANSFER_FAILED',
  'TIMEOUT',
  'CANCELLED',
  'BUSY',
];

export const HANDLE_NAME: JsonSchema = { type: 'string', description: 'Name of a registered handle.' };

/** A schema of an object that takes nothing else. */
export function exactly(properties: JsonSchema, required: readonly string[] = Object.keys(properties)): JsonSchema {
  return { type: 'object', additionalProperties: false, required, properties };
}

/** The schema of bytes in JSON. */
export function base64Schema(most: number, description = ''): JsonSchema {
  const told = `${description}${description ? '; ' : ''}base64 with padding (RFC 4648), at most ${most} bytes decoded`;
  return { type: 'string', maxLength: 4 * Math.ceil(most / 3), description: told };
}

/** Throws PARAMS_INVALID that names `where`. */
export function bytesOf(text: string, where: string): Uint8Array {
  const bytes = decodeBase64(text);
  if (bytes) return bytes;
  throw new CoreError('PARAMS_INVALID', { where, reason: 'it is not base64 with padding (RFC 4648)' });
}

export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

/** Bounds what one caller has in flight. */
export class PerCaller {
  readonly #limit: number;
  readonly #inFlight = new Map<string, number>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Rejects with BUSY. */
  async run<T>(caller: Caller, work: () => Promise<T>): Promise<T> {
    const name = callerName(caller);
    const count = this.#inFlight.get(name) ?? 0;
    if (count >= this.#limit) throw new CoreError('BUSY', { what: `a request of ${name}`, limit: this.#limit });
    this.#inFlight.set(name, count + 1);
    try {
      return await work();
    } finally {
      const left = this.#inFlight.get(name)! - 1;
      if (left > 0) this.#inFlight.set(name, left);
      else this.#inFlight.delete(name);
    }
  }
}

/** `<bus>.handles`: what the caller may use of it. `describe` turns a row into what is told. */
export function handlesOperation<H extends { readonly name: string; readonly endpoint: string }>(
  bus: string,
  table: HandleTable<H>,
  capabilities: Capabilities,
  describe: (row: HandleRow<H>) => object = ({ handle, owner, transfers, errors, inFlight }) => ({
    ...handle,
    owner,
    transfers,
    errors,
    inFlight,
  }),
): Operation<never, unknown> {
  return {
    name: `${bus}.handles`,
    summary: `List the ${table.bus} handles that the caller may use`,
    params: exactly({}),
    result: exactly({
      handles: { type: 'array', items: { type: 'object', required: ['name', 'endpoint', 'owner'] } },
    }),
    rest: { method: 'GET', path: `/${bus}/handles` },
    errors: [],
    run: async (_, { caller }) => ({
      handles: table.rows
        .filter(({ handle }) => capabilities.holds(caller, `bridges.${bus as 'i2c'}:${handle.name}`))
        .map(describe),
    }),
  };
}
