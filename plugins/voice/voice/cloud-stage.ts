/** Engines that the sound is sent to: written down before, bounded, and never against the user's word. */
import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';
import { type AudioFrame, FRAME_SAMPLES } from '@device-core/plugin-api/services/audio';
import type { EngineInfo, Speech, Transcript } from '@device-core/plugin-api/services/speech';
import type { TraceContext } from '@device-core/plugin-api/tracing';
import type { Budget } from './budget.ts';
import type { Ledger } from './ledger.ts';
import type { Meanings } from './meanings.ts';
import { failed, type Reading, type Rule } from './reading.ts';
import type { Call, Stage } from './stage.ts';
import type { Utterance } from './utterance.ts';

export interface CloudSettings {
  readonly language: string;
  /** Nothing ever leaves the device. */
  readonly localOnly: boolean;
  /** The cloud is asked as well when the local result takes longer; 0: never. */
  readonly hedgeMs: number;
  readonly cloudMs: number;
  /** Length of one command at most. */
  readonly mostSeconds: number;
}

/** A turn that should have gone to the cloud and did not: told, not kept. */
export interface Unsent {
  readonly at: number;
  readonly turn: string;
  readonly rule: Rule;
  readonly reason: string;
}

export interface CloudParts {
  readonly scope: Scope;
  readonly settings: CloudSettings;
  readonly ledger: Ledger;
  readonly budget: Budget;
  /** Throws SERVICE_MISSING. */
  readonly speech: () => Speech;
  /** The user's own word, beside that of the configuration. */
  readonly localOnly: () => boolean;
  readonly online: () => boolean;
  readonly prefix: readonly string[];
  readonly partial: (turn: string, transcript: Transcript) => void;
  readonly trace?: ((turn: string) => TraceContext | undefined) | undefined;
}

const FRAME_BYTES = FRAME_SAMPLES * 2;
const UNSENT = 50;

export class CloudStage implements Stage {
  readonly name = 'cloud';
  readonly #parts: CloudParts;
  /** Asks interpreters, which ask this stage whether text may be sent. */
  meanings: Meanings | undefined;
  /** Utterances for which somebody in the cloud was asked. */
  readonly #asked = new WeakSet<Utterance>();
  readonly #early = new WeakMap<Utterance, Promise<Reading>>();
  #unsent: Unsent[] = [];

  constructor(parts: CloudParts) {
    this.#parts = parts;
  }

  /** Newest first. */
  get unsent(): readonly Unsent[] {
    return this.#unsent.toReversed();
  }

  get hedgeMs(): number {
    return this.#barred ? 0 : this.#parts.settings.hedgeMs;
  }

  /** Without a stage before, the cloud follows the command from its start. */
  open(utterance: Utterance, turn: string, first: boolean): void {
    // Nobody knows how long it will be: where the budget might not do for it, it is asked for when it is over.
    if (!first || this.textRefusal(this.#parts.settings.mostSeconds) !== undefined) return;
    const { signal } = utterance;
    this.#early.set(utterance, this.#send({ utterance, turn, rule: 'local-disabled', before: undefined, signal }));
  }

  refusal(utterance: Utterance): string | undefined {
    return this.#early.has(utterance) ? undefined : this.textRefusal(utterance.seconds);
  }

  /** Why nothing may be sent now. */
  textRefusal(seconds: number): string | undefined {
    if (this.#barred) return 'the device is set to local only';
    if (!this.#parts.online()) return 'the device is offline';
    return this.#parts.budget.refusal(seconds, Date.now());
  }

  refused(turn: string, rule: Rule, reason: string): void {
    // A user who bars the cloud does not get a report at each turn.
    if (!this.#barred) this.tell(turn, rule, reason);
  }

  reached(utterance: Utterance): boolean {
    return this.#asked.has(utterance);
  }

  async ask(call: Call): Promise<Reading> {
    const { utterance, turn, before, signal } = call;
    const early = this.#early.get(utterance);
    if (early) return early;
    try {
      // Words are asked about before the sound: they are less to send, and it is well known what they are.
      const meant = before && (await this.meanings?.by('cloud', before, turn, signal));
      if (!meant) return await this.#send(call);
      this.#asked.add(utterance);
      return meant;
    } catch (error) {
      return failed(error);
    }
  }

  tell(turn: string, rule: Rule, reason: string, at = Date.now()): void {
    this.#unsent = [...this.#unsent.slice(1 - UNSENT), { at, turn, rule, reason }];
  }

  /** Sends the utterance, and writes down that it does, before; never rejects. */
  async #send({ utterance, turn, rule, before, signal }: Call): Promise<Reading> {
    const { scope, settings, ledger, budget, prefix, partial, trace } = this.#parts;
    const { language, cloudMs } = settings;
    const at = Date.now();
    try {
      const speech = this.#parts.speech();
      const engines = await scope.within('the list of engines', cloudMs, () => speech.list('stt'), { signal });
      const engine = bestOf(engines, language);
      const missing = new CoreError('ENGINE_MISSING', { kind: 'stt', reason: 'there is none in the cloud' });
      // A device that has no cloud, and needs none, is not told each time that nothing was sent.
      if (!engine && (before || utterance.local)) return failed(missing);
      if (!engine) throw missing;
      this.#asked.add(utterance);
      const entry = { turn, to: `${engine.id} (${engine.title})`, what: 'audio', rule } as const;
      let told = 0;
      const tell = async (frames: number) => {
        told += frames;
        await ledger.append({ ...entry, bytes: frames * FRAME_BYTES });
        await budget.spend((frames * FRAME_SAMPLES) / 16_000, Date.now());
      };
      const frames = toldFirst(utterance, tell, () => this.#allow(), signal);
      const work = speech.transcribe(frames, {
        language,
        prefix,
        partial: (transcript) => partial(turn, transcript),
        signal,
        stage: 'cloud',
        engine: engine.id,
        trace: trace?.(turn),
      });
      const whole = work.finally(async () => {
        // Speech sent after the first entry of the ledger is entered at the end.
        if (told > 0 && utterance.sent > told) await tell(utterance.sent - told);
      });
      whole.catch(() => undefined); // looked at below, when the utterance is over
      // The clock runs from the end of the utterance; nothing waits longer than the turn.
      await utterance.whole;
      const heard = await scope.within('the cloud transcription', cloudMs, () => whole, { signal });
      return heard.text === '' ? { outcome: 'empty' } : await this.meanings!.of(heard, turn, signal);
    } catch (error) {
      if (!signal.aborted) this.tell(turn, rule, reasonOf(error), at);
      return failed(error);
    }
  }

  get #barred(): boolean {
    return this.#parts.settings.localOnly || this.#parts.localOnly();
  }

  /** Throws CANCELLED: the user has said so meanwhile. */
  #allow(): void {
    if (this.#barred)
      throw new CoreError('CANCELLED', { what: 'the cloud transcription', reason: 'the device is set to local only' });
  }
}

/** One that failed may be well again: who is asked finds out. */
function bestOf(engines: readonly EngineInfo[], language: string): EngineInfo | undefined {
  const ranked = engines
    .filter((one) => one.stage === 'cloud' && one.rank !== undefined && speaks(one.languages, language))
    .toSorted((one, other) => one.rank! - other.rank!);
  return ranked.find(({ problem }) => problem === undefined) ?? ranked[0];
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

function speaks(languages: readonly string[], language: string): boolean {
  return languages.length === 0 || languages.some((one) => one === language || one === language.split('-')[0]);
}
