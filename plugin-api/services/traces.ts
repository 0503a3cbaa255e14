/** Spans of slow, failed and sampled work across plugins and apps, in memory and in order. */
import { serviceRef } from '../contract/service-ref.ts';
import type { TraceContext } from '../contract/trace.ts';

export interface Span extends TraceContext {
  readonly parent?: string;
  /** True for a span without a parent here: no span of its trace follows it on this device. */
  readonly root?: boolean;
  /** `operation config.set`, `function agenda.events.add`, `voice.turn`, `stt`. */
  readonly name: string;
  /** Time of `clock.monotonic()`, which is the same in every worker and process; `ms` is the duration in milliseconds. */
  readonly began: number;
  readonly ms: number;
  /** A code of the table of errors, where it failed. */
  readonly error?: string;
  /** True for work without an end, or that waits for people: it is never slow. */
  readonly lasting?: boolean;
  /** Small and without secrets. */
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  /** Trace that an outside client named: linked, not the parent. */
  readonly link?: TraceContext;
}

/** Rules for keeping work that no caller asked to record. */
export interface TraceRules {
  /** From how many milliseconds on work is slow, by what its name begins with; the longest counts, and '' is for all. */
  readonly slowMs: Readonly<Record<string, number>>;
  /** Share of traces that begin here, 0 to 1. */
  readonly sample: number;
}

export interface Traces {
  /** Tells spans that are over, and how many were lost before. Never waits; what is beyond the limits is dropped and counted. */
  record(spans: readonly Span[], lost?: number): Promise<void>;
  /** The same as long as the service is there. */
  rules(): Promise<TraceRules>;
}

export const traces = serviceRef<Traces>('traces', '1.0.0', 'open');
