/**
 * Spans of one plugin. Where no plugin `traces` runs it is one comparison; where one does, work that is quick and well
 * costs another one.
 */

import type { Clock } from '../../contract/clock.ts';
import { CoreError } from '../../contract/errors.ts';
import type { Scope } from '../../contract/scope.ts';
import { beginTrace, type TraceContext } from '../../contract/trace.ts';
import type { Span, TraceRules, Traces } from '../../services/traces.ts';
import { maybe } from '../maybe.ts';
import { slowFrom } from './slow.ts';

/** Spans that wait for the end of a turn; what is beyond is counted by the receiver. */
const MOST_WAITING = 256;
/** Names whose bound is remembered. */
const MOST_NAMES = 1_000;

export interface SpanEnd {
  readonly error?: unknown;
  readonly attributes?: Span['attributes'];
}

/** Work that is under way. */
export interface OpenSpan {
  /** Context for work within the span. */
  readonly context: TraceContext;
  /** Once; later ones count for nothing. */
  end(how?: SpanEnd): void;
}

export class Tracer {
  readonly #clock: Clock;
  #service: Traces | undefined;
  #rules: TraceRules | undefined;
  readonly #bounds = new Map<string, number>();
  #waiting: Span[] = [];
  /** Spans that were dropped, and are to be told of. */
  #lost = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Somebody keeps traces. */
  get on(): boolean {
    return this.#service !== undefined;
  }

  /** Share of the traces that begin here, 0 to 1. */
  get sample(): number {
    return this.#rules?.sample ?? 0;
  }

  /** For `host.when(traces, (service, scope) => tracer.use(service, scope))`. */
  async use(service: Traces, scope: Scope): Promise<void> {
    this.#rules = await service.rules();
    this.#bounds.clear();
    this.#service = service;
    scope.defer('traces', () => {
      if (this.#service === service) this.#service = undefined;
    });
  }

  /** The context of work within `parent`, or of a trace of its own. */
  context(parent?: TraceContext): TraceContext {
    return beginTrace(parent, this.#rules !== undefined && Math.random() < this.#rules.sample);
  }

  /** Milliseconds. Asked at the end of each call. */
  operationSlowFrom(name: string): number {
    let bound = this.#bounds.get(name);
    if (bound === undefined) {
      bound = slowFrom(this.#rules?.slowMs ?? {}, `operation ${name}`);
      if (this.#bounds.size >= MOST_NAMES) this.#bounds.clear();
      this.#bounds.set(name, bound);
    }
    return bound;
  }

  /** Undefined where nobody keeps traces: `parent` is then handed on as it is. */
  begin(name: string, parent?: TraceContext, attributes?: Span['attributes']): OpenSpan | undefined {
    if (!this.#service) return undefined;
    const began = this.#clock.monotonic();
    const context = this.context(parent);
    let over = false;
    const end = (how: SpanEnd = {}): void => {
      if (over) return;
      over = true;
      const all = how.attributes ? { ...attributes, ...how.attributes } : attributes;
      this.tell({
        ...context,
        name,
        began,
        ms: this.#clock.monotonic() - began,
        ...within(parent),
        ...(how.error !== undefined && { error: codeOf(how.error) }),
        ...maybe({ attributes: all }),
      });
    };
    return { context, end };
  }

  /** Never waits, and never throws. */
  tell(span: Span): void {
    if (!this.#service) return;
    if (this.#waiting.length >= MOST_WAITING) this.#lost++;
    else if (this.#waiting.push(span) === 1) queueMicrotask(this.#flush);
  }

  readonly #flush = (): void => {
    const spans = this.#waiting;
    this.#waiting = [];
    const lost = this.#lost;
    this.#lost = 0;
    this.#service?.record(spans, lost).catch(() => {
      this.#lost += lost + spans.length;
    });
  };
}

/** Position of a span: below its parent, at the top, or at the top with a link. */
export function within(parent: TraceContext | undefined): Pick<Span, 'parent' | 'root' | 'link'> {
  if (!parent) return { root: true };
  if (parent.remote === 'link') return { root: true, link: parent };
  return parent.remote === 'parent' ? { root: true, parent: parent.spanId } : { parent: parent.spanId };
}

export function codeOf(error: unknown): string {
  return error instanceof CoreError ? error.code : 'INTERNAL';
}
