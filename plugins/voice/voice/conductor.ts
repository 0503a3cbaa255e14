/** Does what the machine of the voice says, and watches its time limits. */
import { randomUUID } from 'node:crypto';
import { CoreError, type ErrorCode, type Logger, maybe, reasonOf, type Scope } from '@device-core/plugin-api';
import { monotonicMs } from '@device-core/plugin-api/services/audio';
import type { WakeHit } from '@device-core/plugin-api/services/speech';
import type { VoiceState, VoiceTurn } from '@device-core/plugin-api/services/voice';
import type { TraceContext } from '@device-core/plugin-api/tracing';
import type { Attention } from './attention.ts';
import type { Hearable } from './ear.ts';
import type { Floor, Happening, Performer } from './floor.ts';
import type { Effect, Input, Machine, TurnSource } from './machine.ts';
import type { Reports } from './reports.ts';
import type { Saying, Speaker } from './speaker.ts';
import type { Thinker, Told } from './thinker.ts';
import type { Traces } from './traces.ts';

interface Turn {
  readonly id: string;
  readonly stop: AbortController;
  readonly text: string | undefined;
  readonly trace: TraceContext | undefined;
  readonly over: PromiseWithResolvers<void>;
  told?: Told;
}

export interface ConductorParts {
  readonly scope: Scope;
  readonly log: Logger;
  readonly floor: Floor;
  readonly traces: Traces;
  readonly reports: Reports;
  readonly attention: Attention;
  readonly speaker: Speaker;
  readonly thinker: Thinker;
  /** Words for an answer that has not come. */
  readonly late: string;
}

export class Conductor implements Performer {
  readonly attention: Attention;
  readonly #parts: ConductorParts;
  readonly #turns = new Map<string, Turn>();
  #timer: Disposable | undefined;
  #reason: string | undefined;
  #announcing: PromiseWithResolvers<void> | undefined;
  #unspoken: CoreError | undefined;

  constructor(parts: ConductorParts) {
    this.attention = parts.attention;
    this.#parts = parts;
    this.#parts.floor.run(this);
  }

  get machine(): Machine {
    return this.#parts.floor.machine;
  }

  get reason(): string | undefined {
    return this.machine.state === 'error'
      ? this.#reason
      : this.machine.state === 'idle'
        ? this.attention.deaf
        : undefined;
  }

  /** Starts a turn or says why not. Resolves when it is over. */
  async turn(
    kind: 'button' | 'ask',
    text: string | undefined,
    signal: AbortSignal | undefined,
    trace?: TraceContext,
  ): Promise<VoiceTurn> {
    if (kind === 'button') {
      if (this.machine.muted) throw new CoreError('VOICE_MUTED');
      if (!this.attention.ear)
        throw new CoreError('AUDIO_UNAVAILABLE', { verb: 'listen', reason: this.attention.deaf });
    }
    const turn = this.#make(text, randomUUID(), trace);
    this.#input({ kind, turn: turn.id });
    if (this.machine.turn?.id !== turn.id && !this.#parts.traces.find(turn.id)) {
      this.#turns.delete(turn.id);
      throw new CoreError('BUSY', { what: 'a turn', limit: 1 });
    }
    const cancel = () => this.#input({ kind: 'stop', id: turn.id });
    signal?.addEventListener('abort', cancel, { once: true });
    if (signal?.aborted) cancel();
    await turn.over.promise;
    signal?.removeEventListener('abort', cancel);
    return this.#parts.traces.find(turn.id)!;
  }

  /**
   * A turn of somebody who is heard in place of the microphone, until the sound ends. `began` is told the turn. Rejects
   * with BUSY, VOICE_MUTED, AUDIO_UNAVAILABLE.
   */
  async talk(sound: Hearable, began: (turn: string) => void, signal: AbortSignal): Promise<VoiceTurn> {
    const { state, muted } = this.machine;
    if (muted) throw new CoreError('VOICE_MUTED');
    // Nobody takes the ear from a turn that is under way.
    if (state !== 'idle' && state !== 'error') throw new CoreError('BUSY', { what: 'a turn', limit: 1 });
    let id = '';
    const released = () => this.#input({ kind: 'release', turn: id });
    const guest = { capture: sound.capture.bind(sound), released };
    this.attention.welcome(guest);
    try {
      const turn = this.turn('button', undefined, signal);
      id = this.machine.turn?.id ?? '';
      began(id);
      return await turn;
    } finally {
      this.attention.farewell(guest);
    }
  }

  async say(saying: Saying, signal: AbortSignal | undefined): Promise<void> {
    const id = randomUUID();
    const cancel = () => {
      if (!this.#parts.speaker.cancel(id)) this.#input({ kind: 'stop', id });
    };
    signal?.addEventListener('abort', cancel, { once: true });
    const pump = () => {
      if (signal?.aborted) cancel();
      this.#pump();
    };
    try {
      await this.#parts.speaker.announce(id, saying, pump);
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  /** At the end of the plugin. */
  async close(): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#parts.speaker.close();
    for (const turn of this.#turns.values()) {
      turn.stop.abort();
      if (this.#parts.traces.find(turn.id)?.outcome === 'running')
        this.#parts.traces.set(turn.id, { outcome: 'cancelled', code: 'CANCELLED' });
      turn.over.resolve();
    }
    await this.attention.close();
  }

  perform(effects: readonly Effect[], happening: Happening, before: Machine): void {
    if (happening.kind === 'unspoken') this.#unspoken = happening.error;
    for (const effect of effects) this.#do(effect, happening);
    const { until } = this.machine;
    if (until !== before.until) this.#watchTime(until);
  }

  settled(): void {
    this.#pump();
  }

  #watchTime(until: number): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    if (until === Number.POSITIVE_INFINITY || this.#parts.scope.signal.aborted) return;
    // Timers may be a little early.
    const ms = Math.max(0, Math.ceil(until - monotonicMs())) + 1;
    this.#timer = this.#parts.scope.timeout('time limit of the state', ms, () => {
      this.#input({ kind: 'time', speech: this.attention.ear?.speaking ?? false });
    });
  }

