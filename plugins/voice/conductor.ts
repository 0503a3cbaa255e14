/** Keeps the machine running: inputs in, what it says done, its time limits watched. */
import { randomUUID } from 'node:crypto';
import {
  type Audio,
  CoreError,
  type ErrorCode,
  type Intents,
  type Logger,
  monotonicMs,
  reasonOf,
  type Scope,
  type Speech,
  type SpeechGrammar,
  type Transcript,
  type VoiceState,
  type VoiceTurn,
  type WakeHit,
  type WakePhrase,
} from '@device-core/plugin-api';
import { Ear, type EarEvents, type EarSettings } from './ear.ts';
import { type Effect, type Input, type Limits, type Machine, START, step } from './machine.ts';
import type { Router } from './router.ts';
import type { Speaker } from './speaker.ts';
import type { Thinker, Told } from './thinker.ts';
import type { Traces } from './traces.ts';
import type { Heard, TranscribeLocally } from './utterance.ts';

export interface ConductorSettings extends EarSettings {
  readonly language: string;
  readonly local: boolean;
  readonly wake: readonly WakePhrase[];
  readonly stopWords: readonly string[];
  /** How calls are heard while the device itself speaks. */
  readonly whileSpeaking: 'suspend' | 'strict' | 'normal';
  readonly strictThreshold: number;
  readonly limits: Limits;
  readonly retryMs: number;
}

interface Turn {
  readonly id: string;
  readonly stop: AbortController;
  readonly text: string | undefined;
  readonly over: PromiseWithResolvers<void>;
  told?: Told;
}

export interface ConductorParts {
  readonly scope: Scope;
  readonly log: Logger;
  readonly settings: ConductorSettings;
  readonly traces: Traces;
  readonly publish: (topic: string, payload: object) => void;
  readonly late: string;
}

const RETRY_MOST_MS = 10_000;

export class Conductor {
  readonly #scope: Scope;
  readonly #log: Logger;
  readonly #settings: ConductorSettings;
  readonly #traces: Traces;
  readonly #publish: (topic: string, payload: object) => void;
  readonly #late: string;
  readonly #turns = new Map<string, Turn>();
  readonly #inputs: Input[] = [];
  #running = false;
  #muting = 0;
  #machine: Machine = START;
  #timer: Disposable | undefined;
  #reason: string | undefined;
  /** The phrase that is being told. */
  #hit: WakeHit | undefined;
  #ear: Ear | undefined;
  #earStop: AbortController | undefined;
  #earRun: Promise<void> = Promise.resolve();
  #grammar: SpeechGrammar | undefined;
  #audio: Audio | undefined;
  #speech: Speech | undefined;
  #intents: Intents | undefined;
  #announcing: PromiseWithResolvers<void> | undefined;
  #unspoken: CoreError | undefined;
  /** Of the ear, one after the other, and what the last one was. */
  #failures = 0;
  #told: string | undefined;
  /** What keeps it from listening, and from being called. */
  deaf: string | undefined = 'there is no microphone yet';
  wakeProblem: string | undefined;
  /** Calls that were the device's own voice, or not clear enough beside it. */
  ownVoice = 0;
  router!: Router;
  speaker!: Speaker;
  thinker!: Thinker;

  constructor(parts: ConductorParts) {
    this.#scope = parts.scope;
    this.#log = parts.log;
    this.#settings = parts.settings;
    this.#traces = parts.traces;
    this.#publish = parts.publish;
    this.#late = parts.late;
  }

  get machine(): Machine {
    return this.#machine;
  }

