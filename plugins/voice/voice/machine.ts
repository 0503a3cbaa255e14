/** The states of the voice (decisions D8, D12): a pure reducer. What it says is to be done, the conductor does. */
import { type ErrorCode, maybe } from '@device-core/plugin-api';
import type { FeedbackSound } from '@device-core/plugin-api/services/audio';
import type { VoiceState } from '@device-core/plugin-api/services/voice';

/** Milliseconds; every state but idle and muted ends after its own. */
export interface Limits {
  readonly listeningMs: number;
  readonly thinkingMs: number;
  /** Longest wait for the first sample. */
  readonly ttsStartMs: number;
  /** A turn, or an announcement, as a whole. */
  readonly turnMs: number;
  readonly errorMs: number;
  /** A second wake so soon after the first is the same one. */
  readonly refractoryMs: number;
  /** Turns without a wake phrase that may follow each other. */
  readonly followUps: number;
}

export type TurnSource = 'wake' | 'button' | 'follow-up' | 'text';
export type Ending = 'answered' | 'refused' | 'failed' | 'cancelled' | 'silent';

interface Turn {
  readonly id: string;
  readonly until: number;
  /** End of the time for a command, over all attempts. */
  readonly listenUntil: number;
  /** How many follow-ups came before it. */
  readonly chain: number;
  /** How it ends once its answer has been spoken. */
  readonly ending?: { readonly outcome: Ending; readonly code?: ErrorCode; readonly followUp?: string };
}

export interface Machine {
  readonly state: VoiceState;
  readonly muted: boolean;
  readonly turn?: Turn;
  /** The current announcement, outside of turns. */
  readonly announcement?: { readonly id: string; readonly until: number };
  /** When the state ends by itself. */
  readonly until: number;
  readonly wokeAt: number;
}

export const START: Machine = {
  state: 'idle',
  muted: false,
  until: Number.POSITIVE_INFINITY,
  wokeAt: Number.NEGATIVE_INFINITY,
};

export interface Answer {
  readonly outcome: 'answered' | 'refused' | 'failed';
  readonly code?: ErrorCode;
  /** There is something to be spoken. */
  readonly say: boolean;
  /** The id of the turn that follows without a wake phrase. */
  readonly followUp?: string;
}

export type Input =
  /** A new turn. */
  | { readonly kind: 'wake' | 'button' | 'ask'; readonly turn: string }
  | { readonly kind: 'announce'; readonly id: string }
  /** The command is over. */
  | { readonly kind: 'endpoint'; readonly turn: string }
  /** The button was released: no more speech comes. */
  | { readonly kind: 'release'; readonly turn: string }
  /** There was no command in what was heard. */
  | { readonly kind: 'empty'; readonly turn: string }
  | ({ readonly kind: 'answer'; readonly turn: string } & Answer)
  /** The first sample of a turn or an announcement was heard; the last; it could not be spoken. */
  | { readonly kind: 'speaking' | 'spoken'; readonly id: string }
  | { readonly kind: 'unspoken'; readonly id: string; readonly code: ErrorCode }
  /** A stop word, or whoever waits for the turn or announcement has gone. */
  | { readonly kind: 'stop'; readonly id?: string }
  /** The microphone or the engines were lost. */
  | { readonly kind: 'deaf'; readonly code: ErrorCode }
  | { readonly kind: 'mute'; readonly muted: boolean }
  /** Time has passed; `speech`: a command has begun. */
  | { readonly kind: 'time'; readonly speech?: boolean };

export type Effect =
  | { readonly do: 'state'; readonly state: VoiceState; readonly turn?: string }
  | { readonly do: 'begin'; readonly turn: string; readonly source: TurnSource }
  | { readonly do: 'listen'; readonly turn: string }
  | { readonly do: 'think'; readonly turn: string }
  /** Stop listening to, or working for, a turn. */
  | { readonly do: 'abandon'; readonly turn: string }
  /** Its answer; `late`: words for an answer that has not come. */
  | { readonly do: 'speak'; readonly id: string; readonly late?: true }
  | { readonly do: 'hush'; readonly id: string }
  | { readonly do: 'end'; readonly turn: string; readonly outcome: Ending; readonly code?: ErrorCode }
  | { readonly do: 'announced'; readonly id: string; readonly code?: ErrorCode }
  | { readonly do: 'sound'; readonly sound: FeedbackSound };

export interface Step {
  readonly machine: Machine;
  readonly effects: readonly Effect[];
}

const BEGINS: ReadonlySet<Effect['do']> = new Set(['listen', 'think', 'speak']);

