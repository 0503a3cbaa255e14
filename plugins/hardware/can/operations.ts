import type { Capabilities } from '@device-core/plugin-api';
import { BUS_ERRORS, HANDLE_NAME, type HandleTable, handlesOperation } from '@device-core/plugin-api/buses';
import {
  base64Schema,
  bytesOf,
  exactly,
  outflowOfLines,
  type PerCaller,
  textOf,
} from '@device-core/plugin-api/operation-kit';
import type { CanArrival, CanFrame, CanHandle } from '@device-core/plugin-api/services/can';
import type { JsonSchema, Operation, StreamEndpoint } from '@device-core/plugin-api/services/operations';
import type { Buses } from './buses.ts';

export interface OperationOptions {
  readonly table: HandleTable<CanHandle>;
  readonly buses: Buses;
  readonly capabilities: Capabilities;
  readonly perCaller: PerCaller;
}

type SendParams = Omit<CanFrame, 'data'> & { readonly handle: string; readonly data?: string };

const FLAG: JsonSchema = { type: 'boolean', default: false };

export function canOperations(options: OperationOptions): readonly Operation<never, unknown>[] {
  const { table, buses, capabilities, perCaller } = options;
  const send: Operation<SendParams, { readonly timestampUs: number }> = {
    name: 'can.send',
    summary: 'Send a frame on a CAN bus',
    description: 'Answers when another node has acknowledged it.',
    params: exactly(
      {
        handle: HANDLE_NAME,
        id: { type: 'integer', minimum: 0, maximum: 0x1fff_ffff },
        extended: { ...FLAG, description: 'The id has 29 bits.' },
        rtr: { ...FLAG, description: 'A request for the frame, without data.' },
        fd: { ...FLAG, description: 'CAN FD, with up to 64 bytes.' },
        data: base64Schema(64),
      },
      ['handle', 'id'],
    ),
    result: exactly({
      timestampUs: {
        type: 'integer',
        description: 'Clock of the bridge when it was sent, 32 bits, as in the frames that come.',
      },
    }),
    capability: 'bridges.can:{handle}',
    cli: { done: 'sent, and acknowledged by another node' },
    rest: { method: 'POST', path: '/CAN_send' },
    errors: BUS_ERRORS,
    keepsDeadline: true,
    async run({ handle, data, ...frame }, { caller, signal, deadline }) {
      const bytes = data === undefined ? new Uint8Array(0) : bytesOf(data, 'data');
      return perCaller.run(caller, () => buses.send(handle, { ...frame, data: bytes }, { signal, deadline }));
    },
  };
  const handles = handlesOperation('can', table, capabilities, (row) => ({
    ...row.handle,
    owner: row.owner,
    state: buses.state(row.handle.endpoint),
    ...buses.countsOf(row),
  }));
  return [send, handles] as readonly Operation<never, unknown>[];
}

/** Frames that pass the filters of a handle, a JSON line each. */
export function receiveStream(
  table: HandleTable<CanHandle>,
  buses: Buses,
  queue: number,
): StreamEndpoint<{ readonly handle: string }> {
  return {
    name: 'can.receive',
    summary: 'The frames that a CAN handle receives, a line of JSON each',
    direction: 'read',
    params: exactly({ handle: HANDLE_NAME }),
    capability: 'bridges.can:{handle}',
    async run({ handle }, channel) {
      table.find(handle);
      await outflowOfLines(channel, queue, (take) => buses.listen(handle, (frame) => take(told(frame))));
    },
  };
}

/** As JSON has it: data in base64. */
export function told({ data, ...frame }: CanArrival): Omit<CanArrival, 'data'> & { readonly data: string } {
  return { ...frame, data: textOf(data) };
}
