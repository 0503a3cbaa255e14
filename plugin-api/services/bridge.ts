import { serviceRef } from '../service-ref.ts';
import type { BridgeHealth } from './health.ts';

export type LinkState = 'down' | 'hello' | 'up' | 'degraded';

/** One row of the bridge's endpoint table (cbp.md section 10). */
export interface BridgeEndpoint {
  readonly ep: number;
  /** 0x01 GPIO, 0x02 I2C, 0x03 SPIX, 0x04 UART, 0x05 PIO, 0x06 CAN, ... */
  readonly class: number;
  readonly version: { readonly major: number; readonly minor: number };
  /** UTF-8 label, `spi0`. */
  readonly name: string;
  readonly maxInflight: number;
  readonly rxWindow: number;
  readonly maxTransfer: number;
}

export interface BridgeRequestOptions {
  /** Milliseconds the bridge may take; 0 or absent: the endpoint's default. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
}

export interface SpixTransfer {
  readonly cs: number;
  readonly mode: 0 | 1 | 2 | 3;
  readonly speedHz: number;
  readonly bitsPerWord?: number;
  readonly lsbFirst?: boolean;
  readonly csHigh?: boolean;
  readonly keepCs?: boolean;
  /** Buffer everything first: no pause of SCLK between bytes. */
  readonly atomic?: boolean;
  readonly tx: Uint8Array;
  /** Bytes wanted back, from the first clock on. */
  readonly rxLength: number;
}

export interface GpioLineConfig {
  readonly line: number;
  readonly direction: 'in' | 'out' | 'open-drain';
  readonly pull?: 'none' | 'up' | 'down';
  readonly edge?: 'none' | 'rising' | 'falling' | 'both';
  readonly debounceUs?: number;
  readonly initial?: 0 | 1;
  readonly safe?: 0 | 1 | 'keep';
}

/** The IO bridge behind CBP. Endpoints are addressed by their label. Every method rejects with BRIDGE_FAILED (`details.status` is the
 * status name of cbp.md section 12), NOT_INITIALIZED (link not up), TIMEOUT, CANCELLED. */
export interface Bridge {
  health(): Promise<BridgeHealth>;
  endpoints(): Promise<readonly BridgeEndpoint[]>;
  /** A raw request; the body's form is that of the endpoint's class. */
  request(endpoint: string, op: number, body: Uint8Array, options?: BridgeRequestOptions): Promise<Uint8Array>;
  spixTransfer(endpoint: string, transfer: SpixTransfer, options?: BridgeRequestOptions): Promise<Uint8Array>;
  /** Levels of the lines in `mask`, bit per line. */
  gpioRead(endpoint: string, mask: number, options?: BridgeRequestOptions): Promise<number>;
  gpioWrite(endpoint: string, mask: number, values: number, options?: BridgeRequestOptions): Promise<void>;
  gpioConfigure(endpoint: string, config: GpioLineConfig, options?: BridgeRequestOptions): Promise<void>;
  /** Called after each change of the link. */
  onLink(listener: (state: LinkState, reason?: string) => void): Disposable;
}

export const bridge = serviceRef<Bridge>('bridge', '1.0.0');
