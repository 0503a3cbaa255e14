import { type Capabilities, CoreError } from '@device-core/plugin-api';
import { BUS_ERRORS, HANDLE_NAME, type HandleTable, handlesOperation } from '@device-core/plugin-api/buses';
import {
  base64Schema,
  bytesOf,
  exactly,
  type Listeners,
  outflow,
  type PerCaller,
  textOf,
} from '@device-core/plugin-api/operation-kit';
import type { Operation, StreamEndpoint } from '@device-core/plugin-api/services/operations';
import type { UartChunk, UartHandle, UartSettings } from '@device-core/plugin-api/services/uart';
import type { Ports } from './ports.ts';

const MOST_WRITTEN = 65_536;
const MOST_READ = 65_536;
const LONGEST_WAIT_MS = 25_000;

export interface OperationOptions {
  readonly table: HandleTable<UartHandle>;
  readonly ports: Ports;
  readonly capabilities: Capabilities;
  readonly perCaller: PerCaller;
}

const common = { capability: 'bridges.uart:{handle}', errors: BUS_ERRORS, keepsDeadline: true } as const;
const post = (path: string) => ({ method: 'POST', path }) as const;

export function uartOperations(options: OperationOptions): readonly Operation<never, unknown>[] {
  const { table, ports, capabilities, perCaller } = options;
  const write: Operation<{ readonly handle: string; readonly tx: string }, { readonly written: number }> = {
    ...common,
    name: 'uart.write',
    summary: 'Write bytes to a serial line',
    description: 'Answers when the last byte has left.',
    params: exactly({ handle: HANDLE_NAME, tx: { ...base64Schema(MOST_WRITTEN), contentMediaType: 'text/plain' } }),
    result: exactly({ written: { type: 'integer', description: 'bytes' } }),
    cli: { fixed: ['handle', 'tx'], done: '{written} bytes written' },
    rest: post('/UART_write'),
    async run({ handle, tx }, { caller, signal, deadline }) {
      const bytes = bytesOf(tx, 'tx');
      return { written: await perCaller.run(caller, () => ports.write(handle, bytes, { signal, deadline })) };
    },
  };
  const read: Operation<
    { readonly handle: string; readonly maxLen: number; readonly timeoutMs: number },
    { readonly rx: string; readonly lost: number; readonly lostPackets: number }
  > = {
    ...common,
    name: 'uart.read',
    summary: 'Take bytes that came in on a serial line',
    description: 'The readers of a line share what comes in; a stream uart.receive gets all of it for itself.',
    params: exactly(
      {
        handle: HANDLE_NAME,
        maxLen: { type: 'integer', minimum: 1, maximum: MOST_READ, default: 4_096 },
        timeoutMs: {
          type: 'integer',
          minimum: 0,
          maximum: LONGEST_WAIT_MS,
          default: 0,
          description: 'How long to wait for the first byte.',
        },
      },
      ['handle'],
    ),
    result: exactly({
      rx: { type: 'string', contentEncoding: 'base64', description: 'base64; empty when nothing came' },
      lost: { type: 'integer', description: 'bytes dropped since the last read because they were not read in time' },
      lostPackets: { type: 'integer', description: 'packets of bytes that the bridge dropped since then' },
    }),
    cli: { flags: { timeoutMs: ['wait', 'timeout-ms'] } },
    rest: post('/UART_read'),
    async run({ handle, maxLen = 4_096, timeoutMs = 0 }, { caller, signal }) {
      const { data, lost, lostPackets } = await perCaller.run(caller, () =>
        ports.read(handle, maxLen, timeoutMs, { signal }),
      );
      return { rx: textOf(data), lost, lostPackets };
    },
  };
  const configure: Operation<{ readonly handle: string } & Partial<UartSettings>, object> = {
    ...common,
    name: 'uart.configure',
    summary: 'Change speed or format of a serial line until the Core ends',
    params: exactly(
      {
        handle: HANDLE_NAME,
        baud: { type: 'integer', minimum: 50, maximum: 20_000_000 },
        bits: { type: 'integer', minimum: 5, maximum: 9 },
        parity: { enum: ['none', 'even', 'odd'] },
        stop: { enum: [1, 2] },
        flow: { enum: ['none', 'rts-cts'] },
      },
      ['handle'],
    ),
    result: exactly({}),
    rest: post('/UART_configure'),
    async run({ handle, ...settings }, { caller, signal, deadline }) {
      await perCaller.run(caller, () => ports.configure(handle, settings, { signal, deadline }));
      return {};
    },
  };
  const handles = handlesOperation('uart', table, capabilities, (row) => {
    const { written, received, lost, lostPackets, lineErrors } = ports.portOf(row);
    return { ...row.handle, owner: row.owner, written, received, lost, lostPackets, lineErrors };
  });
  return [write, read, configure, handles] as readonly Operation<never, unknown>[];
}

/** All that comes in, as bytes. A reader that is too slow loses the newest, and its stream ends so that it cannot take a gap for none. */
export function receiveStream(
  table: HandleTable<UartHandle>,
  listeners: Listeners<UartChunk>,
  bytes: number,
  onLoss: (handle: string, bytes: number) => void,
): StreamEndpoint<{ readonly handle: string }> {
  return {
    name: 'uart.receive',
    summary: 'The bytes that come in on a serial line',
    direction: 'read',
    params: exactly({ handle: HANDLE_NAME }),
    capability: 'bridges.uart:{handle}',
    async run({ handle }, channel) {
      table.find(handle);
      const over = Promise.withResolvers<void>();
      outflow(channel, { pieces: Number.POSITIVE_INFINITY, bytes }, (out) =>
        listeners.add(handle, ({ data }) => {
          if (out.offer(data)) return;
          onLoss(handle, data.length);
          const reason = 'its reader is too slow, and bytes were dropped';
          over.reject(new CoreError('QUEUE_FULL', { what: `received bytes of ${handle}`, reason, retryAfterMs: 0 }));
        }),
      ).then(over.resolve, over.reject);
      await over.promise;
    },
  };
}
