/**
 * Traces in memory. Spans of a trace wait, within a bound, for the end of its root; the trace is kept from the first
 * span on that failed, was slow or is sampled. The oldest one makes room; a bound for each kind of failure protects the
 * other traces.
 */
import { type Clock, type CoreErrorCode, ERROR_CODES } from '@device-core/plugin-api';
import { type Span, slowFrom, type TraceRules } from '@device-core/plugin-api/tracing';
import { tidied } from './tidy.ts';

export type Reason = 'failed' | 'slow' | 'sampled';

export interface KeptTrace {
  readonly id: string;
  /** Milliseconds since the Unix epoch at 0 of the monotonic clock, as it was when the trace was first heard of. */
  readonly origin: number;
  readonly why: Reason;
  /** The span for which it is kept. */
  readonly cause: string;
  readonly spans: readonly Span[];
  /** Spans beyond the limit of one trace. */
  readonly left: number;
}

export interface Limits {
  /** Beginnings of names: such work is always kept. */
  readonly always: readonly string[];
  readonly traces: number;
  readonly bytes: number;
  readonly spans: number;
}

export interface Dropped {
  /** Traces that made room for newer ones. */
  readonly traces: number;
  /** Spans beyond the limit of their trace. */
  readonly spans: number;
  /** Traces forgotten before their root was over. */
  readonly waiting: number;
  /** Number of invalid spans. */
  readonly invalid: number;
  /** Number of lost spans. */
  readonly lost: number;
}

interface Row {
  readonly id: string;
  readonly origin: number;
  readonly spans: Span[];
  kept: { readonly why: Reason; readonly cause: string } | undefined;
  bytes: number;
  left: number;
}

/** Traces whose root is not over. */
const MOST_WAITING = 256;
/** Share of the ring for one cause: one part in so many. */
const SHARE = 5;
/** Prefix of the spans of queries for traces, which make no traces. */
const OWN = 'operation traces.';
/** Bytes of a span without its texts. */
const SPAN_BYTES = 200;

export class TraceStore {
  readonly #limits: Limits;
  readonly #rules: TraceRules;
  readonly #clock: Clock;
  readonly #waiting = new Map<string, Row>();
  readonly #ring = new Map<string, Row>();
  readonly #causes = new Map<string, number>();
  readonly #dropped = { traces: 0, spans: 0, waiting: 0, invalid: 0, lost: 0 };
  #bytes = 0;
  #waitingBytes = 0;

  constructor(limits: Limits, rules: TraceRules, clock: Clock) {
    this.#clock = clock;
    this.#limits = limits;
    this.#rules = rules;
  }

  get dropped(): Dropped {
    return { ...this.#dropped };
  }

  get size(): number {
    return this.#ring.size;
  }

  /** Rough size of the kept traces. */
  get bytes(): number {
    return this.#bytes;
  }

  lose(spans: number): void {
    this.#dropped.lost += spans;
  }

  add(given: Span): void {
    const span = tidied(given);
    if (span?.name.startsWith(OWN)) return;
    if (!span) {
      this.#dropped.invalid++;
      return;
    }
    const row = this.#ring.get(span.traceId) ?? this.#waiting.get(span.traceId) ?? this.#begin(span.traceId);
    this.#append(row, span);
    const why = this.#whyOf(span);
    if (why && !row.kept) this.#keep(row, why, span);
    else if (!row.kept && span.root) this.#forget(row);
    this.#makeRoom();
  }

  /** By the whole id, or its beginning or end: the newest one. */
  find(id: string): KeptTrace | undefined {
    const exact = this.#ring.get(id);
    if (exact) return told(exact);
    const row = [...this.#ring.values()].findLast((one) => one.id.endsWith(id) || one.id.startsWith(id));
    return row && told(row);
  }

  /** Newest first. */
  newest(limit: number): readonly KeptTrace[] {
    return [...this.#ring.values()].slice(-limit).reverse().map(told);
  }

  #whyOf({ error, lasting, link, ms, name, parent, root, sampled }: Span): Reason | undefined {
    if (error !== undefined && (!isOfCaller(error) || link || (root && parent !== undefined))) return 'failed';
    if (!lasting && ms >= slowFrom(this.#rules.slowMs, name)) return 'slow';
    return sampled || this.#limits.always.some((one) => name.startsWith(one)) ? 'sampled' : undefined;
  }

  #begin(id: string): Row {
    const origin = this.#clock.now() - this.#clock.monotonic();
    const row: Row = { id, origin, spans: [], kept: undefined, bytes: 0, left: 0 };
    this.#waiting.set(id, row);
    return row;
  }

  #forget(row: Row): void {
    this.#waiting.delete(row.id);
    this.#waitingBytes -= row.bytes;
  }

  #append(row: Row, span: Span): void {
    if (row.spans.length >= this.#limits.spans) {
      row.left++;
      this.#dropped.spans++;
      // The root says how long all of it took: it is worth more than one of many inside.
      if (!span.root) return;
      row.bytes -= this.#weigh(row, row.spans.pop()!);
    }
    row.spans.push(span);
    row.bytes += this.#weigh(row, span, 1);
  }

  /** Bytes of a span, added to or taken away from those of the ring or of what waits. */
  #weigh(row: Row, span: Span, sign = -1): number {
    const bytes = SPAN_BYTES + 2 * (span.name.length + JSON.stringify(span.attributes ?? {}).length);
    if (row.kept) this.#bytes += sign * bytes;
    else this.#waitingBytes += sign * bytes;
    return bytes;
  }

  #keep(row: Row, why: Reason, { name, error }: Span): void {
    const cause = error === undefined ? name : `${name} ${error}`;
    row.kept = { why, cause };
    this.#forget(row);
    this.#ring.set(row.id, row);
    this.#bytes += row.bytes;
    const same = (this.#causes.get(cause) ?? 0) + 1;
    this.#causes.set(cause, same);
    if (same > Math.max(1, this.#limits.traces / SHARE)) this.#drop(this.#oldest(cause));
  }

  #oldest(cause: string): Row {
    for (const row of this.#ring.values()) if (row.kept!.cause === cause) return row;
    throw new Error(`there is no trace for ${cause}`);
  }

  #makeRoom(): void {
    const { traces, bytes } = this.#limits;
    while (this.#ring.size > traces || this.#bytes > bytes) this.#drop(this.#ring.values().next().value!);
    while (this.#waiting.size > MOST_WAITING || this.#waitingBytes > bytes) {
      this.#forget(this.#waiting.values().next().value!);
      this.#dropped.waiting++;
    }
  }

  #drop(row: Row): void {
    const { cause } = row.kept!;
    this.#ring.delete(row.id);
    this.#bytes -= row.bytes;
    this.#dropped.traces++;
    const same = this.#causes.get(cause)! - 1;
    if (same > 0) this.#causes.set(cause, same);
    else this.#causes.delete(cause);
  }
}

/** True for a caller's error: its trace is kept only if it was slow, sampled or named by a traceparent. */
function isOfCaller(code: string): boolean {
  if (!Object.hasOwn(ERROR_CODES, code)) return false;
  const [status] = ERROR_CODES[code as CoreErrorCode];
  return status >= 400 && status < 500 && status !== 408 && status !== 429;
}

function told({ id, origin, kept, spans, left }: Row): KeptTrace {
  return { id, origin, ...kept!, spans: [...spans], left };
}
