import { serviceRef } from '../contract/service-ref.ts';
import type { BridgeHealth } from './health.ts';

export type LinkState = 'down' | 'hello' | 'up' | 'degraded';

export interface BridgeRequestOptions {
  /** Milliseconds the bridge may take; 0 or absent: the endpoint's default. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
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

/**
 * The IO bridge behind CBP: its link, its counters, its restart. What its endpoints do goes through the service
 * `endpoints`. Every method rejects with BRIDGE_FAILED (`details.status` is the status name of cbp.md section 12),
 * NOT_INITIALIZED (link not up), TIMEOUT, CANCELLED.
 */
export interface Bridge {
  health(): Promise<BridgeHealth>;
  statistics(options?: BridgeRequestOptions): Promise<BridgeStatistics>;
  /** By the label of the endpoint. */
  endpointStatistics(endpoint: string, options?: BridgeRequestOptions): Promise<BridgeEndpointStatistics>;
  /** Aborts what the endpoint does and gives it its default configuration. */
  resetEndpoint(endpoint: string, options?: BridgeRequestOptions): Promise<void>;
  /** Resolves when the bridge has said that it will; its link comes back by itself. */
  reboot(mode: 'app' | 'bootloader', options?: BridgeRequestOptions): Promise<void>;
  /** Called after each change of the link. */
  onLink(listener: (state: LinkState, reason?: string) => void): Disposable;
}

export const bridge = serviceRef<Bridge>('bridge', '2.0.0', 'powerful', 'resets the bridge to the hardware');
