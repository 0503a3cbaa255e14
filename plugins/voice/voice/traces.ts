import { maybe } from '@device-core/plugin-api';
import type { VoiceSpan, VoiceTurn } from '@device-core/plugin-api/services/voice';
import type { Span, TraceContext, Tracer } from '@device-core/plugin-api/tracing';
import type { Measures } from './measures.ts';

type Writable = { -readonly [K in keyof VoiceTurn]: VoiceTurn[K] } & { spans: VoiceSpan[] };

interface Row {
  readonly turn: Writable;
  /** Monotonic. */
  readonly began: number;
  /** Between the last sample of the wake phrase and the wake event. */
  readonly wakeMs: number;
  readonly trace: { readonly parent: TraceContext | undefined; readonly context: TraceContext } | undefined;
  /** Contexts handed on within a stage, by its name. */
  readonly handedOn: Map<string, TraceContext>;
  lastSpeechAt: number | undefined;
}

/** How a turn begins; times of the monotonic clock. */
export interface Beginning {
  readonly source: string;
  /** The last sample of the wake phrase, and the wake event. */
  readonly began: number;
  readonly now: number;
  readonly wakeword?: string | undefined;
  /** Trace of the requester. */
  readonly trace?: TraceContext | undefined;
}

const SPANS = 32;

/** The latest turns, each with where its time went: one turn is one trace. */
export class Traces {
  readonly #rows = new Map<string, Row>();
  readonly #bound: number;
  readonly #tracer: Tracer;

  readonly #measures: Omit<Measures, 'meter'> | undefined;

  constructor(bound: number, tracer: Tracer, measures?: Omit<Measures, 'meter'>) {
    this.#bound = bound;
    this.#tracer = tracer;
    this.#measures = measures;
  }

  begin(turn: string, { source, began, now, wakeword, trace: parent }: Beginning): void {
    const wakeMs = Math.max(0, now - began);
    const at = Math.round(Date.now() - wakeMs);
    const row: Writable = { turn, at, source, outcome: 'running', spans: [] };
    if (wakeword !== undefined) row.wakeword = wakeword;
    const trace = this.#tracer.on ? { parent, context: this.#tracer.context(parent) } : undefined;
    if (trace) row.trace = trace.context.traceId;
    const handedOn = new Map<string, TraceContext>();
    this.#rows.set(turn, { turn: row, began: now - wakeMs, wakeMs, trace, handedOn, lastSpeechAt: undefined });
    if (wakeword !== undefined) this.span(turn, 'wake', now - wakeMs, now);
    for (const id of this.#rows.keys()) {
      if (this.#rows.size <= this.#bound) break;
      this.#rows.delete(id);
    }
  }

  /** Times of the monotonic clock. */
  span(turn: string, name: string, from: number, to: number, note?: string): void {
    const row = this.#rows.get(turn);
    if (!row || row.turn.spans.length >= SPANS) return;
    const since = (at: number) => Math.round(10 * (at - row.began)) / 10;
    this.#measures?.stage(name, to - from);
    row.turn.spans.push({ name, from: since(from), to: since(to), ...maybe({ note }) });
  }

  /** The context of what is asked of others in a stage. */
  handOn(turn: string, stage: string): TraceContext | undefined {
    const row = this.#rows.get(turn);
    if (!row?.trace) return undefined;
    const context = row.handedOn.get(stage) ?? this.#tracer.context(row.trace.context);
    row.handedOn.set(stage, context);
    return context;
  }

  /** The turn is over. What was heard and said is not told. */
  over(turn: string, now: number): void {
    const row = this.#rows.get(turn);
    if (!row?.trace) return;
    const { context, parent } = row.trace;
    for (const { name, from, to } of row.turn.spans) {
      const own = row.handedOn.get(name) ?? this.#tracer.context(context);
      this.#tracer.tell({ ...own, parent: context.spanId, name, began: row.began + from, ms: to - from });
    }
    const { source, outcome, code, stage, engine, plan, latencyMs } = row.turn;
    const known = { turn, source, outcome, stage, engine, intent: plan?.intent, latencyMs };
    this.#tracer.tell({
      ...context,
      ...(parent ? { parent: parent.spanId } : { root: true }),
      name: 'voice.turn',
      began: row.began,
      ms: now - row.began,
      ...(outcome === 'failed' && { error: code ?? 'INTERNAL' }),
      attributes: Object.fromEntries(Object.entries(known).filter(([, value]) => value !== undefined)) as NonNullable<
        Span['attributes']
      >,
    });
  }

  set(turn: string, facts: Partial<Omit<VoiceTurn, 'turn' | 'spans'>>): void {
    const row = this.#rows.get(turn);
    if (!row) return;
    const { outcome = 'running' } = facts;
    if (row.turn.outcome === 'running' && outcome !== 'running') this.#measures?.over(outcome);
    Object.assign(row.turn, facts);
  }

  lastSpeech(turn: string, at: number): void {
    const row = this.#rows.get(turn);
    if (row) row.lastSpeechAt = at;
  }

  /** The first sample of the answer: the latency as design/voice.md defines it. */
  answered(turn: string, at: number): void {
    const row = this.#rows.get(turn);
    if (row?.lastSpeechAt === undefined) return;
    if (row.turn.latencyMs === undefined) this.#measures?.latency(row.wakeMs + Math.max(0, at - row.lastSpeechAt));
    row.turn.latencyMs = Math.round(10 * (row.wakeMs + Math.max(0, at - row.lastSpeechAt))) / 10;
  }

  find(turn: string): VoiceTurn | undefined {
    const row = this.#rows.get(turn);
    return row && { ...row.turn, spans: [...row.turn.spans] };
  }

  /** Newest first. */
  newest(limit: number): readonly VoiceTurn[] {
    return [...this.#rows.keys()]
      .slice(-limit)
      .reverse()
      .map((turn) => this.find(turn)!);
  }
}