/** Applies an input to the machine. Inputs that do not fit the state change nothing: they came too late. */
export function step(machine: Machine, input: Input, now: number, limits: Limits): Step {
  const effects: Effect[] = [];
  const next = new Reduction(machine, effects, now, limits).take(input);
  const shown = next.turn?.id ?? next.announcement?.id ?? machine.turn?.id ?? machine.announcement?.id;
  if (next.state !== machine.state || (next.turn && next.turn.id !== machine.turn?.id)) {
    // Ends come before the state, and the state before the first effect of the part that begins.
    const at = effects.findIndex((effect) => BEGINS.has(effect.do));
    const told: Effect = { do: 'state', state: next.state, ...maybe({ turn: shown }) };
    effects.splice(at < 0 ? effects.length : at, 0, told);
  }
  return { machine: next, effects };
}

class Reduction {
  readonly #from: Machine;
  readonly #effects: Effect[];
  readonly #now: number;
  readonly #limits: Limits;

  constructor(from: Machine, effects: Effect[], now: number, limits: Limits) {
    this.#from = from;
    this.#effects = effects;
    this.#now = now;
    this.#limits = limits;
  }

  take(input: Input): Machine {
    const { state, turn, announcement, muted } = this.#from;
    switch (input.kind) {
      case 'wake':
        return this.#wake(input.turn);
      case 'button':
        return muted || !this.#rests ? this.#from : this.#listening(input.turn, 'button', 0);
      case 'ask':
        return this.#rests ? this.#asked(input.turn) : this.#from;
      case 'announce':
        return this.#rests ? this.#announce(input.id) : this.#from;
      case 'endpoint':
        return state === 'listening' && turn?.id === input.turn ? this.#thinking() : this.#from;
      case 'release':
        return state === 'listening' && turn?.id === input.turn ? this.#thinking(this.#now) : this.#from;
      case 'empty':
        return state === 'thinking' && turn?.id === input.turn ? this.#again(turn) : this.#from;
      case 'answer':
        return state === 'thinking' && turn?.id === input.turn ? this.#answer(turn, input) : this.#from;
      case 'speaking':
        if (state !== 'speaking' || this.#spokenId !== input.id) return this.#from;
        return { ...this.#from, until: (turn ?? announcement)!.until };
      case 'spoken':
        return state === 'speaking' && this.#spokenId === input.id ? this.#spoken() : this.#from;
      case 'unspoken':
        return state === 'speaking' && this.#spokenId === input.id ? this.#unspoken(input.code) : this.#from;
      case 'stop':
        if (input.id !== undefined && input.id !== this.#spokenId) return this.#from;
        return this.#stop();
      case 'deaf':
        return state === 'listening' ? this.#fail(input.code) : this.#from;
      case 'mute':
        return this.#mute(input.muted);
      case 'time':
        return this.#now >= this.#from.until ? this.#late(input.speech === true) : this.#from;
    }
  }

  get #rests(): boolean {
    return this.#from.state === 'idle' || this.#from.state === 'muted' || this.#from.state === 'error';
  }

  get #spokenId(): string | undefined {
    return this.#from.turn?.id ?? this.#from.announcement?.id;
  }

  #wake(id: string): Machine {
    const { state, muted, wokeAt } = this.#from;
    // A call while it listens to a command changes nothing.
    if (muted || state === 'listening' || this.#now - wokeAt < this.#limits.refractoryMs) return this.#from;
    this.#leave('cancelled', 'CANCELLED');
    return { ...this.#listening(id, 'wake', 0), wokeAt: this.#now };
  }

  #listening(id: string, source: TurnSource, chain: number): Machine {
    const listenUntil = this.#now + this.#limits.listeningMs;
    this.#effects.push({ do: 'begin', turn: id, source }, { do: 'listen', turn: id });
    const turn = { id, chain, until: this.#now + this.#limits.turnMs, listenUntil };
    return this.#to('listening', listenUntil, turn);
  }

  #asked(id: string): Machine {
    this.#effects.push({ do: 'begin', turn: id, source: 'text' }, { do: 'think', turn: id });
    const turn = { id, chain: 0, until: this.#now + this.#limits.turnMs, listenUntil: this.#now };
    return this.#to('thinking', this.#now + this.#limits.thinkingMs, turn);
  }

  #announce(id: string): Machine {
    this.#effects.push({ do: 'speak', id });
    const announcement = { id, until: this.#now + this.#limits.turnMs };
    return { ...this.#to('speaking', this.#now + this.#limits.ttsStartMs), announcement };
  }

  #thinking(listenUntil = this.#from.turn!.listenUntil): Machine {
    const turn = { ...this.#from.turn!, listenUntil };
    this.#effects.push({ do: 'sound', sound: 'listening-end' }, { do: 'think', turn: turn.id });
    return this.#to('thinking', this.#now + this.#limits.thinkingMs, turn);
  }

  #again(turn: Turn): Machine {
    if (this.#now >= turn.listenUntil || this.#from.muted) return this.#silent();
    this.#effects.push({ do: 'listen', turn: turn.id });
    return this.#to('listening', turn.listenUntil, turn);
  }

  #answer(turn: Turn, { outcome, code, say, followUp }: Answer): Machine {
    const ending = { outcome, ...(code && { code }), ...maybe({ followUp }) };
    const answered = { ...turn, ending };
    if (say) return this.#speak(answered);
    this.#effects.push({
      do: 'sound',
      sound: outcome === 'answered' ? 'done' : outcome === 'refused' ? 'refused' : 'error',
    });
    return this.#close(answered);
  }

