/** An engine of the device, or the first that is well. */
import { CoreError, maybe, type Scope } from '@device-core/plugin-api';
import type { Intents } from '@device-core/plugin-api/services/intents';
import type { Speech, SpeechGrammar } from '@device-core/plugin-api/services/speech';
import type { Meanings } from './meanings.ts';
import { failed, type Reading, sameMeaning } from './reading.ts';
import type { Call, Stage } from './stage.ts';
import type { Heard, Utterance } from './utterance.ts';

export interface LocalSettings {
  /** Absent: the first of the order that is well. */
  readonly engine?: string;
  /** Milliseconds after the end of the command. */
  readonly ms: number;
  /** A result with less confidence is not believed. */
  readonly unsureBelow: number;
  /** Seconds of commands that it is given in an hour at most. */
  readonly secondsPerHour?: number;
  /** It hears the command while it is said, whether or not it will be needed. */
  readonly along?: boolean;
}

export interface LocalParts {
  readonly scope: Scope;
  readonly language: string;
  readonly prefix: readonly string[];
  /** Throws SERVICE_MISSING. */
  readonly speech: () => Speech;
  readonly grammar: () => SpeechGrammar | undefined;
  readonly intents: () => Intents;
  readonly meanings: Meanings;
}

type Planned = Extract<Reading, { readonly outcome: 'plan' }>;

const HOUR_MS = 3_600_000;

export class LocalStage implements Stage {
  readonly hedgeMs = 0;
  readonly name: string;
  readonly #settings: LocalSettings;
  readonly #parts: LocalParts;
  readonly #first: boolean;
  readonly #along = new WeakMap<Utterance, Promise<Heard>>();
  #hour = Number.NEGATIVE_INFINITY;
  #spent = 0;

  /** The first stage hears from the onset of speech: its engine was begun with the utterance. */
  constructor(settings: LocalSettings, parts: LocalParts, first: boolean) {
    this.#first = first;
    this.name = settings.engine ?? 'local';
    this.#settings = settings;
    this.#parts = parts;
  }

  open(utterance: Utterance): void {
    if (this.#first || !this.#settings.along || this.refusal(utterance) !== undefined) return;
    const work = this.#transcribe(utterance, utterance.signal);
    work.catch(() => undefined); // read on demand, and often not at all
    this.#along.set(utterance, work);
  }

  refusal({ seconds }: Utterance): string | undefined {
    const { secondsPerHour } = this.#settings;
    if (secondsPerHour === undefined) return undefined;
    const now = this.#parts.scope.clock.monotonic();
    if (now - this.#hour >= HOUR_MS) [this.#hour, this.#spent] = [now, 0];
    return this.#spent + seconds > secondsPerHour ? `the ${secondsPerHour} s of the hour are used up` : undefined;
  }

  refused(): void {
    // The trace of the turn tells it.
  }

  reached(): boolean {
    return true;
  }

  async ask({ utterance, turn, signal }: Call): Promise<Reading> {
    const { ms, unsureBelow } = this.#settings;
    const { scope, meanings } = this.#parts;
    this.#spent += utterance.seconds;
    const over = new AbortController();
    try {
      const within = AbortSignal.any([signal, over.signal]);
      const own = this.#first ? utterance.local : this.#along.get(utterance);
      const work = own ?? this.#transcribe(utterance, within);
      work.catch(() => undefined); // its failure counts for nothing where the turn is over
      const heard = await scope.within('the local transcription', ms, () => work, { signal });
      if (heard.text === '' && heard.inGrammar !== false) return { outcome: 'empty' };
      if (heard.inGrammar === false) return { outcome: 'none', heard, reason: 'out-of-grammar' };
      if ((heard.confidence ?? 1) < unsureBelow) return { outcome: 'none', heard, reason: 'unsure' };
      const reading = await meanings.ofLocal(heard, turn, signal);
      return await this.#sure(reading, utterance, turn, within);
    } catch (error) {
      return failed(error);
    } finally {
      over.abort(new CoreError('CANCELLED', { what: 'the transcription', reason: 'its time is over' }));
    }
  }

  /** The person is asked where another meaning is close, where a value is in doubt, and where a second opinion differs. */
  async #sure(reading: Reading, utterance: Utterance, turn: string, signal: AbortSignal): Promise<Reading> {
    if (reading.outcome !== 'plan') return reading;
    const { heard, plan } = reading;
    const other = heard.close ?? (heard.doubtful ? '' : await this.#opinion(reading, utterance, signal));
    if (other === undefined) return reading;
    const matched = await this.#parts.meanings.ofLocal({ ...heard, text: other }, turn, signal);
    const second = matched.outcome === 'plan' ? [matched.plan] : [];
    if (second.some((one) => sameMeaning(one, plan))) return reading;
    return {
      ...reading,
      outcome: 'ambiguous',
      heard: { ...heard, ...maybe({ close: other || undefined }) },
      candidates: [plan, ...second],
    };
  }

  /** Other words that a second opinion has on what is not idempotent: empty where it understands nothing. */
  async #opinion({ heard, plan }: Planned, utterance: Utterance, signal: AbortSignal): Promise<string | undefined> {
    if (plan.idempotent) return undefined;
    const { scope, speech } = this.#parts;
    const engines = await speech().list('stt');
    if (!engines.some(({ id, hearsAgain }) => id === heard.engine && hearsAgain)) return undefined;
    const work = () => this.#transcribe(utterance, signal, true);
    const { text } = await scope.within('the second opinion', this.#settings.ms, work, { signal });
    return text === heard.text ? undefined : text;
  }

  #transcribe(utterance: Utterance, signal: AbortSignal, again = false): Promise<Heard> {
    const { speech, grammar, language, prefix, intents } = this.#parts;
    const rivals = again ? undefined : (text: string) => intents().rivals(text, { language });
    const { engine } = this.#settings;
    const optional = maybe({ grammar: grammar(), engine, rivals, again: again || undefined });
    const asked = { language, prefix, signal, stage: 'local', ...optional } as const;
    return speech().transcribe(utterance.follow(), asked);
  }
}
