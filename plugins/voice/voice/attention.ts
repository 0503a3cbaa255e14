/** Keeps an ear on the microphone while there are a microphone, engines, and no mute; and knows what it may be called by. */
import {
  type Audio,
  CoreError,
  type Intents,
  type Logger,
  monotonicMs,
  reasonOf,
  type Scope,
  type Speech,
  type SpeechGrammar,
  type Transcript,
  type WakeHit,
  type WakePhrase,
} from '@device-core/plugin-api';
import { Ear, type EarEvents, type EarSettings } from './ear.ts';
import type { Input, Machine } from './machine.ts';
import type { Completeness, TranscribeLocally, Utterance } from './utterance.ts';

export interface AttentionSettings extends EarSettings {
  readonly language: string;
  readonly local: boolean;
  readonly wake: readonly WakePhrase[];
  readonly stopWords: readonly string[];
  /** How calls are heard while the device itself speaks. */
  readonly whileSpeaking: 'suspend' | 'strict' | 'normal';
  /** Of wake phrases meanwhile, and of stop words: short words never fit well, and too much silence is no great harm. */
  readonly strictThreshold: number;
  readonly stopThreshold: number;
  readonly retryMs: number;
}

/** Whose attention it is. */
export interface Attentive {
  readonly machine: Machine;
  /** What is being spoken. */
  readonly spoken: string | undefined;
  input(input: Input): void;
  called(hit: WakeHit): void;
  command(turn: string, utterance: Utterance): void;
  partial(turn: string, transcript: Transcript, stage: 'local'): void;
  /** Somebody called, and waits for a sign. */
  pause(): void;
}

const RETRY_MOST_MS = 10_000;

export class Attention {
  readonly #scope: Scope;
  readonly #log: Logger;
  readonly #settings: AttentionSettings;
  readonly #whose: Attentive;
  #ear: Ear | undefined;
  #earStop: AbortController | undefined;
  #earRun: Promise<void> = Promise.resolve();
  #grammar: SpeechGrammar | undefined;
  #audio: Audio | undefined;
  #speech: Speech | undefined;
  #intents: Intents | undefined;
  #muting = 0;
  /** What was to be asked first when the ear began. */
  #detector: { readonly ear: Ear; readonly id: string } | undefined;
  /** Of the ear, one after the other, and what the last one was. */
  #failures = 0;
  #told: string | undefined;
  /** What keeps it from listening, and from being called. */
  deaf: string | undefined = 'there is no microphone yet';
  wakeProblem: string | undefined;
  /** Calls that were the device's own voice. */
  ownVoice = 0;

  constructor(scope: Scope, log: Logger, settings: AttentionSettings, whose: Attentive) {
    this.#scope = scope;
    this.#log = log;
    this.#settings = settings;
    this.#whose = whose;
  }

  get ear(): Ear | undefined {
    return this.#ear;
  }

  /** Throws SERVICE_MISSING, as the other two. */
  audio(): Audio {
    return this.#audio ?? missing('audio');
  }

  speech(): Speech {
    return this.#speech ?? missing('speech');
  }

  intents(): Intents {
    return this.#intents ?? missing('intents');
  }