  #speak(turn: Turn, late = false): Machine {
    this.#effects.push({ do: 'speak', id: turn.id, ...(late && { late }) });
    return this.#to('speaking', this.#now + this.#limits.ttsStartMs, turn);
  }

  #spoken(): Machine {
    const { turn, announcement } = this.#from;
    if (turn) return this.#close(turn);
    this.#effects.push({ do: 'announced', id: announcement!.id });
    return this.#rest();
  }

  /** Its answer was given. */
  #close(turn: Turn): Machine {
    const { outcome, code, followUp } = turn.ending!;
    this.#effects.push({ do: 'end', turn: turn.id, outcome, ...(code && { code }) });
    if (followUp === undefined || this.#from.muted || turn.chain >= this.#limits.followUps) return this.#rest();
    return this.#listening(followUp, 'follow-up', turn.chain + 1);
  }

  #unspoken(code: ErrorCode): Machine {
    const { turn } = this.#from;
    // The work was done; its answer was not heard, which is the failure.
    const end = turn && turn.ending?.outcome === 'failed' ? (turn.ending.code ?? code) : code;
    return this.#fail(end);
  }

  #stop(): Machine {
    const { state } = this.#from;
    if (state !== 'listening' && state !== 'thinking' && state !== 'speaking') return this.#from;
    this.#leave('cancelled', 'CANCELLED');
    return this.#rest();
  }

  #silent(): Machine {
    this.#leave('silent');
    this.#effects.push({ do: 'sound', sound: 'listening-end' });
    return this.#rest();
  }

  #mute(muted: boolean): Machine {
    const { state } = this.#from;
    if (muted === this.#from.muted) return this.#from;
    this.#effects.push({ do: 'sound', sound: muted ? 'mute' : 'unmute' });
    const machine = { ...this.#from, muted };
    if (state === 'idle' || state === 'muted') return { ...machine, state: muted ? 'muted' : 'idle' };
    if (state !== 'listening' || !muted) return machine;
    this.#leave('cancelled', 'VOICE_MUTED');
    return { ...this.#rest(), muted, state: 'muted' };
  }

  /** The time of the state is over. */
  #late(speech: boolean): Machine {
    const { state, turn } = this.#from;
    if (state === 'error') return this.#rest();
    if (turn && this.#now >= turn.until) return this.#fail(turn.ending?.code ?? 'TIMEOUT');
    if (state === 'listening') return speech ? this.#thinking() : this.#silent();
    if (state !== 'thinking') return this.#fail(turn?.ending?.code ?? 'TIMEOUT');
    this.#effects.push({ do: 'abandon', turn: turn!.id });
    return this.#speak({ ...turn!, ending: { outcome: 'failed', code: 'TIMEOUT' } }, true);
  }

  #fail(code: ErrorCode): Machine {
    this.#leave('failed', code);
    this.#effects.push({ do: 'sound', sound: 'error' });
    return this.#to('error', this.#now + this.#limits.errorMs);
  }

  /** Ends what there is, unfinished. */
  #leave(outcome: Ending, code?: ErrorCode): void {
    const { state, turn, announcement } = this.#from;
    if (state === 'speaking') this.#effects.push({ do: 'hush', id: this.#spokenId! });
    else if (turn) this.#effects.push({ do: 'abandon', turn: turn.id });
    if (turn) this.#effects.push({ do: 'end', turn: turn.id, outcome, ...(code && { code }) });
    if (announcement) this.#effects.push({ do: 'announced', id: announcement.id, ...(code && { code }) });
  }

  #rest(): Machine {
    return this.#to(this.#from.muted ? 'muted' : 'idle', Number.POSITIVE_INFINITY);
  }

  /** No state lasts longer than its turn. */
  #to(state: VoiceState, until: number, turn?: Turn): Machine {
    const { muted, wokeAt } = this.#from;
    return { state, muted, wokeAt, until: Math.min(until, turn?.until ?? until), ...maybe({ turn }) };
  }
}
