/** From what was said to what is answered: understanding, doing, and the words for what went wrong. */
import { CoreError, type ErrorCode, maybe, reasonOf, type Scope } from '@device-core/plugin-api';
import { monotonicMs } from '@device-core/plugin-api/services/audio';
import type { IntentAnswer, IntentPlan, Intents } from '@device-core/plugin-api/services/intents';
import type { Questions } from './question.ts';
import type { Reading } from './reading.ts';
import type { Router, Step, Understood } from './router.ts';
import type { Traces } from './traces.ts';
import type { Heard, Utterance } from './utterance.ts';

/** Texts spoken where no app says anything. */
export interface Prompts {
  readonly notUnderstood: string;
  readonly unsure: string;
  /** `{a}` and `{b}` stand for the two candidates. */
  readonly ambiguous?: string;
  readonly noSuchThing: string;
  readonly offline: string;
  readonly failed: string;
  readonly late: string;
}

export interface Told {
  readonly outcome: 'answered' | 'refused' | 'failed';
  readonly code?: ErrorCode;
  readonly say?: string;
  readonly followUp?: boolean;
}

export interface ThinkerParts {
  readonly scope: Scope;
  readonly traces: Traces;
  readonly router: Router;
  /** Throws SERVICE_MISSING. */
  readonly intents: () => Intents;
  readonly questions: Questions;
  readonly language: string;
  readonly callMs: number;
  readonly prompts: Prompts;
  /** The words of a turn are known. */
  readonly final: (turn: string, heard: Heard, latencyMs: number) => void;
}

export class Thinker {
  readonly #parts: ThinkerParts;
  /** Answers that came when nobody waited any more. */
  late = 0;

  constructor(parts: ThinkerParts) {
    this.#parts = parts;
  }

  /** Undefined: nothing was said. Rejects with CANCELLED when the turn is over. */
  async hear(utterance: Utterance, turn: string, signal: AbortSignal): Promise<Told | undefined> {
    const { router, traces, final } = this.#parts;
    const from = monotonicMs();
    traces.lastSpeech(turn, utterance.lastSpeechAt);
    traces.span(turn, 'endpoint', utterance.lastSpeechAt, from, utterance.complete);
    let understood: Understood;
    try {
      understood = await router.understand(utterance, turn, signal);
    } finally {
      utterance.abort();
    }
    const { reading, route } = understood;
    const now = monotonicMs();
    const sttAt = ('matched' in reading ? reading.matched?.[0] : undefined) ?? now;
    traces.span(turn, 'stt', from, sttAt, told(route));
    if (reading.outcome === 'empty') return undefined;
    if (reading.outcome !== 'failed') {
      const { heard, matched } = reading;
      if (matched) traces.span(turn, 'intent', ...matched);
      const { text, stage, engine, nearest, confidence, unsure, close } = heard;
      traces.set(turn, { heard: text, stage, engine, ...maybe({ nearest, confidence, unsure, close }) });
      final(turn, heard, Math.max(0, Math.round(now - utterance.lastSpeechAt)));
    }
    return this.#answer(reading, turn, signal, route.at(-1)?.refusal);
  }

  /** The same for text that was never speech. */
  async read(text: string, turn: string, signal: AbortSignal): Promise<Told> {
    const { router, language, traces, scope, callMs } = this.#parts;
    const from = monotonicMs();
    traces.set(turn, { heard: text });
    const heard: Heard = { text, language, engine: 'text', stage: 'local' };
    try {
      const reading = await scope.within('the intents', callMs, () => router.meaning(heard, turn, signal), { signal });
      traces.span(turn, 'intent', from, monotonicMs());
      return await this.#answer(reading, turn, signal, undefined);
    } catch (error) {
      return this.#failure(error);
    }
  }

  async #answer(reading: Reading, turn: string, signal: AbortSignal, refusal: string | undefined): Promise<Told> {
    const { prompts, questions } = this.#parts;
    switch (reading.outcome) {
      case 'plan':
        return this.#run(reading.plan, turn, signal).finally(() => questions.close());
      case 'ambiguous': {
        const say = await questions.ask(reading.candidates.slice(0, 2));
        return say === undefined
          ? { outcome: 'refused', say: prompts.unsure }
          : { outcome: 'refused', say, followUp: true };
      }
      case 'none': {
        const words = {
          'no-intent': prompts.noSuchThing,
          unsure: prompts.unsure,
          'out-of-grammar': prompts.notUnderstood,
        };
        return { outcome: 'refused', say: words[reading.reason] };
      }
      case 'failed':
        return {
          outcome: 'failed',
          code: reading.code,
          say: refusal?.endsWith('offline') ? prompts.offline : prompts.failed,
        };
      case 'empty':
        return { outcome: 'refused', say: prompts.notUnderstood };
    }
  }

  async #run(plan: IntentPlan, turn: string, signal: AbortSignal): Promise<Told> {
    const { scope, traces, callMs, intents } = this.#parts;
    traces.set(turn, { plan });
    const from = monotonicMs();
    let running: Promise<IntentAnswer> | undefined;
    try {
      // The app is told the same deadline, and hears of the end of the turn.
      const trace = traces.handOn(turn, 'call');
      const called = intents().run(plan, { turn, signal, deadline: scope.clock.steady() + callMs, trace });
      running = called;
      const answer = await scope.within(plan.title, callMs, () => called, { signal });
      traces.span(turn, 'call', from, monotonicMs());
      const { say, followUp } = answer;
      return { outcome: 'answered', ...(say && { say }), ...(followUp && { followUp }) };
    } catch (error) {
      traces.span(turn, 'call', from, monotonicMs(), reasonOf(error));
      if (running && (signal.aborted || isTimeout(error))) this.#listenLate(running, turn);
      signal.throwIfAborted();
      return this.#failure(error);
    }
  }

  /** An answer after the end is dropped, and noted in the trace. */
  #listenLate(running: Promise<IntentAnswer>, turn: string): void {
    const note = () => {
      this.late++;
      const now = monotonicMs();
      this.#parts.traces.span(turn, 'late', now, now, 'an answer came after the end, and was dropped');
    };
    running.then(note, () => undefined); // its failure was told already
  }

  #failure(error: unknown): Told {
    const { prompts } = this.#parts;
    const code = error instanceof CoreError ? error.code : 'INTERNAL';
    if (code === 'INTENT_NOT_FOUND') return { outcome: 'refused', code, say: prompts.noSuchThing };
    return { outcome: 'failed', code, say: code === 'TIMEOUT' ? prompts.late : prompts.failed };
  }
}

/** The stages after the first, with the reason why each was due; undefined where the first was enough. */
function told(route: readonly Step[]): string | undefined {
  const steps = route
    .filter(({ rule, refusal }) => rule !== undefined || refusal !== undefined)
    .map(({ stage, rule, refusal }) => {
      const why = rule === undefined ? stage : `${stage} for ${rule}`;
      return refusal === undefined ? why : `${why}, not asked: ${refusal}`;
    });
  return steps.length === 0 ? undefined : steps.join('; ');
}

function isTimeout(error: unknown): boolean {
  return error instanceof CoreError && error.code === 'TIMEOUT';
}
