/** The documents of the public interface as operations of their own: rpc.discover (OpenRPC), system.openapi, system.asyncapi. */

import { maybe } from '@device-core/plugin-api';
import type { Table } from '@device-core/plugin-api/inside/operations';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import type { Operation, OperationInfo } from '@device-core/plugin-api/services/operations';
import { asyncapi } from './asyncapi.ts';
import { openapi } from './openapi.ts';
import { openrpc } from './openrpc.ts';

const ANY_DOCUMENT = { type: 'object' };
const SHORT_LIST = {
  type: 'object',
  required: ['operations'],
  properties: {
    operations: {
      type: 'array',
      items: {
        type: 'object',
        required: ['name', 'summary'],
        properties: {
          name: { type: 'string' },
          summary: { type: 'string' },
          plugin: { type: 'string' },
          method: { enum: ['GET', 'POST', 'PUT', 'DELETE'] },
          path: { type: 'string' },
          page: { type: 'object', description: 'how it is seen as a page' },
        },
      },
    },
  },
};

export function discoveryOperations(
  table: Table,
  device: DeviceInfo,
  starting: () => readonly string[] = () => [],
): readonly Operation<never, unknown>[] {
  const asList = remembered((operations) => ({ operations: operations.map(inShort) }));
  const asOpenapi = remembered((operations) => openapi(operations, device));
  /** The table of topics does not change while the Core runs: one document, and one text of it, made when somebody asks. */
  let events: object | undefined;
  const asOpenrpc = remembered((operations) => openrpc(operations, table.streams(), device));
  return [
    {
      name: 'operations.list',
      summary: 'operations of the device as it is now, in short',
      description: 'The documents in OpenAPI and OpenRPC say all of it, in some hundred kilobytes.',
      params: { type: 'object' },
      result: SHORT_LIST,
      rest: { method: 'GET', path: '/operations' },
      cli: { columns: ['name', 'method', 'path', 'summary'] },
      errors: [],
      run: async () => asList(table.list()),
    },
    {
      name: 'system.openapi',
      summary: 'OpenAPI 3.1 document of the REST interface as it is now',
      params: { type: 'object' },
      result: ANY_DOCUMENT,
      cli: { hide: true },
      rest: { method: 'GET', path: '/openapi.json', bare: true },
      errors: [],
      run: async () => asOpenapi(table.list()),
    },
    {
      name: 'system.asyncapi',
      summary: 'AsyncAPI 3.0 document of the events of the device',
      params: { type: 'object' },
      result: ANY_DOCUMENT,
      cli: { hide: true },
      rest: { method: 'GET', path: '/asyncapi.json', bare: true },
      errors: [],
      run: async () => {
        events ??= Object.freeze(asyncapi(device));
        return events;
      },
    },
    {
      name: 'rpc.discover',
      summary: 'OpenRPC 1.3 document of the JSON-RPC interface as it is now',
      description: 'While plugins start, `x-starting` names them: their operations are still to come.',
      params: { type: 'object' },
      result: ANY_DOCUMENT,
      cli: { hide: true },
      rest: { method: 'GET', path: '/openrpc.json', bare: true },
      errors: [],
      async run() {
        const document = asOpenrpc(table.list());
        const coming = starting();
        return coming.length === 0 ? document : { ...document, 'x-starting': coming };
      },
    },
  ];
}

const inShort = ({ name, summary, plugin, rest, page }: OperationInfo) => ({
  name,
  summary,
  ...(rest && { method: rest.method, path: rest.path }),
  ...maybe({ plugin, page }),
});

/** The table's list is the same array until the table changes, and so is its document. */
function remembered(make: (operations: readonly OperationInfo[]) => object) {
  let last: { readonly of: readonly OperationInfo[]; readonly document: object } | undefined;
  return (operations: readonly OperationInfo[]): object => {
    if (last?.of !== operations) last = { of: operations, document: Object.freeze(make(operations)) };
    return last.document;
  };
}
