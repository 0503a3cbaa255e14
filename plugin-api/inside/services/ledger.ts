/** Ledger of data that leaves the device, written before it leaves (ADR 0021). */
import { serviceRef } from '../../contract/service-ref.ts';

/** One line of the ledger. */
export interface Departure {
  /** `voice`, `egress`, `telemetry`: which part of the device sends. */
  readonly part: string;
  /** For whom: `app.<id>`, or the id of a plugin. */
  readonly for: string;
  /** Recipient: host and port. */
  readonly to: string;
  /** Kind of the data: `audio`, `text`, `tunnel`. */
  readonly what: string;
  readonly bytes?: number;
  /** More, small and without secrets; at most 2 KiB of JSON. */
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface DepartureLine extends Departure {
  readonly id: string;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
}

export interface DepartureSum {
  readonly for: string;
  readonly to: string;
  readonly count: number;
  readonly bytes: number;
}

/** The one list of what left the device, for every part that sends. */
export interface DeparturesLedger {
  /** Resolves with its id when it is durable. Throws the codes of a disk: then nothing may leave. */
  write(departure: Departure): Promise<string>;
  /** Bytes that went since; they are counted in memory and written now and then. */
  count(id: string, bytes: number): Promise<void>;
  /** The newest first. */
  list(query: {
    readonly part?: string;
    readonly for?: string;
    readonly limit: number;
  }): Promise<readonly DepartureLine[]>;
  sums(): Promise<readonly DepartureSum[]>;
}

export const ledger = serviceRef<DeparturesLedger>('ledger', '1.0.0', 'tree');
