/** Sounds of many owners, mixed for the one speaker, in runs that begin with the first sound and end with the last. */

import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';
import { waitUntil } from '@device-core/plugin-api/audio';
import {
  type AudioDevice,
  type AudioPriority,
  monotonicMs,
  type PcmChunk,
  type PlayOptions,
} from '@device-core/plugin-api/services/audio';
import type { FarEnd, FarRun } from './far-end.ts';
import type { LevelRun, Levels } from './levels.ts';
import { Mixer, type Voice } from './mixer.ts';
import { Sound } from './sound.ts';

export interface PlayerOptions {
  readonly scope: Scope;
  readonly volume: number;
  readonly duckDb: number;
  readonly sounds: number;
  readonly soundsPerOwner: number;
  readonly stallMs: number;
  readonly onChange: () => void;
  /** Told what is heard, and when. */
  readonly farEnd: FarEnd;
  readonly levels: Levels;
}

interface Speaker {
  readonly device: AudioDevice;
  readonly rate: number;
  readonly gone: AbortSignal;
}

/** One play() of the device. */
interface Run {
  readonly speaker: Speaker;
  readonly far: FarRun;
  readonly levels: LevelRun;
  /** Monotonic time of its first sample. */
  at: number | undefined;
  /** Samples that were mixed so far. */
  position: number;
  /** Those that were mixed to their end and are not heard to it yet. */
  readonly ending: Set<Sound>;
  /** There was nothing left to mix. */
  complete: boolean;
}

const BLOCK_MS = 20;
/** Blocks that may be mixed ahead of the clock, for a device that reads ahead across a border. */
const MOST_AHEAD = 5;
/** A little faster than the clock, or a speaker whose clock is faster than ours would run dry. */
const PACE = 1.02;
/** The speaker is kept for a sound that has nothing to give in its middle. */
const MOST_GAP_MS = 2_000;
const GAP_BLOCKS = MOST_GAP_MS / BLOCK_MS;

export class Player {
  readonly mixer: Mixer;
  readonly #options: PlayerOptions;
  readonly #sounds = new Set<Sound>();
  #speaker: Speaker | undefined;
  #run: Run | undefined;
  #gaps = 0;
  /** The last of sounds that were given up, for the next block. */
  readonly #fading: Voice[] = [];

  constructor(options: PlayerOptions) {
    this.#options = options;
    this.mixer = new Mixer(options.duckDb, options.volume);
  }

