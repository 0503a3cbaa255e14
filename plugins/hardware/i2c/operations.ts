import { type Capabilities, CoreError, maybe } from '@device-core/plugin-api';
import { BUS_ERRORS, HANDLE_NAME, type HandleTable, handlesOperation } from '@device-core/plugin-api/buses';
import { base64Schema, bytesOf, exactly, type PerCaller, textOf } from '@device-core/plugin-api/operation-kit';
import type { I2cHandle, I2cSegment } from '@device-core/plugin-api/services/i2c';
import type { Operation } from '@device-core/plugin-api/services/operations';
import { MAX_BYTES } from './messages.ts';
import type { Transfers } from './transfers.ts';

export interface OperationOptions {
  readonly table: HandleTable<I2cHandle>;
  readonly transfers: Transfers;
  readonly capabilities: Capabilities;
  readonly perCaller: PerCaller;
}

interface TransferParams {
  readonly handle: string;
  readonly tx: string;
  readonly rxLen: number;
  readonly repeat?: 'safe';
}

export function i2cOperations(options: OperationOptions): readonly Operation<never, unknown>[] {
  const { table, transfers, capabilities, perCaller } = options;
  const transfer: Operation<TransferParams, { readonly rx: string }> = {
    name: 'i2c.transfer',
    summary: 'Write bytes to an I2C component, read bytes from it, or both with a repeated start between',
    description:
      'A bus that got stuck in it is recovered; the transfer is repeated only where that is said to be safe.',
    params: exactly(
      {
        handle: HANDLE_NAME,
        tx: base64Schema(MAX_BYTES, 'written first; may be empty'),
        rxLen: { type: 'integer', minimum: 0, maximum: MAX_BYTES, description: 'Bytes to read after that.' },
        repeat: { const: 'safe', description: 'Done twice it has the same effect.' },
      },
      ['handle', 'tx', 'rxLen'],
    ),
    result: exactly({
      rx: { type: 'string', contentEncoding: 'base64', description: 'Bytes that were read, base64.' },
    }),
    capability: 'bridges.i2c:{handle}',
    cli: { fixed: ['handle'], flags: { rxLen: ['rx', 'rx-len'] }, given: { tx: '', rxLen: 0 } },
    rest: { method: 'POST', path: '/I2C_transfer_txrx' },
    errors: BUS_ERRORS,
    keepsDeadline: true,
    async run({ handle, tx, rxLen, repeat }, { caller, signal, deadline }) {
      const bytes = bytesOf(tx, 'tx');
      if (bytes.length === 0 && rxLen === 0)
        throw new CoreError('PARAMS_INVALID', {
          where: 'tx and rxLen',
          reason: 'both are zero, so there is nothing to transfer',
        });
      const segments: I2cSegment[] = [];
      if (bytes.length > 0) segments.push({ write: bytes });
      if (rxLen > 0) segments.push({ read: rxLen });
      const options = { signal, deadline, ...maybe({ repeat }) };
      return { rx: textOf(await perCaller.run(caller, () => transfers.transfer(handle, segments, options))) };
    },
  };
  const recover: Operation<{ readonly handle: string }, object> = {
    name: 'i2c.recover',
    summary: 'Free an I2C bus that a component holds down',
    description: 'A transfer that finds the bus stuck does this once by itself.',
    params: exactly({ handle: HANDLE_NAME }),
    result: exactly({}),
    capability: 'bridges.i2c:{handle}',
    cli: { done: 'the bus is free' },
    rest: { method: 'POST', path: '/I2C_recover' },
    errors: BUS_ERRORS,
    keepsDeadline: true,
    async run({ handle }, { caller, signal, deadline }) {
      await perCaller.run(caller, () => transfers.recover(table.find(handle), { signal, deadline }));
      return {};
    },
  };
  return [transfer, recover, handlesOperation('i2c', table, capabilities)] as readonly Operation<never, unknown>[];
}
