import { type Caller, type Capabilities, CoreError, didYouMean } from '@device-core/plugin-api';
import { exactly, outflowOfLines } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation, StreamEndpoint } from '@device-core/plugin-api/services/operations';
import type { SensorInfo, SensorReading } from '@device-core/plugin-api/services/sensors';
import type { Registry } from './registry.ts';

const NAME: JsonSchema = { type: 'string', minLength: 1, maxLength: 32, description: 'Name of a sensor.' };
const READING: JsonSchema = {
  at: { type: 'integer', description: 'milliseconds since the Unix epoch' },
  values: { type: 'object', additionalProperties: { type: 'number' } },
};
const QUANTITY: JsonSchema = {
  type: 'object',
  properties: {
    quantity: { type: 'string' },
    value: { type: 'number' },
    unit: { type: 'string', description: 'UCUM: `Cel`, `%`, `hPa`, `lx`; `1` for a plain number, `bool` for a state' },
  },
};

interface Quantity {
  readonly quantity: string;
  readonly value: number;
  readonly unit: string;
}

const SENSOR: JsonSchema = {
  type: 'object',
  required: ['name', 'quantities'],
  properties: {
    name: { type: 'string' },
    title: { type: 'string' },
    chip: { type: 'string' },
    quantities: {
      type: 'object',
      additionalProperties: {
        type: 'object',
        properties: {
          unit: { type: 'string', description: 'UCUM; `1` for a number without unit, `bool` for a state.' },
          min: { type: 'number' },
          max: { type: 'number' },
        },
      },
    },
    latest: { type: 'object', properties: READING },
    problem: { type: 'string', description: 'Why the latest attempt failed.' },
  },
};

export function sensorOperations(registry: Registry, capabilities: Capabilities): readonly Operation<never, unknown>[] {
  const list: Operation<never, { readonly sensors: readonly SensorInfo[] }> = {
    name: 'sensors.list',
    summary: 'List the sensors that the caller may read',
    params: exactly({}),
    result: exactly({ sensors: { type: 'array', items: SENSOR } }),
    cli: {
      columns: [['SENSOR', '{name}'], 'chip', ['LATEST', '{latest.values}'], 'readings', 'failures', 'problem'],
      empty: 'there are no sensors',
    },
    rest: { method: 'GET', path: '/sensors' },
    errors: [],
    run: async (_, { caller }) => ({
      sensors: (await registry.list()).filter(({ name }) => capabilities.holds(caller, `sensors.${name}`)),
    }),
  };
  const read: Operation<{ readonly name: string }, SensorReading & { readonly quantities: readonly Quantity[] }> = {
    name: 'sensors.read',
    summary: 'Read a sensor',
    description: 'A reading that is younger than the least interval of the sensor is given again.',
    params: exactly({ name: NAME }),
    result: exactly({ ...READING, quantities: { type: 'array', items: QUANTITY } }, ['at', 'values']),
    capability: 'sensors.{name}',
    cli: { hide: ['at', 'values'], columns: ['quantity', 'value', 'unit'] },
    rest: { method: 'GET', path: '/sensors/:name' },
    errors: ['SENSOR_NOT_FOUND', 'SENSOR_FAILED', 'TIMEOUT', 'CANCELLED'],
    async run({ name }, { signal, deadline, caller }) {
      admit(name, caller);
      const { quantities } = registry.find(name).description;
      const reading = await registry.read(name, { signal, deadline });
      const told = Object.entries(reading.values).map(([quantity, value]) => {
        return { quantity, value, unit: quantities[quantity]?.unit ?? '1' };
      });
      return { ...reading, quantities: told };
    },
  };
  const admit = admission(registry, capabilities);
  return [list, read] as readonly Operation<never, unknown>[];
}

/** Throws SENSOR_NOT_FOUND for a name that there is not, with the nearest one that the caller may read. */
function admission(registry: Registry, capabilities: Capabilities): (name: string, caller: Caller) => void {
  return (name, caller) => {
    const names = registry.names();
    if (names.includes(name)) return;
    const readable = names.filter((one) => capabilities.holds(caller, `sensors.${one}`));
    throw new CoreError('SENSOR_NOT_FOUND', { sensor: name, suggestion: didYouMean(name, readable) });
  };
}

/** Readings of a sensor, a JSON line each: `{at, values, lost}`. */
export function readingStream(
  registry: Registry,
  capabilities: Capabilities,
  queue: number,
): StreamEndpoint<{ readonly name: string; readonly intervalMs?: number }> {
  const admit = admission(registry, capabilities);
  return {
    name: 'sensors.follow',
    summary: 'Read a sensor again and again, a line of JSON each time',
    direction: 'read',
    capability: 'sensors.{name}',
    params: exactly({ name: NAME, intervalMs: { type: 'integer', minimum: 10, maximum: 86_400_000, default: 1_000 } }, [
      'name',
    ]),
    async run({ name, intervalMs = 1_000 }, channel, { caller }) {
      admit(name, caller);
      await outflowOfLines<SensorReading & { readonly lost: number }>(channel, queue, (take) =>
        registry.subscribe(name, intervalMs, (reading) => take({ ...reading, lost: 0 })),
      );
    },
  };
}
