import { serviceRef } from '../contract/service-ref.ts';
import type { EndpointPlace } from './endpoints.ts';

/** A named I2C component: one address on one bus of the IO bridge. */
export interface I2cHandle {
  /** `^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$` */
  readonly name: string;
  /** Label of the bridge endpoint (physical bus). */
  readonly endpoint: string;
  /** 7 bits, or 10 bits with `tenBit`. */
  readonly address: number;
  readonly tenBit?: boolean;
  /** The transfer's own limit, milliseconds from its first clock; absent: 250 ms and twice the time on the bus and on the link. */
  readonly deadlineMs?: number;
  /** Every transfer of this component may be done twice with the same effect. */
  readonly repeat?: 'safe';
  /** Place where the endpoint must be, `any` if absent. */
  readonly where?: EndpointPlace | 'any';
  readonly description?: string;
}

export interface I2cHandleInfo extends I2cHandle {
  /** Registrant of the handle: `sku` or `plugin.<id>`. */
  readonly owner: string;
  /** Since it was registered, those that failed included. */
  readonly transfers: number;
  readonly errors: number;
  /** Now. */
  readonly inFlight: number;
}

/** One piece of a transfer; between two there is a repeated start, after the last a stop. */
export type I2cSegment = { readonly write: Uint8Array } | { readonly read: number };

export interface I2cTransferOptions {
  readonly signal?: AbortSignal;
  /** The caller's limit, milliseconds of `clock.steady()`, the queue included; at most 30 s. */
  readonly deadline?: number;
  /** This transfer may be done twice with the same effect: the Core repeats it once where the bus got stuck in it. */
  readonly repeat?: 'safe';
}

/** I2C for plugins; apps use the operation `i2c.transfer`. */
export interface I2c {
  /** Throws HANDLE_ALREADY_REGISTERED, INVALID_HANDLE, PARAMS_INVALID (address). Disposing removes the handle. */
  register(handle: I2cHandle, owner: string): AsyncDisposable;
  handles(): Promise<readonly I2cHandleInfo[]>;
  /**
   * Resolves with the bytes of all read segments, one after the other. Rejects with HANDLE_NOT_FOUND, PARAMS_INVALID
   * (lengths), NOT_INITIALIZED, TRANSFER_FAILED (`details.status` is the bridge's word: NACK, BUS_STUCK, ...), TIMEOUT,
   * CANCELLED, BUSY. `details.executed` of these is `no`, `yes` or `unknown`. A bus that was stuck has been recovered
   * by then; nothing is repeated without `repeat`.
   */
  transfer(handle: string, segments: readonly I2cSegment[], options?: I2cTransferOptions): Promise<Uint8Array>;
}

export const i2c = serviceRef<I2c>('i2c', '1.0.0', 'powerful', 'sends and reads on the I2C buses');
