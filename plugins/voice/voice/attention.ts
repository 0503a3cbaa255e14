/** Keeps an ear on the microphone while there are a microphone, engines, and no mute; and knows what it may be called by. */
import { randomUUID } from 'node:crypto';
import { CoreError, type Logger, maybe, reasonOf, type Scope } from '@device-core/plugin-api';
import { type Audio, monotonicMs } from '@device-core/plugin-api/services/audio';
import type { Intents } from '@device-core/plugin-api/services/intents';
import type { Speech, WakeHit, WakePhrase } from '@device-core/plugin-api/services/speech';
import { Ear, type EarEvents, type EarSettings, type Hearable } from './ear.ts';
import type { Floor } from './floor.ts';
import type { Reports } from './reports.ts';
import type { Router } from './router.ts';
import type { Senses } from './senses.ts';
import type { Speaker } from './speaker.ts';
import type { Completeness, TranscribeLocally } from './utterance.ts';

export interface AttentionSettings extends EarSettings {
  readonly language: string;
  readonly local: boolean;
  /** Hears commands from their onset; absent: the first that is well. */
  readonly engine?: string | undefined;
  readonly wake: readonly WakePhrase[];
  readonly stopWords: readonly string[];
  /** How calls are heard while the device itself speaks. */
  readonly whileSpeaking: 'suspend' | 'strict' | 'normal';
  /**
   * Threshold of wake phrases meanwhile, and of stop words: short words never fit well, and too much silence is no
   * great harm.
   */
  readonly strictThreshold: number;
  readonly stopThreshold: number;
  readonly retryMs: number;
}

export interface AttentionParts {
  readonly scope: Scope;
  readonly log: Logger;
  readonly settings: AttentionSettings;
  readonly floor: Floor;
  readonly senses: Senses;
  readonly speaker: Speaker;
  readonly router: Router;
  readonly reports: Reports;
}

/** Somebody who is heard in place of the microphone, for one turn. */
export interface Guest extends Hearable {
  /** All that was said has been heard. */
  readonly released: () => void;
}

/** Each wait is twice the one before: with them a slow start of the engines is waited for. */
const EARLY_FAILURES = 3;
const RETRY_MOST_MS = 10_000;
/** A held button has no pauses that end the command: its release does. */
const HELD = {
  endpointFastMs: Number.POSITIVE_INFINITY,
  endpointNumberMs: Number.POSITIVE_INFINITY,
  endpointOpenMs: Number.POSITIVE_INFINITY,
  endpointSlowMs: Number.POSITIVE_INFINITY,
};

export class Attention {
  readonly #parts: AttentionParts;
  #earStop: AbortController | undefined;
  #earRun: Promise<void> = Promise.resolve();
  #guest: Guest | undefined;
  #muting = 0;
  /** The preferred engine when the ear began. */
  #detector: { readonly ear: Ear; readonly id: string } | undefined;
  /** Counts changes of the engines. */
  #changes = 0;
  /** By the service that rings: how it is silenced. */
  readonly #bells = new Map<string, () => Promise<unknown>>();
  /** Failures of the ear in a row, and the last reason told. */
  #failures = 0;
  #told: string | undefined;
  /** Pending retries: one of a kind, for the ear that is there or has just failed. */
  #later: { listen?: Disposable; prefer?: Disposable } = {};
  /** The reason why it cannot listen, or cannot be called. */
  deaf: string | undefined = 'there is no microphone yet';
  wakeProblem: string | undefined;
  /** Calls that were the device's own voice. */
  ownVoice = 0;

  constructor(parts: AttentionParts) {
    this.#parts = parts;
  }

  get ear(): Ear | undefined {
    return this.#parts.senses.ear;
  }

