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

/** Something that an endpoint of the bridge told by itself (cbp.md section 9). */
export interface BridgeEvent {
  /** 0x80 and more, in the meaning of the endpoint's class. */
  readonly op: number;
  /** Milliseconds since the Unix epoch, from the bridge's clock. */
  readonly at: number;
  /** Events of this endpoint that were dropped since the one before. */
  readonly lost: number;
  readonly data: Uint8Array;
}

/** The bridge's own counters (SYS STATS). */
export interface BridgeStatistics {
  readonly uptimeMs: number;
  readonly transactions: number;
  readonly received: number;
  readonly receivedBad: number;
  readonly duplicates: number;
  readonly sent: number;
  readonly retransmitted: number;
  readonly empty: number;
  readonly resets: number;
  readonly protocolErrors: number;
  /** Bytes. */
  readonly freeMemory: number;
  readonly maxLoopUs: number;
}

/** Counters of one endpoint as the bridge has them (SYS EP_STATS). */
export interface BridgeEndpointStatistics {
  readonly requests: number;
  readonly errors: number;
  readonly timeouts: number;
  readonly cancels: number;
  readonly bytesIn: number;
  readonly bytesOut: number;
  readonly events: number;
  readonly eventsLost: number;
  readonly ringPeak: number;
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
  /** Calls `listener` for each event of the endpoint, over sessions. An endpoint that is not there (yet) has none. */
  onEvent(endpoint: string, listener: (event: BridgeEvent) => void): Disposable;
  statistics(options?: BridgeRequestOptions): Promise<BridgeStatistics>;
  endpointStatistics(endpoint: string, options?: BridgeRequestOptions): Promise<BridgeEndpointStatistics>;
  /** Aborts what the endpoint does and gives it its default configuration. */
  resetEndpoint(endpoint: string, options?: BridgeRequestOptions): Promise<void>;
  /** Resolves when the bridge has said that it will; its link comes back by itself. */
  reboot(mode: 'app' | 'bootloader', options?: BridgeRequestOptions): Promise<void>;
  /** Called after each change of the link. */
  onLink(listener: (state: LinkState, reason?: string) => void): Disposable;
}

export const bridge = serviceRef<Bridge>('bridge', '1.0.0');
