/** Listens: speech is told from silence, and what may begin with a wake phrase goes to the engines before anybody knows that it does. */

import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';
import { type Audio, type AudioFrame, FRAME_MS, monotonicMs } from '@device-core/plugin-api/services/audio';
import type { Speech, Transcript, VadResult, WakeHit, WakePhrase } from '@device-core/plugin-api/services/speech';
import { type FrameReader, FrameRing } from './frame-ring.ts';
import { type Completeness, type TranscribeLocally, Utterance } from './utterance.ts';

export interface EarSettings {
  /** Sound kept from before the onset of speech. */
  readonly preRollMs: number;
  /** Speech of so many of the last five frames is an onset. */
  readonly onsetFrames: number;
  /** Silence that ends a command, by its completeness: whole, number, open, part. */
  readonly endpointFastMs: number;
  readonly endpointNumberMs: number;
  readonly endpointOpenMs: number;
  readonly endpointSlowMs: number;
  /** Speech after the wake phrase that may be a command. */
  readonly leastCommandMs: number;
  readonly mostCommandMs: number;
  /** The engine for commands follows speech so long while no wake phrase comes. */
  readonly speculateMs: number;
}

/** Events of the ear, and its questions. */
export interface EarEvents {
  /** The phrases to look for now; none: nobody can call. */
  phrases(): readonly WakePhrase[];
  /** Commands may be decoded before the wake phrase is known. */
  speculates(): boolean;
  /** For the command of an utterance; undefined: local engines are not asked. */
  transcriber(): TranscribeLocally | undefined;
  /** A phrase: `listen` is called meanwhile if it is to be followed. */
  wake(hit: WakeHit): void;
  /** It is known which utterance is the command of a turn. */
  command(turn: string, utterance: Utterance): void;
  partial(turn: string, transcript: Transcript): void;
  /** Is it a whole sentence, and do longer ones begin with it? */
  complete(text: string): Promise<Completeness>;
  /** The command is over. */
  endpoint(turn: string): void;
  /** Somebody called, and is silent now: time for a sound. */
  pause(turn: string): void;
  /** An engine failed that is not needed to listen on. */
  problem(part: 'wake', reason: string | undefined): void;
}

/** A microphone, or somebody who talks through a client. */
export type Hearable = Pick<Audio, 'capture'>;

interface Segment {
  readonly since: number;
  readonly pipe: FrameReader;
  readonly stop: AbortController;
  utterance: Utterance | undefined;
  lastSpeechAt: number;
}

interface Command {
  readonly turn: string;
  /** Speech after this may be of the command. */
  readonly from: number;
  utterance: Utterance | undefined;
  /** Its wake phrase was answered by a sound, or is not to be. */
  paused: boolean;
}

const RING_FRAMES = 3000 / FRAME_MS;
const VAD_FRAMES = 1000 / FRAME_MS;
const OWNER = 'plugin:voice';
/** A command begins at most so long before the reported end of its wake phrase: engines cannot tell exactly. */
const BEFORE_HIT_MS = 100;
/** An engine may tell of a phrase so long after the last of its frames. */
const LATE_HIT_MS = 2_000;
/** Frames of that time, with some to spare. */
const LATE_FRAMES = (LATE_HIT_MS + 500) / FRAME_MS;
/** Longer than any wake phrase. */
const PHRASE_MS = 1_500;
const PAUSE_MS = 200;
const END_MS = 1_000;

export class Ear {
  readonly #audio: Hearable;
  readonly #ends: boolean;
  readonly #speech: Speech;
  readonly #settings: EarSettings;
  readonly #events: EarEvents;
  readonly #scope: Scope;
  readonly #ring = new FrameRing(RING_FRAMES, LATE_FRAMES);
  #recent: boolean[] = [];
  #segment: Segment | undefined;
  readonly #segments = new Set<Segment>();
  #hit: { readonly segment: Segment; readonly hit: WakeHit } | undefined;
  #command: Command | undefined;
  #judging = false;

  constructor(parts: {
    readonly audio: Hearable;
    /** The end of its sound is the end of what is said, no loss. */
    readonly ends?: boolean;
    readonly speech: Speech;
    readonly settings: EarSettings;
    readonly events: EarEvents;
    readonly scope: Scope;
  }) {
    this.#audio = parts.audio;
    this.#ends = parts.ends ?? false;
    this.#speech = parts.speech;
    this.#settings = parts.settings;
    this.#events = parts.events;
    this.#scope = parts.scope;
  }

