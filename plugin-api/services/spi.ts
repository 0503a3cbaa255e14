import { serviceRef } from '../contract/service-ref.ts';
import type { EndpointPlace } from './endpoints.ts';

/** A named binding to one hardware component with fixed settings (specification "SPI handle", decisions D3). */
export interface SpiHandle {
  /** `^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$` */
  readonly name: string;
  /** Hz, > 0. */
  readonly speed: number;
  /** 0 to 3. */
  readonly mode: number;
  /** Label of the bridge endpoint (physical bus). */
  readonly endpoint: string;
  /** Chip select on that bus. */
  readonly cs: number;
  /** Milliseconds; absent: wire time x 2 + 100 ms, at most 5 s. */
  readonly deadlineMs?: number;
  /** Transfer without pauses of the clock. */
  readonly atomic?: boolean;
  /** Place where the endpoint must be, `any` if absent. */
  readonly where?: EndpointPlace | 'any';
  readonly description?: string;
}

export interface SpiHandleInfo extends SpiHandle {
  /** Registrant of the handle: `sku` or `plugin.<id>`. */
  readonly owner: string;
  /** Since it was registered, those that failed included. */
  readonly transfers: number;
  readonly errors: number;
  /** Now. */
  readonly inFlight: number;
}

/** SPI for plugins; apps use the operation `spi.transfer`. */
export interface Spi {
  /** Throws HANDLE_ALREADY_REGISTERED, INVALID_HANDLE, INVALID_SPEED, INVALID_MODE. Disposing removes the handle. */
  register(handle: SpiHandle, owner: string): AsyncDisposable;
  handles(): Promise<readonly SpiHandleInfo[]>;
  /**
   * Clocks max(tx.length, rxLength) bytes and resolves with the first `rxLength` that came back. Rejects with
   * HANDLE_NOT_FOUND, INVALID_HANDLE, PARAMS_INVALID (lengths), NOT_INITIALIZED, TRANSFER_FAILED, INVALID_SPEED,
   * INVALID_MODE, TIMEOUT, CANCELLED, BUSY. `deadline` is milliseconds of `clock.steady()`.
   */
  transfer(
    handle: string,
    tx: Uint8Array,
    rxLength: number,
    options?: { readonly signal?: AbortSignal; readonly deadline?: number },
  ): Promise<Uint8Array>;
}

export const spi = serviceRef<Spi>('spi', '1.0.0', 'powerful', 'sends and reads on the SPI buses');
