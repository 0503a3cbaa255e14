import type { CallContext, Capabilities } from '@device-core/plugin-api';
import { type HandleTable, handlesOperation } from '@device-core/plugin-api/buses';
import { bytesOf, exactly, type PerCaller, textOf } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { SpiHandle } from '@device-core/plugin-api/services/spi';
import { MAX_BYTES } from './messages.ts';
import type { Transfers } from './transfers.ts';

/** Characters of base64 for the largest `tx`. */
const MAX_TEXT = 4 * Math.ceil(MAX_BYTES / 3);
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
  readonly table: HandleTable<SpiHandle>;
  readonly transfers: Transfers;
  readonly capabilities: Capabilities;
  readonly perCaller: PerCaller;
}

export function spiOperations(options: OperationOptions): readonly Operation<never, unknown>[] {
  const { table, transfers, capabilities, perCaller } = options;
  const transfer: Operation<TransferParams, { readonly rx: string }> = {
    name: 'spi.transfer',
    summary: 'Clock bytes out to an SPI component and in at once',
    description:
      'Clocks max(length of tx, rxLen) bytes; a shorter tx is padded with zero bytes, and rx holds the first rxLen bytes that came in.',
    params: exactly({
      handle: { type: 'string', description: 'Name of a registered SPI handle.' },
      tx: {
        type: 'string',
        contentEncoding: 'base64',
        maxLength: MAX_TEXT,
        description: 'Base64 with padding (RFC 4648), at most 65,536 bytes decoded.',
      },
      rxLen: { type: 'integer', minimum: 0, maximum: MAX_BYTES, description: 'Expected RX length in bytes.' },
    }),
    result: exactly({ rx: { type: 'string', contentEncoding: 'base64', description: 'RX bytes, base64.' } }),
    capability: 'bridges.spi:{handle}',
    cli: { fixed: ['handle'], flags: { rxLen: ['rx', 'rx-len'] }, given: { tx: '', rxLen: 0 } },
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
    keepsDeadline: true,
    async run({ handle, tx, rxLen }, { caller, signal, deadline }: CallContext) {
      const bytes = bytesOf(tx, 'tx');
      const rx = await perCaller.run(caller, () => transfers.transfer(handle, bytes, rxLen, { signal, deadline }));
      return { rx: textOf(rx) };
    },
  };
  return [transfer, handlesOperation('spi', table, capabilities, undefined, HANDLE)] as readonly Operation<
    never,
    unknown
  >[];
}