  #do(effect: Effect, { hit }: Happening): void {
    switch (effect.do) {
      case 'state': {
        const { state, turn } = effect;
        this.#parts.reports.state(state, turn);
        if (state === 'speaking') this.attention.ear?.refresh();
        break;
      }
      case 'begin':
        this.#begin(effect.turn, effect.source, hit);
        break;
      case 'listen':
        if (this.attention.ear) this.attention.ear.listen(effect.turn);
        else this.#input({ kind: 'deaf', code: 'AUDIO_UNAVAILABLE' });
        break;
      case 'think':
        void this.#think(effect.turn);
        this.attention.farewell();
        break;
      case 'abandon':
        this.#turns.get(effect.turn)?.stop.abort();
        this.attention.ear?.drop(effect.turn);
        this.attention.farewell();
        break;
      case 'speak':
        this.#speak(effect.id, effect.late === true);
        break;
      case 'hush':
        this.#parts.speaker.hush(effect.id);
        break;
      case 'end':
        this.#end(effect.turn, effect.outcome, effect.code);
        break;
      case 'announced':
        this.#announced(effect.code);
        break;
      case 'sound':
        this.#parts.speaker.sound(effect.sound);
        break;
    }
  }

  #input(input: Input): void {
    this.#parts.floor.input(input);
  }

  #make(text: string | undefined, id: string, trace?: TraceContext): Turn {
    const turn: Turn = { id, stop: new AbortController(), text, trace, over: Promise.withResolvers() };
    this.#turns.set(id, turn);
    return turn;
  }

  #begin(id: string, source: TurnSource, called: WakeHit | undefined): void {
    if (!this.#turns.has(id)) this.#make(undefined, id);
    const now = monotonicMs();
    const hit = source === 'wake' ? called : undefined;
    const { trace } = this.#turns.get(id)!;
    this.#parts.traces.begin(id, { source, began: Math.min(now, hit?.at ?? now), now, wakeword: hit?.phrase, trace });
    if (hit || source === 'button') this.#parts.reports.wake(id, source, hit);
    if (source === 'button' || source === 'follow-up') this.#parts.speaker.sound('wake');
  }

  async #think(id: string): Promise<void> {
    const turn = this.#turns.get(id)!;
    const { signal } = turn.stop;
    let told: Told | undefined;
    try {
      if (turn.text !== undefined) told = await this.#parts.thinker.read(turn.text, id, signal);
      else {
        const utterance = this.attention.ear?.take(id);
        told = utterance && (await this.#parts.thinker.hear(utterance, id, signal));
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#parts.log.error({ turn: id, reason: reasonOf(error) }, 'a turn failed');
      told = { outcome: 'failed', code: error instanceof CoreError ? error.code : 'INTERNAL' };
    }
    if (signal.aborted) return;
    if (!told) return this.#input({ kind: 'empty', turn: id });
    const { outcome, code, say, followUp } = told;
    turn.told = told;
    this.#input({
      kind: 'answer',
      turn: id,
      outcome,
      say: say !== undefined,
      ...(code && { code }),
      ...(followUp && { followUp: randomUUID() }),
    } as Input);
  }

  #speak(id: string, late: boolean): void {
    const announcement = this.#parts.speaker.take(id);
    if (announcement) {
      this.#announcing = announcement.done;
      return void this.#parts.speaker.speak(id, announcement);
    }
    const say = late ? this.#parts.late : (this.#turns.get(id)?.told?.say ?? '');
    this.#parts.traces.set(id, { said: say });
    void this.#parts.speaker.speak(id, { text: say });
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

  #end(id: string, outcome: VoiceTurn['outcome'], code: ErrorCode | undefined): void {
    this.#reason = code;
    this.#parts.traces.set(id, { outcome, ...(code && { code }) });
    this.#parts.traces.over(id, monotonicMs());
    const turn = this.#turns.get(id);
    this.#turns.delete(id);
    turn?.over.resolve();
    if (outcome === 'failed') this.#parts.log.warn({ turn: id, code }, 'a turn of the voice failed');
  }

  /** The next announcement, when nobody has the floor. */
  #pump(): void {
    const { next } = this.#parts.speaker;
    const { state } = this.machine;
    if (!next || this.#parts.floor.busy || (state !== 'idle' && state !== 'muted' && state !== 'error')) return;
    this.#input({ kind: 'announce', id: next.id });
  }

  state(): { readonly state: VoiceState; readonly turn?: string; readonly reason?: string } {
    const { state, turn } = this.machine;
    const { reason } = this;
    return { state, ...(turn && { turn: turn.id }), ...maybe({ reason }) };
  }
}
