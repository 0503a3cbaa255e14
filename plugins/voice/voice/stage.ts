/** A place where an utterance is understood. The router asks one after the other, and knows of none what it is. */
import type { Reading, Rule } from './reading.ts';
import type { Utterance } from './utterance.ts';

export interface Call {
  readonly utterance: Utterance;
  readonly turn: string;
  /** Why it is asked. */
  readonly rule: Rule;
  /** Reading of the stages before, as far as there is one. */
  readonly before: Reading | undefined;
  readonly signal: AbortSignal;
}

export interface Stage {
  /** For the trace: the engine, or where it is. */
  readonly name: string;
  /** It is asked as well when those before take longer; 0: when they have answered. */
  readonly hedgeMs: number;
  /** A command has begun: it may follow it from the start. `first`: no stage comes before. */
  open(utterance: Utterance, turn: string, first: boolean): void;
  /** Why it may not be asked now. */
  refusal(utterance: Utterance): string | undefined;
  /** It was due and not asked. */
  refused(turn: string, rule: Rule, reason: string): void;
  /** Never rejects. */
  ask(call: Call): Promise<Reading>;
  /** The question reached an engine: a device without one has asked nobody, whatever the rule would have been. */
  reached(utterance: Utterance): boolean;
}