  get playing(): readonly { readonly owner: string; readonly priority: AudioPriority }[] {
    return [...this.#sounds].map(({ owner, priority }) => ({ owner, priority }));
  }

  /** How often a sound had nothing to give in its middle. */
  get gaps(): number {
    return this.#gaps;
  }

  /** Hz of the speaker; undefined where there is none. */
  get rate(): number | undefined {
    return this.#speaker?.rate;
  }

  /** Rejects with AUDIO_UNAVAILABLE. */
  async attach(device: AudioDevice, scope: Scope): Promise<void> {
    const { playRate } = await device.info();
    const speaker = { device, rate: playRate, gone: scope.signal };
    this.#speaker = speaker;
    scope.defer('speaker in use', () => {
      if (this.#speaker !== speaker) return;
      this.#speaker = undefined;
      this.#failAll('the speaker has gone');
    });
  }

  async play(source: AsyncIterable<PcmChunk>, options: PlayOptions): Promise<void> {
    const { scope, sounds, soundsPerOwner, stallMs, onChange } = this.#options;
    const { signal, owner } = options;
    const what = 'a sound';
    const cancelled = () => new CoreError('CANCELLED', { what, reason: 'the caller no longer listens' });
    if (signal?.aborted) throw cancelled();
    if (!this.#speaker)
      throw new CoreError('AUDIO_UNAVAILABLE', { verb: 'play', reason: 'no plugin provides a speaker' });
    if (this.#sounds.size >= sounds) throw new CoreError('BUSY', { what, limit: sounds });
    const own = [...this.#sounds].filter((sound) => sound.owner === owner).length;
    if (own >= soundsPerOwner) throw new CoreError('BUSY', { what: `${what} of ${owner}`, limit: soundsPerOwner });
    const { rate } = this.#speaker;
    const sound = new Sound(source, { ...options, rate, scope, stallMs, onReady: () => this.#start() });
    const stop = () => {
      const tail = sound.fadeOut();
      if (tail && this.#run) this.#fading.push(tail);
      sound.fail(cancelled());
    };
    const stopped = () => sound.fail(scope.signal.reason);
    this.#sounds.add(sound);
    signal?.addEventListener('abort', stop, { once: true });
    scope.signal.addEventListener('abort', stopped, { once: true });
    onChange();
    try {
      await sound.outcome.promise;
    } finally {
      signal?.removeEventListener('abort', stop);
      scope.signal.removeEventListener('abort', stopped);
      this.#sounds.delete(sound);
      this.#gaps += sound.gaps;
      onChange();
    }
  }

  /** Some sound has something to give, or has come to its end. */
  #start(): void {
    for (const sound of this.#sounds) {
      // It had nothing to give, or nothing more after a long gap.
      if (sound.over && sound.from === undefined && !sound.settled) sound.finish();
    }
    if (this.#run || !this.#speaker || ![...this.#sounds].some(({ ready }) => ready)) return;
    const speaker = this.#speaker;
    const far = this.#options.farEnd.run(speaker.rate);
    const levels = this.#options.levels.run(speaker.rate);
    const run = { speaker, far, levels, at: undefined, position: 0, ending: new Set<Sound>(), complete: false };
    this.#run = run;
    this.mixer.rest();
    void this.#play(run);
  }

  async #play(run: Run): Promise<void> {
    const { device, gone } = run.speaker;
    try {
      await device.play(this.#blocks(run), {
        signal: AbortSignal.any([gone, this.#options.scope.signal]),
        started: (at) => this.#started(run, at),
      });
      if (!run.complete && !gone.aborted) this.#failAll('the speaker ended in the middle');
      for (const sound of run.ending) sound.finish();
    } catch (error) {
      this.#failAll(reasonOf(error), error);
    }
    run.levels.end(run.position);
    this.#run = undefined;
    this.#fading.length = 0;
    for (const sound of this.#sounds) sound.from = undefined;
    if (!this.#options.scope.signal.aborted) this.#start();
  }

  #started(run: Run, at: number): void {
    const again = run.at !== undefined;
    run.at = at;
    run.far.started(at);
    run.levels.started(at);
    if (again) return;
    for (const sound of this.#sounds) if (sound.from !== undefined) sound.started(this.#timeOf(run, sound.from));
    for (const sound of run.ending) void this.#finishWhenHeard(run, sound);
  }

  async *#blocks(run: Run): AsyncGenerator<Int16Array> {
    const { scope } = this.#options;
    const length = Math.round((run.speaker.rate * BLOCK_MS) / 1_000);
    const began = monotonicMs();
    let silent = 0;
    for (let block = 0; ; block++) {
      await waitUntil(scope, began + ((block - MOST_AHEAD) * BLOCK_MS) / PACE);
      if (scope.signal.aborted || run.speaker.gone.aborted) return;
      const sounds = [...this.#sounds].filter((sound) => sound.ready);
      const fading = this.#fading.splice(0);
      const halting = [...this.#sounds].some((sound) => sound.from !== undefined && !sound.over);
      silent = sounds.length + fading.length > 0 ? 0 : silent + 1;
      if (silent > 0 && (!halting || silent > GAP_BLOCKS)) break;
      const mixed = this.mixer.mix([...sounds, ...fading], length);
      for (const sound of sounds) this.#mixed(run, sound, length);
      run.far.add(mixed, run.position);
      run.levels.add(sounds, run.position, length);
      run.position += length;
      yield mixed;
    }
    run.complete = true;
  }

  /** A sound gave what it had for the block at the position of the run. */
  #mixed(run: Run, sound: Sound, length: number): void {
    if (sound.from === undefined) {
      sound.from = run.position;
      if (run.at !== undefined) sound.started(this.#timeOf(run, sound.from));
    }
    if (sound.over) {
      sound.to = run.position + sound.taken;
      run.ending.add(sound);
      void this.#finishWhenHeard(run, sound);
    } else if (sound.taken < length) sound.gaps++;
  }

  /** The run may go on with other sounds. */
  async #finishWhenHeard(run: Run, sound: Sound): Promise<void> {
    if (run.at === undefined || sound.to === undefined) return;
    // A gap in the device makes it later.
    for (let at = 0; at < this.#timeOf(run, sound.to); ) {
      at = this.#timeOf(run, sound.to);
      if (!(await waitUntil(this.#options.scope, at, run.speaker.gone))) return;
    }
    sound.finish();
  }

  #timeOf(run: Run, position: number): number {
    return (run.at ?? monotonicMs()) + (position / run.speaker.rate) * 1_000;
  }

  #failAll(reason: string, cause?: unknown): void {
    const told = cause instanceof CoreError && cause.code === 'AUDIO_UNAVAILABLE';
    const error = told ? cause : new CoreError('AUDIO_UNAVAILABLE', { verb: 'play', reason }, { cause });
    for (const sound of [...this.#sounds]) sound.fail(error);
  }
}
