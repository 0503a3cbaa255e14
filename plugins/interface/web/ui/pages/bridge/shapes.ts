/** Answers of the public interface, as far as this page shows them. */
export interface Link {
  readonly link: 'up' | 'down' | 'resetting';
  readonly state: 'up' | 'degraded' | 'hello' | 'down';
  readonly reason?: string;
  readonly transactionsPerSecond: number;
  readonly badPercent: number;
  readonly retransmitPercent: number;
  readonly resets: number;
  readonly lastReset?: { readonly reason: string; readonly at: number };
  readonly firmware?: string;
  readonly bridgeReset?: string;
  readonly transactionBytes?: number;
  readonly clockKhz?: number;
  readonly rttUs?: number;
  readonly endpoints?: Readonly<
    Record<string, { readonly inFlight: number; readonly lostEvents: number; readonly away?: boolean }>
  >;
}

export interface Endpoint {
  readonly ep: number;
  readonly name: string;
  readonly className: string;
  readonly version: { readonly major: number; readonly minor: number };
  readonly counters?: {
    readonly requests: number;
    readonly errors: number;
    readonly timeouts: number;
    readonly bytesIn: number;
    readonly bytesOut: number;
    readonly events: number;
    readonly eventsLost: number;
  };
}

export interface Status {
  readonly link: Link;
  readonly endpoints: readonly Endpoint[];
}

export interface Handle {
  readonly name: string;
  readonly endpoint: string;
  readonly owner: string;
  readonly description?: string;
  readonly transfers?: number;
  readonly errors?: number;
}

export interface Pin extends Handle {
  readonly line: number;
  readonly direction: 'in' | 'out' | 'open-drain';
  readonly pull: string;
  readonly edge: string;
  readonly edges: number;
}

export type Level = 0 | 1;

export interface Envelope {
  readonly topic: string;
  readonly payload: Readonly<Record<string, unknown>>;
}
