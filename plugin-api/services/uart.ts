import { serviceRef } from '../contract/service-ref.ts';
import type { EndpointPlace } from './endpoints.ts';

export interface UartSettings {
  readonly baud: number;
  /** 5 to 9; 8 if absent. */
  readonly bits?: number;
  /** `none` if absent. */
  readonly parity?: 'none' | 'even' | 'odd';
  /** 1 if absent. */
  readonly stop?: 1 | 2;
  /** `none` if absent. */
  readonly flow?: 'none' | 'rts-cts';
}

/** A named serial line of the IO bridge. */
export interface UartHandle extends UartSettings {
  /** `^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$` */
  readonly name: string;
  /** Label of the bridge endpoint. */
  readonly endpoint: string;
  /** Place where the endpoint must be, `any` if absent. */
  readonly where?: EndpointPlace | 'any';
  readonly description?: string;
}

export interface UartHandleInfo extends UartHandle {
  /** Registrant of the handle: `sku` or `plugin.<id>`. */
  readonly owner: string;
  readonly written: number;
  readonly received: number;
  /** Bytes dropped in the Core because no reader took them in time. */
  readonly lost: number;
  /** Packets of bytes that the bridge had no room for; their number of bytes is unknown. */
  readonly lostPackets: number;
  /** Framing, parity and overrun errors of the receiver. */
  readonly lineErrors: number;
}

export interface UartChunk {
  readonly data: Uint8Array;
  /** Milliseconds since the Unix epoch, from the bridge's clock. */
  readonly at: number;
  /** The same in microseconds. */
  readonly atUs: number;
  /** The bridge's clock, microseconds, 32 bits. */
  readonly timestampUs: number;
  /** Packets of bytes that the bridge dropped before this one; their number of bytes is unknown. */
  readonly lostPackets: number;
}

interface Options {
  readonly signal?: AbortSignal;
  readonly deadline?: number;
}

/**
 * UART for plugins; apps use `uart.write`, `uart.read` and the stream `uart.receive`. Rejections: HANDLE_NOT_FOUND,
 * NOT_INITIALIZED, TRANSFER_FAILED, TIMEOUT, CANCELLED, BUSY.
 */
export interface Uart {
  /** Throws HANDLE_ALREADY_REGISTERED, INVALID_HANDLE. */
  register(handle: UartHandle, owner: string): AsyncDisposable;
  handles(): Promise<readonly UartHandleInfo[]>;
  /** Resolves with the number of bytes written when the last one has left. */
  write(handle: string, bytes: Uint8Array, options?: Options): Promise<number>;
  configure(handle: string, settings: Partial<UartSettings>, options?: Options): Promise<void>;
  /** Calls `listener` with all that comes in from now on. */
  onReceive(handle: string, listener: (chunk: UartChunk) => void): Disposable;
}

export const uart = serviceRef<Uart>('uart', '1.0.0', 'powerful', 'sends and reads on the serial lines');
