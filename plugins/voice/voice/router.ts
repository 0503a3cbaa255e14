/**
 * Routes speech to engines: the local engine first, the cloud where that is not enough and where it may be asked at
 * all.
 */

import { CoreError, type ErrorCode, reasonOf, type Scope } from '@device-core/plugin-api';
import { type AudioFrame, FRAME_SAMPLES, monotonicMs } from '@device-core/plugin-api/services/audio';
import type { IntentPlan, Intents } from '@device-core/plugin-api/services/intents';
import type { Speech, Transcript } from '@device-core/plugin-api/services/speech';
import type { TraceContext } from '@device-core/plugin-api/tracing';
import type { Budget } from './budget.ts';
import type { Ledger } from './ledger.ts';
import { Others } from './others.ts';
import type { Heard, Utterance } from './utterance.ts';

export interface RouterSettings {
  readonly language: string;
  /** Local engines are asked. */
  readonly local: boolean;
  /** Nothing ever leaves the device. */
  readonly localOnly: boolean;
  /** A local result with less confidence is not believed. */
  readonly unsureBelow: number;
  /** The cloud is asked as well when the local result takes longer; 0: never. */
  readonly hedgeMs: number;
  readonly localMs: number;
  readonly cloudMs: number;
  /** Length of one command at most. */
  readonly mostSeconds: number;
}

interface Words {
  readonly heard: Heard;
  /** When the intents were asked, and answered. */
  readonly matched?: readonly [from: number, to: number];
}

/** Meaning of one engine's words. */
export type Reading =
  | (Words & { readonly outcome: 'plan'; readonly plan: IntentPlan })
  | (Words & { readonly outcome: 'ambiguous'; readonly candidates: readonly IntentPlan[] })
  | (Words & { readonly outcome: 'none'; readonly reason: 'out-of-grammar' | 'unsure' | 'no-intent' })
  /** There were no words. */
  | { readonly outcome: 'empty' }
  | { readonly outcome: 'failed'; readonly code: ErrorCode; readonly reason: string };

export type Rule = 'local-disabled' | 'unsure' | 'out-of-grammar' | 'no-intent' | 'local-failed' | 'hedge';

export interface Understood {
  readonly reading: Reading;
  /** Why the cloud was asked, or would have been; `refusal`: why not. */
  readonly cloud?: { readonly rule: Rule; readonly refusal?: string };
}

/** A turn that should have gone to the cloud and did not: told, not kept. */
export interface Unsent {
  readonly at: number;
  readonly turn: string;
  readonly rule: Rule;
  readonly reason: string;
}

export interface RouterParts {
  readonly scope: Scope;
  readonly settings: RouterSettings;
  readonly ledger: Ledger;
  readonly budget: Budget;
  /** Throws SERVICE_MISSING. */
  readonly speech: () => Speech;
  /** Throws SERVICE_MISSING. */
  readonly intents: () => Intents;
  /** The user's own word, beside that of the configuration. */
  readonly localOnly: () => boolean;
  readonly online: () => boolean;
  readonly prefix: readonly string[];
  readonly partial: (turn: string, transcript: Transcript) => void;
  readonly trace?: (turn: string) => TraceContext | undefined;
}

const FRAME_BYTES = FRAME_SAMPLES * 2;
const UNSENT = 50;

export class Router {
  readonly #parts: RouterParts;
  /** Utterances for which somebody in the cloud was asked. */
  readonly #asked = new WeakSet<Utterance>();
  readonly #early = new WeakMap<Utterance, Promise<Reading>>();
  readonly #others: Others;
  #unsent: Unsent[] = [];

