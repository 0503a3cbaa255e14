/** Serial lines by handle: what goes out, what comes in, and what was lost on the way. */
import { CoreError, type Scope } from '@device-core/plugin-api';
import {
  type BusCallOptions,
  type BusUser,
  type HandleRow,
  type HandleTable,
  saysExecuted,
} from '@device-core/plugin-api/buses';
import type { Listeners } from '@device-core/plugin-api/operation-kit';
import type { EndpointEvent } from '@device-core/plugin-api/services/endpoints';
import type { UartChunk, UartHandle, UartSettings } from '@device-core/plugin-api/services/uart';
import { configureBody, deadlineOf, EVENT, errorsIn, MAX_BYTES, OP, writtenIn } from './messages.ts';
import { ReceiveBuffer, type Taken } from './receive-buffer.ts';

const CONFIGURE_MS = 1_000;
/** An error of the line is old news when nothing has gone wrong for so long. */
const HEALED_MS = 10_000;

interface Port {
  readonly buffer: ReceiveBuffer;
  written: number;
  received: number;
  /** Bytes, in the Core. */
  lost: number;
  /** Packets of bytes lost on the bridge. */
  lostPackets: number;
  lineErrors: number;
  healing: Disposable | undefined;
}

export interface PortsOptions {
  readonly table: HandleTable<UartHandle>;
  readonly user: BusUser<UartHandle>;
  readonly listeners: Listeners<UartChunk>;
  readonly scope: Scope;
  readonly bufferBytes: number;
  readonly onError: (handle: string, errors: readonly string[]) => void;
}

export class Ports {
  readonly #options: PortsOptions;
  readonly #ports = new WeakMap<HandleRow<UartHandle>, Port>();

  constructor(options: PortsOptions) {
    this.#options = options;
  }

  /** Two handles of one line cannot have it at two speeds or in two formats. Throws PARAMS_INVALID. */
  check(handle: UartHandle): void {
    const other = this.#options.table.on(handle.endpoint)[0]?.handle;
    if (!other || configureBody(other).equals(configureBody(handle))) return;
    const reason = `${other.name} has ${handle.endpoint} at another speed or in another format`;
    throw new CoreError('PARAMS_INVALID', { where: `handle ${handle.name}`, reason });
  }

  portOf(row: HandleRow<UartHandle>): Port {
    const known = this.#ports.get(row);
    if (known) return known;
    const buffer = new ReceiveBuffer(this.#options.bufferBytes);
    const counts = { written: 0, received: 0, lost: 0, lostPackets: 0, lineErrors: 0 };
    const port: Port = { buffer, ...counts, healing: undefined };
    this.#ports.set(row, port);
    return port;
  }

  /** In pieces that the bridge takes at once; the lines of other handles stay free between them. */
  async write(name: string, bytes: Uint8Array, options: BusCallOptions = {}): Promise<number> {
    const { table, user } = this.#options;
    const row = table.find(name);
    const port = this.portOf(row);
    let written = 0;
    try {
      for (let from = 0; from < bytes.length; from += MAX_BYTES) {
        const body = bytes.subarray(from, from + MAX_BYTES);
        const deadlineMs = deadlineOf(row.handle, body.length);
        written += writtenIn(await user.request(row, { ...options, op: OP.write, body, deadlineMs }), name);
      }
    } catch (error) {
      // Bytes that have left cannot be taken back, even where the rest failed.
      throw written > 0 ? saysExecuted(error, 'yes', { written }) : error;
    } finally {
      port.written += written;
    }
    return written;
  }

  /** Waits at most `waitMs` for the first byte. */
  async read(name: string, most: number, waitMs: number, { signal }: BusCallOptions): Promise<Taken> {
    const { buffer } = this.portOf(this.#options.table.find(name));
    if (buffer.empty && waitMs > 0) {
      const { scope } = this.#options;
      try {
        await scope.within(`read of ${name}`, waitMs, () => buffer.next(), { signal });
      } catch (error) {
        if (!isOver(error)) throw error; // nothing came in time: that is an answer, too
      }
    }
    return buffer.take(most);
  }

  async configure(name: string, settings: Partial<UartSettings>, options: BusCallOptions = {}): Promise<void> {
    const row = this.#options.table.find(name);
    const wanted = { ...row.handle, ...settings };
    await this.apply(row, wanted, options);
    row.handle = Object.freeze(wanted);
  }

  /** Makes the line what the handle says. */
  async apply(row: HandleRow<UartHandle>, handle = row.handle, options: BusCallOptions = {}): Promise<void> {
    const request = { ...options, op: OP.configure, body: configureBody(handle), deadlineMs: CONFIGURE_MS };
    await this.#options.user.request(row, request);
  }

  take(endpoint: string, { op, at, atUs, timestampUs, lost: lostPackets, data }: EndpointEvent): void {
    for (const row of this.#options.table.on(endpoint)) {
      if (op === EVENT.received) this.#received(row, { data, at, atUs, timestampUs, lostPackets });
      else if (op === EVENT.error) this.#failed(row, errorsIn(data[0] ?? 0));
    }
  }

  #received(row: HandleRow<UartHandle>, chunk: UartChunk): void {
    const port = this.portOf(row);
    port.received += chunk.data.length;
    port.buffer.miss(chunk.lostPackets);
    port.lostPackets += chunk.lostPackets;
    port.lost += port.buffer.push(chunk.data);
    if (chunk.lostPackets > 0) this.#failed(row, ['overrun']);
    this.#options.listeners.tell(row.handle.name, chunk);
  }

  #failed(row: HandleRow<UartHandle>, errors: readonly string[]): void {
    const { user, scope, onError } = this.#options;
    const { name } = row.handle;
    const port = this.portOf(row);
    port.lineErrors++;
    const code = errors.includes('overrun') ? 'UART_OVERRUN' : 'UART_LINE';
    const message = `${name}: ${errors.join(', ') || 'an error of the line'}`;
    user.trouble(`line ${name}`, { status: 'error', code, message });
    port.healing?.[Symbol.dispose]();
    port.healing = scope.timeout(`errors of ${name}`, HEALED_MS, () => user.clear(`line ${name}`));
    onError(name, errors);
  }
}

function isOver(error: unknown): boolean {
  return error instanceof CoreError && (error.code === 'TIMEOUT' || error.code === 'CANCELLED');
}
