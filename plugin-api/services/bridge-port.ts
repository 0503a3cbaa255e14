import { serviceRef } from '../contract/service-ref.ts';

/** The wire to the IO bridge: one full-duplex SPI transaction at a time (cbp.md section 17). */
export interface BridgePort {
  info(): Promise<{
    readonly driver: string;
    readonly device: string;
    readonly maxTransfer: number;
    /** The data-ready line is not wired: its level is a guess. */
    readonly polled?: boolean;
  }>;
  /**
   * Clocks `tx.length` bytes both ways. Exactly one may be outstanding. Rejects with NOT_INITIALIZED (no device, with the reason),
   * TRANSFER_FAILED, TIMEOUT.
   */
  transact(tx: Uint8Array, options?: { readonly speedHz?: number }): Promise<Uint8Array>;
  /** The data-ready line: called with its level at once and after each change. */
  onReady(listener: (level: boolean) => void): Disposable;
  /** Pulls the bridge's reset for 10 ms, where it is wired. */
  reset(): Promise<void>;
}

export const bridgePort = serviceRef<BridgePort>('bridge-port', '1.0.0', 'powerful', 'sends raw frames to the bridge');
