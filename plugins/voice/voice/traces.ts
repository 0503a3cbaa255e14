import type { VoiceSpan, VoiceTurn } from '@device-core/plugin-api';

type Writable = { -readonly [K in keyof VoiceTurn]: VoiceTurn[K] } & { spans: VoiceSpan[] };

interface Row {
  readonly turn: Writable;
  /** Monotonic. */
  readonly began: number;
  /** Between the last sample of the wake phrase and the wake event. */
  readonly wakeMs: number;
  lastSpeechAt: number | undefined;
}

const SPANS = 32;

/** The latest turns, each with where its time went. */
export class Traces {
  readonly #rows = new Map<string, Row>();
  readonly #bound: number;

  constructor(bound: number) {
    this.#bound = bound;
  }

  /** `began` and `now` on the monotonic clock: the last sample of the wake phrase, and the wake event. */
  begin(turn: string, source: string, began: number, now: number, wakeword?: string): void {
    const wakeMs = Math.max(0, now - began);
    const at = Math.round(Date.now() - wakeMs);
    const row: Writable = { turn, at, source, outcome: 'running', spans: [] };
    if (wakeword !== undefined) row.wakeword = wakeword;
    this.#rows.set(turn, { turn: row, began: now - wakeMs, wakeMs, lastSpeechAt: undefined });
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
    row.turn.spans.push({ name, from: since(from), to: since(to), ...(note !== undefined && { note }) });
  }

  set(turn: string, facts: Partial<Omit<VoiceTurn, 'turn' | 'spans'>>): void {
    const row = this.#rows.get(turn);
    if (row) Object.assign(row.turn, facts);
  }

  lastSpeech(turn: string, at: number): void {
    const row = this.#rows.get(turn);
    if (row) row.lastSpeechAt = at;
  }

  /** The first sample of the answer: the latency as design/voice.md defines it. */
  answered(turn: string, at: number): void {
    const row = this.#rows.get(turn);
    if (row?.lastSpeechAt === undefined) return;
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