  constructor(parts: RouterParts) {
    this.#parts = parts;
    const { scope, settings, ledger, intents } = parts;
    this.#others = new Others({
      scope,
      language: settings.language,
      intents,
      note: (entry) => ledger.append(entry),
      refusal: () => this.#refusal(0),
      failed: (turn, stage, reason) => stage === 'cloud' && this.#tell(turn, 'no-intent', reason),
    });
  }

  /** Newest first. */
  get unsent(): readonly Unsent[] {
    return this.#unsent.toReversed();
  }

  /** A command begins: without local engines the cloud follows it from the start. */
  open(utterance: Utterance, turn: string): void {
    // Nobody knows how long it will be: where the budget might not do for it, it is asked for when it is over.
    if (utterance.local || this.#refusal(this.#parts.settings.mostSeconds) !== undefined) return;
    this.#early.set(utterance, this.#cloud(utterance, turn, 'local-disabled', utterance.signal));
  }

  /** Meaning of the utterance, when it is over. Rejects with CANCELLED only. */
  async understand(utterance: Utterance, turn: string, signal: AbortSignal): Promise<Understood> {
    const { settings } = this.#parts;
    if (!utterance.local) return this.#cloudAlone(utterance, turn, signal);
    const local = this.#local(utterance.local, turn, signal);
    const first = settings.hedgeMs > 0 && !this.#barred ? await this.#before(local, settings.hedgeMs) : await local;
    signal.throwIfAborted();
    if (first && (enough(first) || first.outcome === 'empty')) return { reading: first };
    const rule = first ? ruleOf(first) : 'hedge';
    const refusal = this.#refusal(utterance.seconds);
    if (refusal !== undefined) return this.#withoutCloud(await local, turn, rule, refusal);
    const reading = await this.#both(utterance, turn, rule, local, first, signal);
    signal.throwIfAborted();
    // A device without a cloud has asked nobody, whatever the rule would have been.
    return this.#asked.has(utterance) ? { reading, cloud: { rule } } : { reading };
  }

  async #cloudAlone(utterance: Utterance, turn: string, signal: AbortSignal): Promise<Understood> {
    const rule = 'local-disabled';
    const refusal = this.#refusal(utterance.seconds);
    const early = this.#early.get(utterance);
    if (!early && refusal !== undefined) {
      const reading = { outcome: 'failed', code: 'ENGINE_MISSING', reason: refusal } as const;
      return this.#withoutCloud(reading, turn, rule, refusal);
    }
    const reading = await (early ?? this.#cloud(utterance, turn, rule, signal));
    signal.throwIfAborted();
    return { reading, cloud: { rule } };
  }

  /** Words that mean something win, whoever has them first; else those of the cloud. */
  async #both(
    utterance: Utterance,
    turn: string,
    rule: Rule,
    local: Promise<Reading>,
    first: Reading | undefined,
    signal: AbortSignal,
  ): Promise<Reading> {
    const stop = new AbortController();
    try {
      if (first) {
        // Words are asked about before the sound: they are less to send, and it is well known what they are.
        const meant = first.outcome === 'none' && (await this.#meant(first, turn, 'cloud', signal));
        if (meant) {
          this.#asked.add(utterance);
          return meant;
        }
        const reading = await this.#cloud(utterance, turn, rule, AbortSignal.any([signal, stop.signal]));
        return reading.outcome === 'failed' || (reading.outcome === 'empty' && first.outcome !== 'failed')
          ? first
          : reading;
      }
      const cloud = this.#cloud(utterance, turn, rule, AbortSignal.any([signal, stop.signal]));
      const { promise: earlier, resolve, reject } = Promise.withResolvers<Reading | undefined>();
      for (const one of [local, cloud]) one.then((reading) => resolve(enough(reading) ? reading : undefined), reject);
      const winner = await earlier;
      if (winner) return winner;
      const [ours, theirs] = await Promise.all([local, cloud]);
      if (enough(ours)) return ours;
      return theirs.outcome === 'failed' ? ours : theirs;
    } finally {
      stop.abort(new CoreError('CANCELLED', { what: 'the transcription', reason: 'another engine was first' }));
    }
  }

  #withoutCloud(reading: Reading, turn: string, rule: Rule, refusal: string): Understood {
    // A user who bars the cloud does not get a report at each turn.
    if (!this.#barred) this.#tell(turn, rule, refusal);
    return { reading, cloud: { rule, refusal } };
  }

  /** The rest of the local transcription; never rejects. */
  async #local(work: Promise<Heard>, turn: string, signal: AbortSignal): Promise<Reading> {
    const { scope, settings } = this.#parts;
    try {
      work.catch(() => undefined); // nobody looks at it where the turn is over
      const heard = await scope.within('the local transcription', settings.localMs, () => work, { signal });
      if (heard.text === '' && heard.inGrammar !== false) return { outcome: 'empty' };
      if (heard.inGrammar === false) return { outcome: 'none', heard, reason: 'out-of-grammar' };
      if ((heard.confidence ?? 1) < settings.unsureBelow) return { outcome: 'none', heard, reason: 'unsure' };
      const reading = await this.#read(heard);
      return (await this.#meant(reading, turn, 'local', signal)) ?? reading;
    } catch (error) {
      return failed(error);
    }
  }

  /** Sends the utterance, and writes down that it does, before; never rejects. */
  async #cloud(utterance: Utterance, turn: string, rule: Rule, signal: AbortSignal): Promise<Reading> {
    const { scope, settings, ledger, budget, prefix, partial } = this.#parts;
    const { language } = settings;
    const at = Date.now();
    try {
      const speech = this.#parts.speech();
      const engines = await scope.within('the list of engines', settings.cloudMs, () => speech.list('stt'), { signal });
      const ranked = engines
        .filter((one) => one.stage === 'cloud' && one.rank !== undefined && speaks(one.languages, language))
        .toSorted((one, other) => one.rank! - other.rank!);
      // One that failed may be well again: who is asked finds out.
      const engine = ranked.find(({ problem }) => problem === undefined) ?? ranked[0];
      const missing = new CoreError('ENGINE_MISSING', { kind: 'stt', reason: 'there is none in the cloud' });
      // A device that has no cloud, and needs none, is not told each time that nothing was sent.
      if (!engine && utterance.local) return failed(missing);
      if (!engine) throw missing;
      this.#asked.add(utterance);
      const entry = { turn, to: `${engine.id} (${engine.title})`, what: 'audio', rule } as const;
      let told = 0;
      const tell = async (frames: number) => {
        told += frames;
        await ledger.append({ ...entry, bytes: frames * FRAME_BYTES });
        await budget.spend((frames * FRAME_SAMPLES) / 16_000, Date.now());
      };
      const work = speech.transcribe(
        toldFirst(utterance, tell, () => this.#allow(), signal),
        {
          language,
          prefix,
          partial: (transcript) => partial(turn, transcript),
          signal,
          stage: 'cloud',
          engine: engine.id,
          trace: this.#parts.trace?.(turn),
        },
      );
      const whole = work.finally(async () => {
        // Speech sent after the first entry of the ledger is entered at the end.
        if (told > 0 && utterance.sent > told) await tell(utterance.sent - told);
      });
      whole.catch(() => undefined); // looked at below, when the utterance is over
      // The clock runs from the end of the utterance; nothing waits longer than the turn.
      await utterance.whole;
      const heard = await scope.within('the cloud transcription', settings.cloudMs, () => whole, { signal });
      if (heard.text === '') return { outcome: 'empty' };
      const reading = await this.#read(heard);
      return (await this.#meantBy(reading, turn, signal)) ?? reading;
    } catch (error) {
      if (!signal.aborted) this.#tell(turn, rule, reasonOf(error), at);
      return failed(error);
    }
  }

  /**
   * Meaning of words that were never speech: by our sentences, by local interpreters, and by those in the cloud.
   * Rejects with CANCELLED, SERVICE_MISSING.
   */
  async meaning(heard: Heard, turn: string, signal: AbortSignal): Promise<Reading> {
    const reading = await this.#read(heard);
    return (await this.#meantBy(reading, turn, signal)) ?? reading;
  }

  async #meantBy(reading: Reading, turn: string, signal: AbortSignal): Promise<Reading | undefined> {
    return (await this.#meant(reading, turn, 'local', signal)) ?? (await this.#meant(reading, turn, 'cloud', signal));
  }

  /**
   * Meaning of other interpreters for words outside our sentences; undefined where they do not know. Rejects with
   * CANCELLED.
   */
  async #meant(
    reading: Reading,
    turn: string,
    stage: 'local' | 'cloud',
    signal: AbortSignal,
  ): Promise<Reading | undefined> {
    if (reading.outcome !== 'none' || reading.reason !== 'no-intent') return undefined;
    const { heard, matched } = reading;
    const ms = stage === 'local' ? this.#parts.settings.localMs : this.#parts.settings.cloudMs;
    const match = await this.#others.ask(heard.text, { turn, stage, rule: 'no-intent', ms, signal });
    if (!match) return undefined;
    return { outcome: 'plan', plan: match.plan, heard, matched: [matched?.[0] ?? monotonicMs(), monotonicMs()] };
  }

  async #read(heard: Heard): Promise<Reading> {
    const from = monotonicMs();
    const match = await this.#parts.intents().match(heard.text, { language: this.#parts.settings.language });
    const words = { heard, matched: [from, monotonicMs()] as const };
    if (match.outcome === 'plan') return { ...words, outcome: 'plan', plan: match.plan };
    if (match.outcome === 'ambiguous') return { ...words, outcome: 'ambiguous', candidates: match.candidates };
    return { ...words, outcome: 'none', reason: 'no-intent' };
  }

  get #barred(): boolean {
    return this.#parts.settings.localOnly || this.#parts.localOnly();
  }

  /** Throws CANCELLED: the user has said so meanwhile. */
  #allow(): void {
    if (this.#barred)
      throw new CoreError('CANCELLED', { what: 'the cloud transcription', reason: 'the device is set to local only' });
  }

  /** Why nothing may be sent now. */
  #refusal(seconds: number): string | undefined {
    if (this.#barred) return 'the device is set to local only';
    if (!this.#parts.online()) return 'the device is offline';
    return this.#parts.budget.refusal(seconds, Date.now());
  }

  #tell(turn: string, rule: Rule, reason: string, at = Date.now()): void {
    this.#unsent = [...this.#unsent.slice(1 - UNSENT), { at, turn, rule, reason }];
  }

  /** Undefined where it takes longer, or nobody waits any more. */
  #before<T>(work: Promise<T>, ms: number): Promise<T | undefined> {
    return this.#parts.scope.within('hedge', ms, () => work).catch(() => undefined);
  }
}

/**
 * The utterance, of which nothing is given before it has been written down that it is, and nothing more from when it is
 * not allowed any more.
 */
async function* toldFirst(
  utterance: Utterance,
  tell: (frames: number) => Promise<void>,
  allow: () => void,
  signal: AbortSignal,
): AsyncGenerator<AudioFrame> {
  await tell(utterance.sent);
  if (signal.aborted) return;
  for await (const frame of utterance.followCalled()) {
    allow();
    yield frame;
  }
}

function enough({ outcome }: Reading): boolean {
  return outcome === 'plan' || outcome === 'ambiguous';
}

function ruleOf(reading: Reading): Rule {
  return reading.outcome === 'none' ? reading.reason : 'local-failed';
}

function speaks(languages: readonly string[], language: string): boolean {
  return languages.length === 0 || languages.some((one) => one === language || one === language.split('-')[0]);
}

function failed(error: unknown): Reading {
  const code = error instanceof CoreError ? error.code : 'INTERNAL';
  return { outcome: 'failed', code, reason: reasonOf(error) };
}
