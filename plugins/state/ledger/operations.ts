import type { DepartureLine, DepartureSum, DeparturesLedger } from '@device-core/plugin-api/inside/services/ledger';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import { ledgerPage, sumsPage } from './page.ts';

const TEXT: JsonSchema = { type: 'string', minLength: 1, maxLength: 256 };
const DEPARTURE: JsonSchema = exactly(
  {
    id: { type: 'string' },
    at: { type: 'integer', description: 'milliseconds since the Unix epoch' },
    part: { type: 'string', description: 'which part of the device sent' },
    for: { type: 'string', description: '`app.<id>`, or the id of a plugin' },
    to: { type: 'string' },
    what: { type: 'string' },
    bytes: { type: 'integer', description: 'so far; what went in the last minute may be missing' },
    details: { type: 'object', additionalProperties: true },
  },
  ['id', 'at', 'part', 'for', 'to', 'what'],
);
const SUM: JsonSchema = exactly({
  for: { type: 'string' },
  to: { type: 'string' },
  count: { type: 'integer' },
  bytes: { type: 'integer' },
});

interface Query {
  readonly part?: string;
  readonly for?: string;
  readonly limit?: number;
}

export function ledgerOperations(departures: DeparturesLedger): readonly Operation<never, unknown>[] {
  const list: Operation<Query, { readonly departures: readonly DepartureLine[] }> = {
    name: 'ledger.list',
    summary: 'Data that left the device: time, owner and receiver, newest first',
    params: exactly({ part: TEXT, for: TEXT, limit: { type: 'integer', minimum: 1, maximum: 1000, default: 20 } }, []),
    result: exactly({ departures: { type: 'array', items: DEPARTURE } }),
    capability: 'system.logs',
    cli: {
      command: 'ledger',
      columns: [['WHEN', '{at:date}'], 'part', 'for', 'to', 'what', 'bytes'],
      empty: 'nothing left the device',
    },
    page: ledgerPage,
    rest: { method: 'GET', path: '/ledger' },
    errors: [],
    run: async ({ limit = 20, ...query }) => ({ departures: await departures.list({ ...query, limit }) }),
  };
  const sums: Operation<never, { readonly sums: readonly DepartureSum[] }> = {
    name: 'ledger.sums',
    summary: 'How often and how much left the device, by sender and receiver',
    description: 'Departures that are too old to be listed are in it.',
    params: exactly({}),
    result: exactly({ sums: { type: 'array', items: SUM } }),
    capability: 'system.logs',
    cli: { columns: ['for', 'to', 'count', 'bytes'], empty: 'nothing left the device' },
    page: sumsPage,
    rest: { method: 'GET', path: '/ledger/sums' },
    errors: [],
    run: async () => ({ sums: await departures.sums() }),
  };
  return [list, sums] as readonly Operation<never, unknown>[];
}