  useAudio(audio: Audio, scope: Scope): void {
    this.#audio = audio;
    scope.defer('audio in use', () => {
      if (this.#audio === audio) this.#audio = undefined;
      return this.#rewire('the microphone has gone');
    });
    let first = true;
    scope.use(
      'audio state',
      audio.onState(({ muted }) => {
        // A device that comes back is as muted as it was.
        const again = first && this.#whose.machine.muted && !muted;
        first = false;
        if (again) void this.#remute(audio);
        else if (this.#muting === 0 && muted !== this.#whose.machine.muted) void this.#muted(muted);
      }),
    );
    void this.#rewire();
  }

  useSpeech(speech: Speech, scope: Scope): void {
    this.#speech = speech;
    scope.defer('speech in use', () => {
      if (this.#speech === speech) this.#speech = undefined;
      return this.#rewire('the engines have gone');
    });
    scope.use(
      'changes of engines',
      speech.onChange(() => {
        if (!this.#ear) void this.#rewire();
        else void this.#prefer(this.#ear);
      }),
    );
    void this.#rewire();
  }

  useIntents(intents: Intents, scope: Scope): void {
    this.#intents = intents;
    scope.defer('intents in use', () => {
      if (this.#intents !== intents) return;
      this.#intents = undefined;
      this.#grammar = undefined;
    });
    const refresh = async () => {
      const grammar = await intents.grammar(this.#settings.language);
      if (this.#intents === intents) this.#grammar = grammar;
    };
    const changed = () => {
      refresh().catch((error: unknown) => this.#log.warn({ reason: reasonOf(error) }, 'cannot get the grammar'));
    };
    scope.use('changes of intents', intents.onChange(changed));
    changed();
  }

  async mute(muted: boolean): Promise<void> {
    // What the device tells meanwhile may be from before.
    this.#muting++;
    try {
      // The ear first: not one frame more is read, whether or not there is somebody to mute the device itself.
      await this.#muted(muted);
      await this.#audio?.setMuted(muted);
    } finally {
      this.#muting--;
    }
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
      this.#log.warn({ reason: reasonOf(error) }, 'cannot mute the microphone');
    }
  }

  async #muted(muted: boolean): Promise<void> {
    this.#whose.input({ kind: 'mute', muted });
    await this.#rewire();
  }

  /** Ends the ear, and begins another one if there is all that it needs. Resolves when the old one hears nothing more. */
  async #rewire(lost?: string): Promise<void> {
    this.#earStop?.abort();
    this.#ear = undefined;
    if (lost !== undefined && !this.#scope.signal.aborted) {
      this.deaf = lost;
      this.#whose.input({ kind: 'deaf', code: 'AUDIO_UNAVAILABLE' });
    }
    const stop = new AbortController();
    this.#earStop = stop;
    const before = this.#earRun;
    const [audio, speech] = [this.#audio, this.#speech];
    const { muted } = this.#whose.machine;
    if (!audio || !speech || muted || this.#scope.signal.aborted) {
      if (!muted) this.deaf = audio ? 'there are no engines' : 'there is no microphone';
      return before;
    }
    this.deaf = undefined;
    const ear = new Ear({ audio, speech, settings: this.#settings, events: this.#events(), scope: this.#scope });
    this.#ear = ear;
    void this.#prefer(ear);
    this.#earRun = before.then(() => this.#hear(ear, stop));
  }

  /** Engines come one after the other: the detector of speech that is to be asked first may not be the first that came. */
  async #prefer(ear: Ear): Promise<void> {
    const speech = this.#speech;
    try {
      const [best] = (await speech?.list('vad')) ?? [];
      if (this.#ear !== ear || !best || best.rank === undefined || best.problem !== undefined) return;
      this.#detector ??= { ear, id: best.id };
      if (this.#detector.ear !== ear) this.#detector = { ear, id: best.id };
      if (this.#detector.id === best.id) return;
      if (this.#whose.machine.state === 'idle') return void this.#rewire();
      this.#scope.timeout('another detector of speech', this.#settings.retryMs, () => this.#prefer(ear));
    } catch (error) {
      this.#log.debug({ reason: reasonOf(error) }, 'cannot get the engines');
    }
  }

  async #hear(ear: Ear, stop: AbortController): Promise<void> {
    if (stop.signal.aborted) return;
    const began = monotonicMs();
    try {
      await ear.run(stop.signal);
    } catch (error) {
      if (stop.signal.aborted || this.#ear !== ear) return;
      const reason = reasonOf(error);
      // It is tried again and again.
      if (reason !== this.#told) this.#log.warn({ reason }, 'cannot listen');
      this.#told = reason;
      this.#ear = undefined;
      this.deaf = reason;
      this.#whose.input({ kind: 'deaf', code: error instanceof CoreError ? error.code : 'AUDIO_UNAVAILABLE' });
      if (monotonicMs() - began > RETRY_MOST_MS) this.#failures = 0;
      const ms = Math.min(RETRY_MOST_MS, this.#settings.retryMs * 2 ** this.#failures++);
      if (this.#scope.signal.aborted) return;
      this.#scope.timeout('listening again', ms, () => {
        if (this.#earStop === stop) void this.#rewire();
      });
    }
  }

  #events(): EarEvents {
    const whose = this.#whose;
    return {
      phrases: () => this.#phrases(),
      speculates: () => this.#settings.local && whose.machine.state !== 'speaking',
      transcriber: () => this.#transcriber(),
      wake: (hit) => this.#called(hit),
      command: (turn, utterance) => whose.command(turn, utterance),
      partial: (turn, transcript) => whose.partial(turn, transcript, 'local'),
      complete: (text) => this.#complete(text),
      endpoint: (turn) => whose.input({ kind: 'endpoint', turn }),
      pause: () => whose.pause(),
      problem: (_, reason) => {
        this.wakeProblem = reason;
      },
    };
  }

  #phrases(): readonly WakePhrase[] {
    const { wake, stopWords, stopThreshold, whileSpeaking, strictThreshold } = this.#settings;
    const stops = stopWords.map((phrase) => ({ phrase, threshold: stopThreshold }));
    const { state } = this.#whose.machine;
    if (state === 'thinking') return [...wake, ...stops];
    if (state !== 'speaking') return wake;
    if (whileSpeaking === 'suspend') return [];
    if (whileSpeaking === 'normal') return [...wake, ...stops];
    return [...wake.map(({ phrase }) => ({ phrase, threshold: strictThreshold })), ...stops];
  }

  async #complete(text: string): Promise<Completeness> {
    try {
      const match = await this.intents().match(text, { language: this.#settings.language });
      if (match.outcome !== 'plan') return 'part';
      return match.plan.mayGoOn ? 'open' : 'whole';
    } catch (error) {
      // The end of the command is told by silence then.
      this.#log.debug({ reason: reasonOf(error) }, 'cannot match what was said so far');
      return 'part';
    }
  }

  #transcriber(): TranscribeLocally | undefined {
    const speech = this.#speech;
    if (!this.#settings.local || !speech) return undefined;
    const { language, wake } = this.#settings;
    const grammar = this.#grammar;
    return (frames, { partial, signal }) =>
      speech.transcribe(frames, {
        ...{ language, partial, signal, stage: 'local', prefix: wake.map(({ phrase }) => phrase) },
        ...(grammar && { grammar }),
      });
  }

  #called(hit: WakeHit): void {
    const { stopWords, whileSpeaking } = this.#settings;
    const { machine, spoken = '' } = this.#whose;
    const { state } = machine;
    if (state === 'speaking' && whileSpeaking !== 'normal') {
      const own = ` ${wordsOf(spoken)} `.includes(` ${wordsOf(hit.phrase)} `);
      if (whileSpeaking === 'suspend' || own) {
        this.ownVoice++;
        return;
      }
    }
    if (!stopWords.includes(hit.phrase)) this.#whose.called(hit);
    else if (state === 'speaking' || state === 'thinking') this.#whose.input({ kind: 'stop' });
  }
}

function missing(service: string): never {
  throw new CoreError('SERVICE_MISSING', { service, range: '^1.0.0', reason: 'its plugin is not running' });
}

function wordsOf(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim();
}
