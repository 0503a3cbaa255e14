import type { CoreErrorCode } from '../../contract/errors.ts';
import type { JsonSchema } from '../../contract/json-schema.ts';
import type { Capabilities } from '../../contract/plugin.ts';
import type { Operation } from '../../services/operations.ts';
import { exactly } from '../operation-kit/schemas.ts';
import type { HandleRow, HandleTable } from './handle-table.ts';

/** Errors of requests to a handle beside those of the gate. */
export const BUS_ERRORS: readonly CoreErrorCode[] = [
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

/** Members that the handles of each bus have; a bus adds its own. */
const HANDLE: JsonSchema = {
  type: 'object',
  required: ['name', 'endpoint', 'owner'],
  properties: {
    name: { type: 'string' },
    endpoint: { type: 'string', description: 'On the bridge, or the bus of the host.' },
    owner: { type: 'string', description: 'Plugin that registered it.' },
  },
};

/** `<bus>.handles`: what the caller may use of it. `describe` turns a row into what is told, in the form of the schema `item`. */
export function handlesOperation<H extends { readonly name: string; readonly endpoint: string }>(
  bus: string,
  table: HandleTable<H>,
  capabilities: Capabilities,
  describe: (row: HandleRow<H>) => object = counted,
  item: JsonSchema = HANDLE,
): Operation<never, unknown> {
  return {
    name: `${bus}.handles`,
    summary: `List the ${table.bus} handles that the caller may use`,
    params: exactly({}),
    result: exactly({ handles: { type: 'array', items: item } }),
    cli: { aliases: [bus], empty: `no ${bus.toUpperCase()} handles are registered` },
    rest: { method: 'GET', path: `/${bus}/handles` },
    errors: [],
    run: async (_, { caller }) => ({
      handles: table.rows
        .filter(({ handle }) => capabilities.holds(caller, `bridges.${bus as 'i2c'}:${handle.name}`))
        .map(describe),
    }),
  };
}

function counted<H>({ handle, owner, transfers, errors, inFlight }: HandleRow<H>): object {
  return { ...handle, owner, transfers, errors, inFlight };
}
