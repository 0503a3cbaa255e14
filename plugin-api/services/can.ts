import { serviceRef } from '../contract/service-ref.ts';
import type { EndpointPlace } from './endpoints.ts';

export interface CanFilter {
  readonly id: number;
  /** Bits of the id that must agree. */
  readonly mask: number;
  readonly extended?: boolean;
}

/** A named view of a CAN bus of the IO bridge. Handles of one bus must agree on its bit rates and mode. */
export interface CanHandle {
  /** `^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$` */
  readonly name: string;
  /** Label of the bridge endpoint. */
  readonly endpoint: string;
  /** Bits per second. */
  readonly nominal: number;
  /** Bits per second of the data phase of CAN FD; 0 (classic CAN) if absent. */
  readonly data?: number;
  /** `normal` if absent. */
  readonly mode?: 'normal' | 'loopback' | 'listen-only';
  /** Frames that the handle receives; all of them if absent or empty. */
  readonly filters?: readonly CanFilter[];
  /** Place where the endpoint must be, `any` if absent. */
  readonly where?: EndpointPlace | 'any';
  readonly description?: string;
}

export interface CanFrame {
  /** 11 bits, 29 with `extended`. */
  readonly id: number;
  readonly extended?: boolean;
  /** A request without data. */
  readonly rtr?: boolean;
  readonly fd?: boolean;
  /** At most 8 bytes, 64 with `fd`. */
  readonly data: Uint8Array;
}

export interface CanArrival extends CanFrame {
  /** Milliseconds since the Unix epoch, from the bridge's clock. */
  readonly at: number;
  /** The same in microseconds. */
  readonly atUs: number;
  /** The bridge's clock, microseconds, 32 bits: the one that `send` answers with as well. */
  readonly timestampUs: number;
  /** Frames that were dropped on the bridge before this one. */
  readonly lost: number;
}

export type CanBusState = 'stopped' | 'active' | 'warning' | 'passive' | 'bus-off';

export interface CanHandleInfo extends CanHandle {
  /** Registrant of the handle: `sku` or `plugin.<id>`. */
  readonly owner: string;
  readonly state: CanBusState;
  readonly sent: number;
  /** Frames received while a handle of the bus had a listener: at other times its controller drops them. */
  readonly received: number;
  readonly lost: number;
}

/**
 * CAN for plugins; apps use `can.send` and the stream `can.receive`. Rejections: HANDLE_NOT_FOUND, PARAMS_INVALID,
 * NOT_INITIALIZED, TRANSFER_FAILED, TIMEOUT, CANCELLED, BUSY.
 */
export interface Can {
  /** Throws HANDLE_ALREADY_REGISTERED, INVALID_HANDLE, PARAMS_INVALID (another handle has the bus at another speed). */
  register(handle: CanHandle, owner: string): AsyncDisposable;
  handles(): Promise<readonly CanHandleInfo[]>;
  /** Resolves with the time of the bridge, microseconds, when another node has acknowledged the frame. */
  send(
    handle: string,
    frame: CanFrame,
    options?: { readonly signal?: AbortSignal; readonly deadline?: number },
  ): Promise<{ readonly timestampUs: number }>;
  onFrame(handle: string, listener: (frame: CanArrival) => void): Disposable;
}

export const can = serviceRef<Can>('can', '1.0.0', 'powerful', 'sends and reads on the CAN buses');