  /** While something rings, stop words are heard without a wake phrase. `silence` absent: it rings no more. */
  ringing(what: string, silence: (() => Promise<unknown>) | undefined): void {
    if (this.#bells.has(what) === (silence !== undefined)) return;
    if (silence) this.#bells.set(what, silence);
    else this.#bells.delete(what);
    this.#parts.senses.ear?.refresh();
  }

  useAudio(audio: Audio, scope: Scope): void {
    this.#parts.senses.present = { ...this.#parts.senses.present, audio };
    scope.defer('audio in use', () => {
      this.#gone('audio', audio);
      return this.#rewire('the microphone has gone');
    });
    let first = true;
    scope.use(
      'audio state',
      audio.onState(({ muted }) => {
        // A device that comes back is as muted as it was.
        const again = first && this.#parts.floor.machine.muted && !muted;
        first = false;
        if (again) void this.#remute(audio);
        else if (this.#muting === 0 && muted !== this.#parts.floor.machine.muted) void this.#muted(muted);
      }),
    );
    void this.#rewire();
  }

  useSpeech(speech: Speech, scope: Scope): void {
    this.#parts.senses.present = { ...this.#parts.senses.present, speech };
    scope.defer('speech in use', () => {
      this.#gone('speech', speech);
      return this.#rewire('the engines have gone');
    });
    scope.use(
      'changes of engines',
      speech.onChange(() => {
        this.#changes++;
        if (!this.#parts.senses.ear) void this.#rewire();
        else void this.#prefer(this.#parts.senses.ear);
      }),
    );
    void this.#rewire();
  }

  useIntents(intents: Intents, scope: Scope): void {
    this.#parts.senses.present = { ...this.#parts.senses.present, intents };
    scope.defer('intents in use', () => {
      if (this.#gone('intents', intents)) this.#parts.senses.grammar = undefined;
    });
    const refresh = async () => {
      const grammar = await intents.grammar(this.#parts.settings.language);
      if (this.#parts.senses.present.intents === intents) this.#parts.senses.grammar = grammar;
    };
    const changed = () => {
      refresh().catch((error: unknown) => this.#parts.log.warn({ reason: reasonOf(error) }, 'cannot get the grammar'));
    };
    scope.use('changes of intents', intents.onChange(changed));
    changed();
  }

  /** False where another one has taken its place. */
  #gone(name: 'audio' | 'speech' | 'intents', service: object): boolean {
    const { [name]: now, ...others } = this.#parts.senses.present;
    if (now !== service) return false;
    this.#parts.senses.present = others;
    return true;
  }

  async mute(muted: boolean): Promise<void> {
    // A state that the device reports meanwhile may be an older one.
    this.#muting++;
    try {
      // The ear first: not one frame more is read, whether or not there is somebody to mute the device itself.
      await this.#muted(muted);
      await this.#parts.senses.present.audio?.setMuted(muted);
    } finally {
      this.#muting--;
    }
  }

  /** For one turn, which begins next: the microphone is heard again when it has ended. Throws AUDIO_UNAVAILABLE. */
  welcome(guest: Guest): void {
    if (!this.#parts.senses.present.speech)
      throw new CoreError('AUDIO_UNAVAILABLE', { verb: 'listen', reason: 'there are no engines' });
    void this.#rewire(undefined, guest);
  }

  /** Nothing more of the guest, or of this one, is for the turn. */
  farewell(guest = this.#guest): void {
    if (guest === undefined || this.#guest !== guest) return;
    this.#guest = undefined;
    void this.#rewire();
  }

  /** At the end of the plugin. */
  async close(): Promise<void> {
    this.#earStop?.abort();
    await this.#earRun;
  }

  async #remute(audio: Audio): Promise<void> {
    try {
      await audio.setMuted(true);
    } catch (error) {
      this.#parts.log.warn({ reason: reasonOf(error) }, 'cannot mute the microphone');
    }
  }

  async #muted(muted: boolean): Promise<void> {
    this.#parts.floor.input({ kind: 'mute', muted });
    await this.#rewire();
  }

  /** Ends the ear, and begins another one if there is all that it needs. Resolves when the old one hears nothing more. */
  async #rewire(lost?: string, guest?: Guest): Promise<void> {
    // Changes meanwhile are taken up when the guest has left.
    if (this.#guest !== undefined && !this.#parts.floor.machine.muted) return;
    this.#guest = guest;
    this.#earStop?.abort();
    this.#later.listen?.[Symbol.dispose]();
    this.#later.prefer?.[Symbol.dispose]();
    this.#later = {};
    this.#parts.senses.ear = undefined;
    if (lost !== undefined && !this.#parts.scope.signal.aborted) {
      this.deaf = lost;
      this.#parts.floor.input({ kind: 'deaf', code: 'AUDIO_UNAVAILABLE' });
    }
    const stop = new AbortController();
    this.#earStop = stop;
    const before = this.#earRun;
    const { audio, speech } = this.#parts.senses.present;
    const { muted } = this.#parts.floor.machine;
    const heard = guest ?? audio;
    if (!heard || !speech || muted || this.#parts.scope.signal.aborted) {
      if (!muted) this.deaf = audio ? 'there are no engines' : 'there is no microphone';
      return before;
    }
    this.deaf = undefined;
    const settings = guest === undefined ? this.#parts.settings : { ...this.#parts.settings, ...HELD };
    const ends = guest !== undefined;
    const ear = new Ear({ audio: heard, ends, speech, settings, events: this.#events(), scope: this.#parts.scope });
    this.#parts.senses.ear = ear;
    void this.#prefer(ear);
    this.#earRun = before.then(() => this.#hear(ear, stop, guest));
  }

  /** Engines come one after the other: the detector of speech that is to be asked first may not be the first that came. */
  async #prefer(ear: Ear): Promise<void> {
    const { speech } = this.#parts.senses.present;
    try {
      const [best] = (await speech?.list('vad')) ?? [];
      if (this.#parts.senses.ear !== ear || !best || best.rank === undefined || best.problem !== undefined) return;
      this.#detector ??= { ear, id: best.id };
      if (this.#detector.ear !== ear) this.#detector = { ear, id: best.id };
      if (this.#detector.id === best.id) return;
      if (this.#parts.floor.machine.state === 'idle') return void this.#rewire();
      this.#later.prefer?.[Symbol.dispose]();
      this.#later.prefer = this.#parts.scope.timeout('another detector of speech', this.#parts.settings.retryMs, () =>
        this.#prefer(ear),
      );
    } catch (error) {
      this.#parts.log.debug({ reason: reasonOf(error) }, 'cannot get the engines');
    }
  }

  async #hear(ear: Ear, stop: AbortController, guest: Guest | undefined): Promise<void> {
    if (stop.signal.aborted) return;
    const [began, changes] = [monotonicMs(), this.#changes];
    try {
      await ear.run(stop.signal);
      if (!stop.signal.aborted) guest?.released();
    } catch (error) {
      if (stop.signal.aborted || this.#parts.senses.ear !== ear) return;
      // The engine came between the question and its answer: nobody will tell of it again.
      if (changes !== this.#changes && error instanceof CoreError && error.code === 'ENGINE_MISSING')
        return void this.#rewire();
      const reason = reasonOf(error);
      // It is tried again and again. Engines come one after the other while a Core starts: the first times without one are no news.
      const early = this.#failures < EARLY_FAILURES && error instanceof CoreError && error.code === 'ENGINE_MISSING';
      if (reason !== this.#told && !early) {
        this.#parts.log.warn({ reason }, 'cannot listen');
        this.#told = reason;
      }
      this.#parts.senses.ear = undefined;
      this.deaf = reason;
      this.#parts.floor.input({ kind: 'deaf', code: error instanceof CoreError ? error.code : 'AUDIO_UNAVAILABLE' });
      if (monotonicMs() - began > RETRY_MOST_MS) this.#failures = 0;
      const ms = Math.min(RETRY_MOST_MS, this.#parts.settings.retryMs * 2 ** this.#failures++);
      if (this.#parts.scope.signal.aborted) return;
      this.#later.listen = this.#parts.scope.timeout('listening again', ms, () => {
        if (this.#earStop === stop) void this.#rewire();
      });
    }
  }

  #events(): EarEvents {
    return {
      phrases: () => phrasesIn(this.#parts.floor.machine.state, this.#parts.settings, this.#bells.size > 0),
      speculates: () => this.#parts.settings.local && this.#parts.floor.machine.state !== 'speaking',
      transcriber: () => this.#transcriber(),
      wake: (hit) => this.#called(hit),
      command: (turn, utterance) => this.#parts.router.open(utterance, turn),
      partial: (turn, transcript) => this.#parts.reports.partial(turn, transcript, 'local'),
      complete: (text) => this.#complete(text),
      endpoint: (turn) => this.#parts.floor.input({ kind: 'endpoint', turn }),
      pause: () => this.#parts.speaker.sound('wake'),
      problem: (_, reason) => {
        this.wakeProblem = reason;
      },
    };
  }

  async #complete(text: string): Promise<Completeness> {
    try {
      const match = await this.#parts.senses.intents().match(text, { language: this.#parts.settings.language });
      if (match.outcome !== 'plan') return 'part';
      const { mayGoOn, byNumber } = match.plan;
      return mayGoOn ? (byNumber ? 'number' : 'open') : 'whole';
    } catch (error) {
      // The end of the command is told by silence then.
      this.#parts.log.debug({ reason: reasonOf(error) }, 'cannot match what was said so far');
      return 'part';
    }
  }

  #transcriber(): TranscribeLocally | undefined {
    const { speech } = this.#parts.senses.present;
    if (!this.#parts.settings.local || !speech) return undefined;
    const { language, wake, engine } = this.#parts.settings;
    const { grammar } = this.#parts.senses;
    return (frames, { partial, signal }) =>
      speech.transcribe(frames, {
        language,
        partial,
        signal,
        stage: 'local',
        prefix: wake.map(({ phrase }) => phrase),
        rivals: (text) => this.#parts.senses.intents().rivals(text, { language }),
        ...maybe({ grammar, engine }),
      });
  }

  #called(hit: WakeHit): void {
    const { stopWords, whileSpeaking } = this.#parts.settings;
    const { state } = this.#parts.floor.machine;
    if (state === 'speaking' && whileSpeaking !== 'normal') {
      const own = ` ${wordsOf(this.#parts.speaker.text ?? '')} `.includes(` ${wordsOf(hit.phrase)} `);
      if (whileSpeaking === 'suspend' || own) {
        this.ownVoice++;
        return;
      }
    }
    if (!stopWords.includes(hit.phrase)) {
      this.#parts.floor.input({ kind: 'wake', turn: randomUUID(), hit });
      return;
    }
    for (const [what, silence] of this.#bells)
      silence().catch((error: unknown) => this.#parts.log.warn({ reason: reasonOf(error) }, `cannot silence ${what}`));
    if (state === 'speaking' || state === 'thinking') this.#parts.floor.input({ kind: 'stop' });
  }
}

/** Phrases to look for in a state: thresholds are higher while the device itself speaks. */
function phrasesIn(
  state: Floor['machine']['state'],
  settings: AttentionSettings,
  rings: boolean,
): readonly WakePhrase[] {
  const { wake, stopWords, stopThreshold, whileSpeaking, strictThreshold } = settings;
  const stops = stopWords.map((phrase) => ({ phrase, threshold: stopThreshold }));
  if (state === 'thinking') return [...wake, ...stops];
  if (state !== 'speaking') return rings ? [...wake, ...stops] : wake;
  if (whileSpeaking === 'suspend') return [];
  if (whileSpeaking === 'normal') return [...wake, ...stops];
  return [...wake.map(({ phrase }) => ({ phrase, threshold: strictThreshold })), ...stops];
}

function wordsOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}
