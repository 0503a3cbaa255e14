import {
  type CallContext,
  type Caller,
  type Capabilities,
  CoreError,
  callerName,
  decodeBase64,
  type JsonSchema,
  type Operation,
  type SpiHandleInfo,
} from '@device-core/plugin-api';
import type { HandleTable } from './handles.ts';
import { MAX_BYTES, type Transfers } from './transfers.ts';

/** Characters of base64 for the largest `tx`. */
const MAX_TEXT = 4 * Math.ceil(MAX_BYTES / 3);
/** The gate's limit; the deadline of each transfer is shorter, but for handles that set their own. */
const TIMEOUT_MS = 60_000;

const HANDLE: JsonSchema = {
  type: 'object',
  required: ['name', 'speed', 'mode', 'endpoint', 'cs', 'owner', 'transfers', 'errors', 'inFlight'],
  properties: {
    name: { type: 'string' },
    speed: { type: 'integer', description: 'Hz' },
    mode: { type: 'integer', minimum: 0, maximum: 3 },
    endpoint: { type: 'string', description: 'Label of the bridge endpoint.' },
    cs: { type: 'integer', description: 'Chip select.' },
    deadlineMs: { type: 'integer' },
    atomic: { type: 'boolean' },
    description: { type: 'string' },
    owner: { type: 'string', description: 'sku or plugin.<id>' },
    transfers: { type: 'integer' },
    errors: { type: 'integer' },
    inFlight: { type: 'integer' },
  },
};

interface TransferParams {
  readonly handle: string;
  readonly tx: string;
  readonly rxLen: number;
}

export interface OperationOptions {
  readonly table: HandleTable;
  readonly transfers: Transfers;
  readonly capabilities: Capabilities;
  readonly perApp: number;
}

export function spiOperations(options: OperationOptions): readonly Operation<never, unknown>[] {
  const { table, transfers, capabilities, perApp } = options;
  const inFlight = new Map<string, number>();

  /** Counts the transfers of a caller; the bound is per app. */
  const counted = async <T>(caller: Caller, work: () => Promise<T>): Promise<T> => {
    const name = callerName(caller);
    const count = inFlight.get(name) ?? 0;
    if (count >= perApp) throw new CoreError('BUSY', { what: `a transfer of ${name}`, limit: perApp });
    inFlight.set(name, count + 1);
    try {
      return await work();
    } finally {
      const left = inFlight.get(name)! - 1;
      if (left > 0) inFlight.set(name, left);
      else inFlight.delete(name);
    }
  };

  const transfer: Operation<TransferParams, { readonly rx: string }> = {
    name: 'spi.transfer',
    summary: 'Clock bytes out to an SPI component and in at once',
    description:
      'Clocks max(length of tx, rxLen) bytes; a shorter tx is padded with zero bytes, and rx holds the first rxLen bytes that came in.',
    params: {
      type: 'object',
      additionalProperties: false,
      required: ['handle', 'tx', 'rxLen'],
      properties: {
        handle: { type: 'string', description: 'Name of a registered SPI handle.' },
        tx: {
          type: 'string',
          contentEncoding: 'base64',
          maxLength: MAX_TEXT,
          description: 'Base64 with padding (RFC 4648), at most 65,536 bytes decoded.',
        },
        rxLen: { type: 'integer', minimum: 0, maximum: MAX_BYTES, description: 'Expected RX length in bytes.' },
      },
    },
    result: {
      type: 'object',
      additionalProperties: false,
      required: ['rx'],
      properties: { rx: { type: 'string', contentEncoding: 'base64', description: 'RX bytes, base64.' } },
    },
    capability: 'bridges.spi:{handle}',
    rest: {
      method: 'POST',
      path: '/SPI_transfer_txrx',
      failure: {
        bare: true,
        otherwise: 500,
        // INVALID_SPEED and INVALID_MODE are not here: a request names neither, so they say that the transfer failed.
        status: {
          PARAMS_INVALID: 400,
          REQUEST_INVALID: 400,
          JSON_INVALID: 400,
          CONTENT_TYPE_INVALID: 400,
          INVALID_HANDLE: 400,
          UNAUTHENTICATED: 401,
          CAPABILITY_DENIED: 403,
          ORIGIN_DENIED: 403,
          METHOD_NOT_ALLOWED: 405,
          BODY_TOO_LARGE: 413,
          BUSY: 429,
          RATE_LIMITED: 429,
        },
      },
    },
    errors: [
      'PARAMS_INVALID',
      'INVALID_HANDLE',
      'HANDLE_NOT_FOUND',
      'NOT_INITIALIZED',
      'TRANSFER_FAILED',
      'INVALID_SPEED',
      'INVALID_MODE',
      'TIMEOUT',
      'CANCELLED',
      'BUSY',
    ],
    timeoutMs: TIMEOUT_MS,
    async run({ handle, tx, rxLen }, { caller, signal, deadline }: CallContext) {
      const bytes = decodeBase64(tx);
      if (!bytes)
        throw new CoreError('PARAMS_INVALID', { where: 'tx', reason: 'it is not base64 with padding (RFC 4648)' });
      const rx = await counted(caller, () => transfers.transfer(handle, bytes, rxLen, { signal, deadline }));
      return { rx: Buffer.from(rx.buffer, rx.byteOffset, rx.byteLength).toString('base64') };
    },
  };
  const handles: Operation<Record<string, never>, { readonly handles: readonly SpiHandleInfo[] }> = {
    name: 'spi.handles',
    summary: 'List the SPI handles that the caller may use',
    params: { type: 'object', additionalProperties: false, properties: {} },
    result: { type: 'object', required: ['handles'], properties: { handles: { type: 'array', items: HANDLE } } },
    rest: { method: 'GET', path: '/spi/handles' },
    errors: [],
    run: async (_, { caller }) => ({
      handles: table.list().filter(({ name }) => capabilities.holds(caller, `bridges.spi:${name}`)),
    }),
  };
  return [transfer, handles] as readonly Operation<never, unknown>[];
}