  get reason(): string | undefined {
    return this.#machine.state === 'error' ? this.#reason : this.#machine.state === 'idle' ? this.deaf : undefined;
  }

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
        const again = first && this.#machine.muted && !muted;
        first = false;
        if (again) void this.#remute(audio);
        else if (this.#muting === 0 && muted !== this.#machine.muted) void this.#muted(muted);
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
      }),
    );
    void this.#rewire();
  }

  async useIntents(intents: Intents, scope: Scope): Promise<void> {
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

  /** Starts a turn or says why not. Resolves when it is over. */
  async turn(kind: 'button' | 'ask', text: string | undefined, signal: AbortSignal | undefined): Promise<VoiceTurn> {
    if (kind === 'button') {
      if (this.#machine.muted) throw new CoreError('VOICE_MUTED');
      if (!this.#ear) throw new CoreError('AUDIO_UNAVAILABLE', { verb: 'listen', reason: this.deaf });
    }
    const turn = this.#make(text);
    this.input({ kind, turn: turn.id });
    if (this.#machine.turn?.id !== turn.id && !this.#traces.find(turn.id)) {
      this.#turns.delete(turn.id);
      throw new CoreError('BUSY', { what: 'a turn', limit: 1 });
    }
    const cancel = () => this.input({ kind: 'stop', id: turn.id });
    signal?.addEventListener('abort', cancel, { once: true });
    if (signal?.aborted) cancel();
    await turn.over.promise;
    signal?.removeEventListener('abort', cancel);
    return this.#traces.find(turn.id)!;
  }

  async say(text: string, voice: string | undefined, signal: AbortSignal | undefined): Promise<void> {
    const id = randomUUID();
    const cancel = () => {
      if (!this.speaker.cancel(id)) this.input({ kind: 'stop', id });
    };
    signal?.addEventListener('abort', cancel, { once: true });
    const pump = () => {
      if (signal?.aborted) cancel();
      this.#pump();
    };
    try {
      await this.speaker.announce(id, text, voice, pump);
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
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

  /** What happened. Inputs that come while one is being dealt with wait for it. */
  input(input: Input): void {
    this.#inputs.push(input);
    if (this.#running) return;
    this.#running = true;
    try {
      for (let next = this.#inputs.shift(); next; next = this.#inputs.shift()) this.#step(next);
    } finally {
      this.#running = false;
    }
    this.#pump();
  }

  /** At the end of the plugin. */
  async close(): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.speaker.close();
    for (const turn of this.#turns.values()) {
      turn.stop.abort();
      if (this.#traces.find(turn.id)?.outcome === 'running')
        this.#traces.set(turn.id, { outcome: 'cancelled', code: 'CANCELLED' });
      turn.over.resolve();
    }
    this.#earStop?.abort();
    await this.#earRun;
  }

  #step(input: Input): void {
    const before = this.#machine;
    const { machine, effects } = step(before, input, monotonicMs(), this.#settings.limits);
    this.#machine = machine;
    for (const effect of effects) this.#do(effect);
    if (machine.until !== before.until) this.#watchTime(machine.until);
  }

  #watchTime(until: number): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    if (until === Number.POSITIVE_INFINITY || this.#scope.signal.aborted) return;
    // Timers may be a little early.
    const ms = Math.max(0, Math.ceil(until - monotonicMs())) + 1;
    this.#timer = this.#scope.timeout('time limit of the state', ms, () => {
      this.input({ kind: 'time', speech: this.#ear?.speaking ?? false });
    });
  }

  #do(effect: Effect): void {
    switch (effect.do) {
      case 'state': {
        const { state, turn } = effect;
        this.#publish('audio.state', { ...(turn !== undefined && { turn }), state });
        if (state === 'speaking') this.#ear?.refresh();
        break;
      }
      case 'begin':
        this.#begin(effect.turn, effect.source);
        break;
      case 'listen':
        if (this.#ear) this.#ear.listen(effect.turn);
        else this.#later({ kind: 'deaf', code: 'AUDIO_UNAVAILABLE' });
        break;
      case 'think':
        void this.#think(effect.turn);
        break;
      case 'abandon':
        this.#turns.get(effect.turn)?.stop.abort();
        this.#ear?.drop(effect.turn);
        break;
      case 'speak':
        this.#speak(effect.id, effect.late === true);
        break;
      case 'hush':
        this.speaker.hush(effect.id);
        break;
      case 'end':
        this.#end(effect.turn, effect.outcome, effect.code);
        break;
      case 'announced':
        this.#announced(effect.code);
        break;
      case 'sound':
        this.speaker.sound(effect.sound);
        break;
    }
  }

  /** Not now: the machine is in the middle of a step. */
  #later(input: Input): void {
    this.#inputs.push(input);
  }

  #make(text?: string, id: string = randomUUID()): Turn {
    const turn: Turn = { id, stop: new AbortController(), text, over: Promise.withResolvers() };
    this.#turns.set(id, turn);
    return turn;
  }

  #begin(id: string, source: string): void {
    if (!this.#turns.has(id)) this.#make(undefined, id);
    const now = monotonicMs();
    const hit = source === 'wake' ? this.#hit : undefined;
    this.#traces.begin(id, source, Math.min(now, hit?.at ?? now), now, hit?.phrase);
    if (hit) this.#publish('audio.wake', { turn: id, wakeword: hit.phrase, score: hit.score, source });
    else if (source === 'button') this.#publish('audio.wake', { turn: id, wakeword: '', score: 1, source });
    if (source === 'button' || source === 'follow-up') this.speaker.sound('wake');
  }

  async #think(id: string): Promise<void> {
    const turn = this.#turns.get(id)!;
    const { signal } = turn.stop;
    let told: Told | undefined;
    try {
      if (turn.text !== undefined) told = await this.thinker.read(turn.text, id, signal);
      else {
        const utterance = this.#ear?.take(id);
        told = utterance && (await this.thinker.hear(utterance, id, signal));
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#log.error({ turn: id, reason: reasonOf(error) }, 'a turn failed');
      told = { outcome: 'failed', code: error instanceof CoreError ? error.code : 'INTERNAL' };
    }
    if (signal.aborted) return;
    if (!told) return this.input({ kind: 'empty', turn: id });
    const { outcome, code, say, followUp } = told;
    turn.told = told;
    this.input({
      ...{ kind: 'answer', turn: id, outcome, say: say !== undefined },
      ...(code && { code }),
      ...(followUp && { followUp: randomUUID() }),
    } as Input);
  }

  #speak(id: string, late: boolean): void {
    const announcement = this.speaker.take(id);
    if (announcement) {
      this.#announcing = announcement.done;
      return void this.speaker.speak(id, announcement.text, announcement.voice);
    }
    const say = late ? this.#late : (this.#turns.get(id)?.told?.say ?? '');
    this.#traces.set(id, { said: say });
    void this.speaker.speak(id, say, undefined);
  }

  #announced(code: ErrorCode | undefined): void {
    const [done, unspoken] = [this.#announcing, this.#unspoken];
    this.#announcing = undefined;
    this.#unspoken = undefined;
    this.#reason = code;
    const interrupted = { what: 'an announcement', reason: 'it was interrupted' };
    if (code === undefined) done?.resolve();
    else if (code === 'CANCELLED') done?.reject(new CoreError(code, interrupted));
    else done?.reject(unspoken ?? new CoreError('SPEECH_FAILED', { engine: 'tts', reason: code }));
  }

  /** Why speech failed, in the words of whoever failed. */
  unspoken(id: string, code: ErrorCode, reason: string): void {
    const known: Partial<Record<ErrorCode, CoreError>> = {
      ENGINE_MISSING: new CoreError('ENGINE_MISSING', { kind: 'tts', reason }),
      AUDIO_UNAVAILABLE: new CoreError('AUDIO_UNAVAILABLE', { verb: 'speak', reason }),
      BUSY: new CoreError('BUSY', { what: `a sound (${reason})` }),
    };
    this.#unspoken = known[code] ?? new CoreError('SPEECH_FAILED', { engine: 'tts', reason });
    this.#log.warn({ turn: id, code, reason }, 'cannot speak');
    this.input({ kind: 'unspoken', id, code: this.#unspoken.code });
  }

  #end(id: string, outcome: VoiceTurn['outcome'], code: ErrorCode | undefined): void {
    this.#reason = code;
    this.#traces.set(id, { outcome, ...(code && { code }) });
    const turn = this.#turns.get(id);
    this.#turns.delete(id);
    turn?.over.resolve();
    if (outcome === 'failed') this.#log.warn({ turn: id, code }, 'a turn of the voice failed');
  }

  /** The next announcement, when nobody has the floor. */
  #pump(): void {
    const { next } = this.speaker;
    const { state } = this.#machine;
    if (!next || this.#running || (state !== 'idle' && state !== 'muted' && state !== 'error')) return;
    this.input({ kind: 'announce', id: next.id });
  }

  async #remute(audio: Audio): Promise<void> {
    try {
      await audio.setMuted(true);
    } catch (error) {
      this.#log.warn({ reason: reasonOf(error) }, 'cannot mute the microphone');
    }
  }

  async #muted(muted: boolean): Promise<void> {
    this.input({ kind: 'mute', muted });
    await this.#rewire();
  }

  /** Ends the ear, and begins another one if there is all that it needs. */
  async #rewire(lost?: string): Promise<void> {
    this.#earStop?.abort();
    this.#ear = undefined;
    if (lost !== undefined && !this.#scope.signal.aborted) {
      this.deaf = lost;
      this.input({ kind: 'deaf', code: 'AUDIO_UNAVAILABLE' });
    }
    const stop = new AbortController();
    this.#earStop = stop;
    const before = this.#earRun;
    const [audio, speech] = [this.#audio, this.#speech];
    if (!audio || !speech || this.#machine.muted || this.#scope.signal.aborted) {
      if (!this.#machine.muted) this.deaf = audio ? 'there are no engines' : 'there is no microphone';
      return before;
    }
    this.deaf = undefined;
    const ear = new Ear({ audio, speech, settings: this.#settings, events: this.#earEvents(), scope: this.#scope });
    this.#ear = ear;
    this.#earRun = before.then(() => this.#hear(ear, stop));
  }

  async #hear(ear: Ear, stop: AbortController): Promise<void> {
    if (stop.signal.aborted) return;
    const began = monotonicMs();
    try {
      await ear.run(stop.signal);
    } catch (error) {
      if (stop.signal.aborted || this.#ear !== ear) return;
      this.#ear = undefined;
      const reason = reasonOf(error);
      // It is tried again and again.
      if (reason !== this.#told) this.#log.warn({ reason }, 'cannot listen');
      this.#told = reason;
      this.deaf = reason;
      const code = error instanceof CoreError ? error.code : 'AUDIO_UNAVAILABLE';
      this.input({ kind: 'deaf', code });
      const { retryMs } = this.#settings;
      if (monotonicMs() - began > RETRY_MOST_MS) this.#failures = 0;
      const ms = Math.min(RETRY_MOST_MS, retryMs * 2 ** this.#failures++);
      if (this.#scope.signal.aborted) return;
      this.#scope.timeout('listening again', ms, () => {
        if (this.#earStop === stop) void this.#rewire();
      });
    }
  }

  #earEvents(): EarEvents {
    const { language, wake, stopWords, whileSpeaking, strictThreshold } = this.#settings;
    return {
      phrases: () => {
        const stops = stopWords.map((phrase) => ({ phrase }));
        const { state } = this.#machine;
        if (state === 'thinking') return [...wake, ...stops];
        if (state !== 'speaking') return wake;
        if (whileSpeaking === 'suspend') return [];
        if (whileSpeaking === 'normal') return [...wake, ...stops];
        return [...wake, ...stops].map(({ phrase }) => ({ phrase, threshold: strictThreshold }));
      },
      speculates: () => this.#settings.local && this.#machine.state !== 'speaking',
      transcriber: () => this.#transcriber(),
      wake: (hit) => this.#called(hit),
      command: (turn, utterance) => this.router.open(utterance, turn),
      partial: (turn, transcript) => this.partial(turn, transcript, 'local'),
      complete: async (text) => {
        try {
          const match = await this.intents().match(text, { language });
          return match.outcome === 'plan' && !match.plan.mayGoOn;
        } catch (error) {
          // The end of the command is told by silence then.
          this.#log.debug({ reason: reasonOf(error) }, 'cannot match what was said so far');
          return false;
        }
      },
      endpoint: (turn) => this.input({ kind: 'endpoint', turn }),
      pause: () => this.speaker.sound('wake'),
      problem: (_, reason) => {
        this.wakeProblem = reason;
      },
    };
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
    const { stopWords, strictThreshold, whileSpeaking } = this.#settings;
    const { state } = this.#machine;
    if (state === 'speaking') {
      const own = ` ${wordsOf(this.speaker.text ?? '')} `.includes(` ${wordsOf(hit.phrase)} `);
      const weak = whileSpeaking === 'strict' && hit.score < strictThreshold;
      if (whileSpeaking === 'suspend' || (whileSpeaking === 'strict' && own) || weak) {
        this.ownVoice++;
        return;
      }
    }
    if (stopWords.includes(hit.phrase)) {
      if (state === 'speaking' || state === 'thinking') this.input({ kind: 'stop' });
      return;
    }
    this.#hit = hit;
    this.input({ kind: 'wake', turn: randomUUID() });
    this.#hit = undefined;
  }

  partial(turn: string, { text, language: lang, confidence }: Transcript, stage: 'local' | 'cloud'): void {
    if (text === '' || this.#machine.turn?.id !== turn) return;
    // How far the words are behind the microphone.
    const latencyMs = Math.max(0, Math.round(monotonicMs() - (this.#ear?.newestAt ?? monotonicMs())));
    this.#publish('audio.stt.partial', {
      turn,
      text,
      lang,
      ...(confidence !== undefined && { confidence }),
      stage,
      latencyMs,
    });
  }

  final(turn: string, { text, language: lang, confidence, stage }: Heard, latencyMs: number): void {
    this.#publish('audio.stt.final', {
      turn,
      text,
      lang,
      ...(confidence !== undefined && { confidence }),
      stage,
      latencyMs,
    });
  }

  state(): { readonly state: VoiceState; readonly turn?: string; readonly reason?: string } {
    const { state, turn } = this.#machine;
    const { reason } = this;
    return { state, ...(turn && { turn: turn.id }), ...(reason !== undefined && { reason }) };
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
