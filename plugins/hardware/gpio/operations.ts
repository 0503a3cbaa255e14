import type { Capabilities } from '@device-core/plugin-api';
import { BUS_ERRORS, HANDLE_NAME, type HandleTable, handlesOperation } from '@device-core/plugin-api/buses';
import { exactly, outflowOfLines, type PerCaller } from '@device-core/plugin-api/operation-kit';
import type { GpioHandle, GpioLineConfig } from '@device-core/plugin-api/services/gpio';
import type { JsonSchema, Operation, StreamEndpoint } from '@device-core/plugin-api/services/operations';
import type { Edges } from './edges.ts';
import type { Lines } from './lines.ts';

export interface OperationOptions {
  readonly table: HandleTable<GpioHandle>;
  readonly lines: Lines;
  readonly edges: Edges;
  readonly capabilities: Capabilities;
  readonly perCaller: PerCaller;
}

const LEVEL: JsonSchema = { type: 'integer', enum: [0, 1] };
const SETTINGS: JsonSchema = {
  direction: { enum: ['in', 'out', 'open-drain'] },
  pull: { enum: ['none', 'up', 'down'] },
  edge: { enum: ['none', 'rising', 'falling', 'both'] },
  debounceUs: { type: 'integer', minimum: 0, maximum: 65_535 },
  initial: LEVEL,
  safe: { enum: [0, 1, 'keep'], description: 'Level when the bridge has lost the Core.' },
};

type Row = Omit<Operation, 'params' | 'result' | 'run' | 'rest'>;
const common = {
  capability: 'bridges.gpio:{handle}',
  errors: BUS_ERRORS,
  keepsDeadline: true,
} as const satisfies Partial<Row>;
const post = (path: string) => ({ method: 'POST', path }) as const;

export function gpioOperations(options: OperationOptions): readonly Operation<never, unknown>[] {
  const { table, lines, edges, capabilities, perCaller } = options;
  const read: Operation<{ readonly handle: string }, { readonly value: 0 | 1 }> = {
    ...common,
    name: 'gpio.read',
    summary: 'Read the level of a line',
    params: exactly({ handle: HANDLE_NAME }),
    result: exactly({ value: LEVEL }),
    rest: post('/GPIO_read'),
    run: async ({ handle }, { caller, signal, deadline }) => ({
      value: await perCaller.run(caller, () => lines.read(handle, { signal, deadline })),
    }),
  };
  const write: Operation<{ readonly handle: string; readonly value: 0 | 1 }, object> = {
    ...common,
    name: 'gpio.write',
    summary: 'Set the level of an output',
    params: exactly({ handle: HANDLE_NAME, value: LEVEL }),
    result: exactly({}),
    cli: { done: '{handle} is {value}' },
    rest: post('/GPIO_write'),
    async run({ handle, value }, { caller, signal, deadline }) {
      await perCaller.run(caller, () => lines.write(handle, value, { signal, deadline }));
      return {};
    },
  };
  const configure: Operation<{ readonly handle: string } & Partial<GpioLineConfig>, object> = {
    ...common,
    name: 'gpio.configure',
    summary: 'Change direction, pull or edges of a line until the Core ends',
    params: exactly({ handle: HANDLE_NAME, ...SETTINGS }, ['handle']),
    result: exactly({}),
    rest: post('/GPIO_configure'),
    async run({ handle, ...settings }, { caller, signal, deadline }) {
      await perCaller.run(caller, () => lines.configure(handle, settings, { signal, deadline }));
      return {};
    },
  };
  const handles = handlesOperation('gpio', table, capabilities, (row) => {
    const { handle, owner, transfers, errors, inFlight } = row;
    return { ...handle, owner, transfers, errors, inFlight, ...edges.countsOf(row) };
  });
  return [read, write, configure, handles] as readonly Operation<never, unknown>[];
}

/**
 * Edges for an app, a JSON line each: `{handle, level, at, atUs, timestampUs, lost}`. `lost` counts what the bridge or
 * a slow reader dropped.
 */
export function edgeStream(
  edges: Edges,
  table: HandleTable<GpioHandle>,
  queue: number,
): StreamEndpoint<{ readonly handle: string }> {
  return {
    name: 'gpio.edges',
    summary: 'Edges of a line as they happen, a line of JSON each',
    direction: 'read',
    params: exactly({ handle: HANDLE_NAME }),
    capability: 'bridges.gpio:{handle}',
    async run({ handle }, channel) {
      table.find(handle);
      await outflowOfLines(channel, queue, (take) => edges.add(handle, take));
    },
  };
}
