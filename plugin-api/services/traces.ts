/** What happened in which order, across plugins and apps: spans of slow, failed and sampled work, in memory. */
import { serviceRef } from '../contract/service-ref.ts';
import type { TraceContext } from '../contract/trace.ts';

export interface Span extends TraceContext {
  readonly parent?: string;
  /** Nothing of its trace is to come in this device when it is told: it had no parent here. */
  readonly root?: boolean;
  /** `operation config.set`, `function agenda.events.add`, `voice.turn`, `stt`. */
  readonly name: string;
  /** Of `clock.monotonic()`, which is the same in every worker and process, and how many milliseconds it took. */
  readonly began: number;
  readonly ms: number;
  /** A code of the table of errors, where it failed. */
  readonly error?: string;
  /** It has no end of its own, or waits for people: it is never slow. */
  readonly lasting?: boolean;
  /** Small and without secrets. */
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  /** A trace that somebody from outside named: linked, not the parent. */
  readonly link?: TraceContext;
}

/** What is kept of work that nobody asked to be recorded. */
export interface TraceRules {
  /** From how many milliseconds on work is slow, by what its name begins with; the longest counts, and '' is for all. */
  readonly slowMs: Readonly<Record<string, number>>;
  /** Of traces that begin here, 0 to 1. */
  readonly sample: number;
}

export interface Traces {
  /** Tells spans that are over, and how many were lost before. Never waits; what is beyond the limits is dropped and counted. */
  record(spans: readonly Span[], lost?: number): Promise<void>;
  /** The same as long as the service is there. */
  rules(): Promise<TraceRules>;
}

export const traces = serviceRef<Traces>('traces', '1.0.0', 'open');
