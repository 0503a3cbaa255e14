import { type Capabilities, CoreError } from '@device-core/plugin-api';
import { BUS_ERRORS, HANDLE_NAME, type HandleTable, handlesOperation } from '@device-core/plugin-api/buses';
import { exactly, type PerCaller } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { PioHandle, PioMachineConfig, PioWidth } from '@device-core/plugin-api/services/pio';
import { MAX_SOURCE } from './assembler/index.ts';
import type { Machines } from './machines.ts';
import { MAX_BYTES, MAX_INSTRUCTIONS } from './messages.ts';

export interface OperationOptions {
  readonly table: HandleTable<PioHandle>;
  readonly machines: Machines;
  readonly capabilities: Capabilities;
  readonly perCaller: PerCaller;
}

interface Named {
  readonly handle: string;
}

interface Program {
  readonly program?: readonly number[];
  readonly source?: string;
  readonly origin?: number;
}

const WORD: JsonSchema = { type: 'integer', minimum: 0, maximum: 0xffff_ffff };
const WIDTH: JsonSchema = { type: 'integer', enum: [1, 2, 4], default: 4, description: 'Bytes of a word.' };
const COUNT: JsonSchema = { type: 'integer', minimum: 1, maximum: MAX_BYTES };

export function pioOperations(options: OperationOptions): readonly Operation<never, unknown>[] {
  const { table, machines, capabilities, perCaller } = options;
  const row = <P extends Named, R>(
    verb: string,
    summary: string,
    schemas: {
      readonly params: JsonSchema;
      readonly required?: readonly string[];
      readonly result?: JsonSchema;
      readonly always?: readonly string[];
    },
    run: (params: P, call: { readonly signal: AbortSignal; readonly deadline: number }) => Promise<R>,
  ): Operation<P, R> => ({
    name: `pio.${verb}`,
    summary,
    params: exactly({ handle: HANDLE_NAME, ...schemas.params }, ['handle', ...(schemas.required ?? [])]),
    result: exactly(schemas.result ?? {}, schemas.always),
    capability: 'bridges.pio:{handle}',
    rest: { method: 'POST', path: `/PIO_${verb}` },
    errors: BUS_ERRORS,
    keepsDeadline: true,
    run: (params, { caller, signal, deadline }) => perCaller.run(caller, () => run(params, { signal, deadline })),
  });
  return [
    row(
      'load',
      'Load a program into the instruction memory',
      {
        params: {
          program: {
            type: 'array',
            minItems: 1,
            maxItems: MAX_INSTRUCTIONS,
            items: { type: 'integer', minimum: 0, maximum: 0xffff },
          },
          source: {
            type: 'string',
            minLength: 1,
            maxLength: MAX_SOURCE,
            description: 'The program as text of the data sheet of the RP2040, in place of program.',
          },
          origin: { type: 'integer', minimum: 0, maximum: 31, description: 'Where it must lie; anywhere if absent.' },
        },
        result: {
          slot: { type: 'integer' },
          origin: { type: 'integer' },
          execctrl: { ...WORD, description: 'Of a source: wrap and side set, for pio.configure.' },
          pinctrl: { ...WORD, description: 'Of a source: lines of the side set, for pio.configure, beside the pins.' },
          names: {
            type: 'object',
            additionalProperties: { type: 'integer' },
            description: 'Of a source: public names.',
          },
        },
        always: ['slot', 'origin'],
      },
      ({ handle, program, source, origin }: Named & Program, call) => {
        if ((program === undefined) === (source === undefined))
          throw new CoreError('PARAMS_INVALID', { where: 'program', reason: 'either program or source is needed' });
        return program
          ? machines.load(handle, program, origin, call)
          : machines.loadSource(handle, source!, origin, call);
      },
    ),
    row(
      'configure',
      'Give a state machine its program, clock and pins',
      {
        params: {
          slot: { type: 'integer', minimum: 0, maximum: 255, description: 'Of pio.load.' },
          clockDivider: { type: 'number', minimum: 1, exclusiveMaximum: 65_536, default: 1 },
          pinctrl: WORD,
          execctrl: WORD,
          shiftctrl: WORD,
        },
        required: ['slot'],
      },
      async ({ handle, ...config }: Named & PioMachineConfig, call) => {
        await machines.configure(handle, config, call);
        return {};
      },
    ),
    row(
      'enable',
      'Start or stop a state machine',
      { params: { enabled: { type: 'boolean' } }, required: ['enabled'] },
      async ({ handle, enabled }: Named & { enabled: boolean }, call) => {
        await machines.enable(handle, enabled, call);
        return {};
      },
    ),
    row(
      'write',
      'Put words into the FIFO of a state machine',
      {
        params: { words: { type: 'array', minItems: 1, maxItems: MAX_BYTES, items: WORD }, width: WIDTH },
        required: ['words'],
      },
      async ({ handle, words, width }: Named & { words: readonly number[]; width?: PioWidth }, call) => {
        await machines.write(handle, words, width, call);
        return {};
      },
    ),
    row(
      'read',
      'Take words out of the FIFO of a state machine',
      {
        params: { count: COUNT, width: WIDTH },
        required: ['count'],
        result: { words: { type: 'array', items: WORD } },
      },
      async ({ handle, count, width }: Named & { count: number; width?: PioWidth }, call) => ({
        words: await machines.read(handle, count, width, call),
      }),
    ),
    handlesOperation('pio', table, capabilities, (one) => ({
      ...one.handle,
      owner: one.owner,
      interrupts: machines.interruptsOf(one),
    })),
  ] as readonly Operation<never, unknown>[];
}