  /**
   * Runs until the signal, or the end of a sound that may end. Rejects when the microphone or the detection of speech
   * is lost.
   */
  async run(signal: AbortSignal): Promise<void> {
    const stop = new AbortController();
    const either = AbortSignal.any([signal, stop.signal]);
    const pipe = this.#ring.follow(VAD_FRAMES);
    const capture = async () => {
      for await (const frame of this.#audio.capture({ owner: OWNER, signal: either })) {
        if (either.aborted) return;
        this.#take(frame);
      }
      pipe.close();
      if (!either.aborted && !this.#ends)
        throw new CoreError('AUDIO_UNAVAILABLE', { verb: 'listen', reason: 'the microphone has ended' });
    };
    const judge = async () => {
      for await (const result of this.#speech.detectSpeech(pipe.frames, { signal: either })) {
        if (either.aborted) return;
        this.#judge(result);
      }
      if (!either.aborted && !this.#ends)
        throw new CoreError('SPEECH_FAILED', { engine: 'vad', reason: 'it has ended' });
    };
    const both = [capture(), judge()];
    try {
      await this.#scope.within('listening', Number.POSITIVE_INFINITY, () => Promise.all(both), { signal: either });
    } catch (error) {
      if (!signal.aborted && !this.#scope.signal.aborted) throw error;
    } finally {
      stop.abort();
      pipe.close();
      for (const segment of [...this.#segments]) this.#drop(segment);
      this.#segment = undefined;
      this.#ring.clear();
      this.#recent = [];
      // Wait up to END_MS so that no frame is read after a mute; the first error was already reported.
      const end = this.#scope.within('end of the capture', END_MS, () => Promise.allSettled(both));
      await end.catch(() => undefined);
    }
  }

  /** Takes the next speech as the command of a turn: called while a wake phrase is reported, from that phrase on. */
  listen(turn: string): void {
    const called = this.#hit;
    const from = called?.hit.at ?? monotonicMs();
    this.#command = { turn, from, utterance: undefined, paused: called === undefined };
    if (!called) {
      if (this.#segment) this.#adopt(this.#begin([]));
      return;
    }
    const { segment, hit } = called;
    const usable = segment.utterance && hit.at - segment.since <= this.#settings.speculateMs;
    if (!usable) segment.utterance?.abort();
    const utterance = usable ? segment.utterance! : this.#begin(this.#ring.since(hit.at - BEFORE_HIT_MS));
    segment.utterance = undefined;
    segment.stop.abort();
    utterance.calledAt(hit.at - PHRASE_MS);
    utterance.lastSpeechAt = segment.lastSpeechAt;
    utterance.speechMs = Math.max(0, segment.lastSpeechAt - hit.at - BEFORE_HIT_MS);
    this.#adopt(utterance);
  }

  /** Looks for other phrases from now on. */
  refresh(): void {
    if (this.#segment && !this.#command) this.#endOf(this.#segment);
  }

  /** Frames that an engine did not take in time. */
  get lost(): number {
    return this.#ring.lost;
  }

  /** When the newest frame was captured. */
  get newestAt(): number | undefined {
    return this.#ring.newest?.at;
  }

  /** Has a command begun? */
  get speaking(): boolean {
    const utterance = this.#command?.utterance;
    return utterance !== undefined && this.#isCommand(utterance);
  }

  /** The command of the turn as far as it was heard, which ends it. */
  take(turn: string): Utterance | undefined {
    if (this.#command?.turn !== turn) return undefined;
    const { utterance } = this.#command;
    this.#command = undefined;
    utterance?.close();
    // Later speech may be another call.
    if (this.#segment) this.#endOf(this.#segment);
    return utterance;
  }

  drop(turn: string): void {
    this.take(turn)?.abort();
  }

  #take(frame: AudioFrame): void {
    this.#ring.push(frame);
    const segment = this.#segment;
    if (segment?.utterance) {
      if (frame.at - segment.since > this.#settings.speculateMs) {
        segment.utterance.abort();
        segment.utterance = undefined;
      } else segment.utterance.push(frame);
    }
    this.#command?.utterance?.push(frame);
  }

  #judge({ seq, speech }: VadResult): void {
    const { newest } = this.#ring;
    if (!newest) return;
    const at = newest.at - (newest.seq - seq) * FRAME_MS;
    this.#recent = [...this.#recent.slice(-4), speech];
    if (!this.#segment && this.#recent.filter(Boolean).length >= this.#settings.onsetFrames) this.#onset(at);
    if (speech && this.#segment) this.#segment.lastSpeechAt = at;
    if (this.#command) this.#judgeCommand(this.#command, at, speech);
    const segment = this.#segment;
    if (segment && at - segment.lastSpeechAt >= this.#settings.endpointSlowMs) this.#endOf(segment);
  }

  #judgeCommand(command: Command, at: number, speech: boolean): void {
    const { utterance, turn } = command;
    if (!utterance) return;
    if (speech) {
      utterance.lastSpeechAt = at;
      if (at > command.from + BEFORE_HIT_MS) utterance.speechMs += FRAME_MS;
    }
    const silence = at - utterance.lastSpeechAt;
    const { endpointFastMs, endpointNumberMs, endpointOpenMs, endpointSlowMs } = this.#settings;
    if (this.#isCommand(utterance)) {
      const waits = { whole: endpointFastMs, number: endpointNumberMs, open: endpointOpenMs, part: endpointSlowMs };
      if (silence >= waits[utterance.complete] || utterance.closed) this.#events.endpoint(turn);
      return;
    }
    if (!command.paused && silence >= PAUSE_MS) {
      command.paused = true;
      this.#events.pause(turn);
    }
    if (silence < endpointSlowMs) return;
    // It was only the wake phrase, or a click: the command comes with the next speech.
    utterance.abort();
    command.utterance = undefined;
  }

  #isCommand(utterance: Utterance): boolean {
    return utterance.speechMs >= this.#settings.leastCommandMs || (utterance.latest?.text ?? '') !== '';
  }

  #onset(at: number): void {
    const { preRollMs, onsetFrames } = this.#settings;
    const since = at - onsetFrames * FRAME_MS - preRollMs;
    const before = this.#ring.since(since);
    const segment: Segment = {
      since,
      pipe: this.#ring.follow(RING_FRAMES, before.length),
      stop: new AbortController(),
      utterance: undefined,
      lastSpeechAt: at,
    };
    this.#segment = segment;
    this.#segments.add(segment);
    if (this.#command) {
      if (!this.#command.utterance) this.#adopt(this.#begin(before));
    } else if (this.#events.speculates()) segment.utterance = this.#begin(before);
    void this.#watch(segment, this.#command ? [] : this.#events.phrases());
  }

  /** Speech is over; the engine for wake phrases may still tell. */
  #endOf(segment: Segment): void {
    segment.pipe.close();
    segment.utterance?.close();
    if (this.#segment === segment) this.#segment = undefined;
    this.#recent = [];
    this.#scope.timeout('late wake phrase', LATE_HIT_MS, () => this.#drop(segment));
  }

  #drop(segment: Segment): void {
    this.#segments.delete(segment);
    segment.pipe.close();
    segment.stop.abort();
    segment.utterance?.abort();
    segment.utterance = undefined;
  }

  async #watch(segment: Segment, phrases: readonly WakePhrase[]): Promise<void> {
    if (phrases.length === 0) return;
    try {
      for await (const hit of this.#speech.detectWake(segment.pipe.frames, { phrases, signal: segment.stop.signal })) {
        if (segment.stop.signal.aborted) return;
        this.#hit = { segment, hit };
        this.#events.wake(hit);
        this.#hit = undefined;
      }
      this.#events.problem('wake', undefined);
    } catch (error) {
      if (!segment.stop.signal.aborted) this.#events.problem('wake', reasonOf(error));
    } finally {
      this.#hit = undefined;
      if (this.#segment !== segment) this.#drop(segment);
    }
  }

  #begin(frames: readonly AudioFrame[]): Utterance {
    const { mostCommandMs } = this.#settings;
    const utterance = new Utterance(
      frames.at(-1)?.at ?? monotonicMs(),
      Math.ceil(mostCommandMs / FRAME_MS),
      this.#events.transcriber(),
    );
    for (const frame of frames) utterance.push(frame);
    return utterance;
  }

  #adopt(utterance: Utterance): void {
    const command = this.#command!;
    const { turn } = command;
    command.utterance = utterance;
    utterance.onPartial = (transcript) => {
      this.#events.partial(turn, transcript);
      void this.#complete(utterance);
    };
    this.#events.command(turn, utterance);
    if (utterance.latest) utterance.onPartial(utterance.latest);
  }

  /** One question at a time, the last one about the latest words. */
  async #complete(utterance: Utterance): Promise<void> {
    if (this.#judging) return;
    this.#judging = true;
    try {
      for (let asked: string | undefined; asked !== utterance.latest?.text; ) {
        asked = utterance.latest?.text ?? '';
        utterance.complete = asked === '' ? 'part' : await this.#events.complete(asked);
      }
    } finally {
      this.#judging = false;
    }
  }
}
