/** Operations on the bridge itself, for operators. */

import { exactly, outflowOfLines } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation, StreamEndpoint } from '@device-core/plugin-api/services/operations';
import type { BridgeService } from './bridge-service.ts';
import type { EndpointRow } from './endpoint-table.ts';
import type { Requests } from './requests.ts';
import type { Trace, Traced } from './trace.ts';

const NOTHING = exactly({});
const CLASSES: Readonly<Record<number, string>> = {
  0: 'SYS',
  1: 'GPIO',
  2: 'I2C',
  3: 'SPIX',
  4: 'UART',
  5: 'PIO',
  6: 'CAN',
  7: 'ADC',
  8: 'PWM',
};
const common = {
  capability: 'system.bridge',
  errors: ['NOT_INITIALIZED', 'BRIDGE_FAILED', 'TIMEOUT', 'CANCELLED'],
} as const;

/** Counters and limits stand beside these. */
const ENDPOINT: JsonSchema = {
  type: 'object',
  required: ['ep', 'name', 'className'],
  properties: {
    ep: { type: 'integer' },
    name: { type: 'string' },
    className: {
      type: 'string',
      description: '`SPIX`, `I2C`, `GPIO`, ...; `unknown` where the Core has no name for it.',
    },
  },
};

export function bridgeOperations(bridge: BridgeService, requests: Requests): readonly Operation<never, unknown>[] {
  /** Counters of the bridge; undefined while it cannot answer. */
  const counters = async ({ descriptor, name }: EndpointRow, signal: AbortSignal) => ({
    ep: descriptor.ep,
    class: descriptor.class,
    version: descriptor.version,
    name,
    maxInflight: descriptor.maxInflight,
    rxWindow: descriptor.rxWindow,
    maxTransfer: descriptor.maxTransfer,
    className: CLASSES[descriptor.class] ?? 'unknown',
    counters: await bridge.endpointStatistics(name, { signal }).catch(() => undefined),
  });
  const status: Operation<never, object> = {
    ...common,
    name: 'bridge.status',
    summary: 'The link to the IO bridge, its counters and those of its endpoints, from both ends',
    params: NOTHING,
    result: {
      type: 'object',
      required: ['link', 'endpoints'],
      properties: {
        link: { type: 'object', description: 'As in /health.' },
        statistics: { type: 'object', description: 'Counters of the bridge; absent while its link is down.' },
        endpoints: { type: 'array', items: ENDPOINT },
      },
    },
    cli: {
      aliases: ['bridge'],
      columns: [
        ['ENDPOINT', '{name}'],
        ['CLASS', '{className}'],
        ['REQUESTS', '{counters.requests}'],
        ['ERRORS', '{counters.errors}'],
        ['TIMEOUTS', '{counters.timeouts}'],
        ['IN', '{counters.bytesIn}'],
        ['OUT', '{counters.bytesOut}'],
        ['EVENTS', '{counters.events}'],
        ['LOST', '{counters.eventsLost}'],
        ['RING', '{counters.ringPeak}'],
      ],
    },
    rest: { method: 'GET', path: '/bridge' },
    async run(_, { signal }) {
      const link = await bridge.health();
      if (link.link !== 'up') return { link, endpoints: [] };
      const rows = requests.rows();
      const statistics = await bridge.statistics({ signal });
      return { link, statistics, endpoints: await Promise.all(rows.map((row) => counters(row, signal))) };
    },
  };
  const reset: Operation<{ readonly endpoint: string }, object> = {
    ...common,
    name: 'bridge.resetEndpoint',
    summary: 'Abort what an endpoint of the bridge does and give it its default settings',
    description: 'Handles of the endpoint are configured again at once; what apps had configured is gone.',
    params: exactly({ endpoint: { type: 'string', minLength: 1, maxLength: 64, description: 'Its label.' } }),
    result: NOTHING,
    cli: { command: 'bridge reset', done: '{endpoint} was reset' },
    rest: { method: 'POST', path: '/bridge/endpoints/:endpoint/reset' },
    async run({ endpoint }, { signal }) {
      await bridge.resetEndpoint(endpoint, { signal });
      return {};
    },
  };
  const reboot: Operation<{ readonly mode?: 'app' | 'bootloader' }, object> = {
    ...common,
    name: 'bridge.reboot',
    summary: 'Restart the IO bridge',
    params: exactly({ mode: { enum: ['app', 'bootloader'], default: 'app' } }, []),
    result: NOTHING,
    cli: { done: 'the bridge restarts' },
    rest: { method: 'POST', path: '/bridge/reboot' },
    async run({ mode = 'app' }, { signal }) {
      await bridge.reboot(mode, { signal });
      return {};
    },
  };
  return [status, reset, reboot] as readonly Operation<never, unknown>[];
}

/** Lines that may wait for a slow reader. */
const TRACE_LINES = 512;

/**
 * Frames as they go over the wire, a JSON line each:
 * `{at, direction, frame, endpoint?, rid?, op?, status?, last?, bytes, body?, reason?, lost}`.
 */
export function traceStream(trace: Trace): StreamEndpoint<{ readonly endpoint?: string }> {
  return {
    name: 'bridge.trace',
    summary: 'Frames between host and bridge, decoded, a line of JSON for each',
    direction: 'read',
    capability: common.capability,
    params: exactly({ endpoint: { type: 'string', minLength: 1, maxLength: 64, description: 'Of one alone.' } }, []),
    async run({ endpoint }, channel) {
      await outflowOfLines<Traced & { readonly lost: number }>(channel, TRACE_LINES, (take) =>
        trace.add((traced) => {
          if (endpoint === undefined || traced.endpoint === endpoint || traced.frame === 'BAD')
            take({ ...traced, lost: 0 });
        }),
      );
    },
  };
}
