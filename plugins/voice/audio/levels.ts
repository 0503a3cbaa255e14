/**
 * How loud and how bright what is played sounds, for who shows it: a mouth, a meter. Computed for those who listen, and
 * while something plays.
 */

import type { Scope } from '@device-core/plugin-api';
import { Latest } from '@device-core/plugin-api/audio';
import { type AudioPriority, monotonicMs } from '@device-core/plugin-api/services/audio';
import type { AudioLevel } from '@device-core/plugin-api/services/renderer';
import type { Sound } from './sound.ts';

/** Levels that wait for one reader: 5 s. */
const QUEUE = 125;
const WINDOW_MS = 40;
/** Windows of a run whose first sample has no time yet. */
const MOST_EARLY = 32;
/** Windows that are on their way to the speaker, which may tell that they come later. */
const MOST_LATELY = 16;
/** Below it is the dark half of a voice. Hz. */
const SPLIT_HZ = 1_000;
const DIGITS = 1_000;

interface Reader {
  readonly priority: AudioPriority | undefined;
  readonly queue: Latest<AudioLevel>;
}

export interface LevelsOptions {
  readonly priority?: AudioPriority;
  readonly signal: AbortSignal;
}

export class Levels {
  readonly #readers = new Set<Reader>();
  readonly #scope: Scope;
  readonly #onLoss: (levels: number) => void;

  constructor(scope: Scope, onLoss: (levels: number) => void) {
    this.#scope = scope;
    this.#onLoss = onLoss;
  }

  get readers(): Iterable<Reader> {
    return this.#readers;
  }

  async *listen({ priority, signal }: LevelsOptions): AsyncGenerator<AudioLevel> {
    if (signal.aborted) return;
    const reader = { priority, queue: new Latest<AudioLevel>(QUEUE) };
    const stop = () => reader.queue.close();
    this.#readers.add(reader);
    signal.addEventListener('abort', stop, { once: true });
    this.#scope.signal.addEventListener('abort', stop, { once: true });
    try {
      yield* reader.queue;
    } finally {
      signal.removeEventListener('abort', stop);
      this.#scope.signal.removeEventListener('abort', stop);
      this.#readers.delete(reader);
      if (reader.queue.dropped > 0) this.#onLoss(reader.queue.dropped);
    }
  }

  /** The speaker begins to play at this rate. */
  run(rate: number): LevelRun {
    return new LevelRun(this, rate);
  }
}

/** Levels of one run of the speaker, which begins at a time that is known only after its first blocks were mixed. */
export class LevelRun {
  readonly #levels: Levels;
  readonly #rate: number;
  readonly #meters = new Map<Reader, Meter>();
  #at: number | undefined;

  constructor(levels: Levels, rate: number) {
    this.#levels = levels;
    this.#rate = rate;
  }

  /** Its first sample is heard at that time; after a gap in the device it is told again. */
  started(at: number): void {
    const later = this.#at !== undefined && at > this.#at;
    this.#at = at;
    for (const meter of this.#meters.values()) meter.started(at, later);
  }

  /** Adds the output of `sounds` for the block at that position of the run. */
  add(sounds: readonly Sound[], position: number, length: number): void {
    for (const reader of this.#levels.readers) {
      const { priority } = reader;
      const heard = priority === undefined ? sounds : sounds.filter((sound) => sound.priority === priority);
      let meter = this.#meters.get(reader);
      if (!meter && heard.length > 0) {
        meter = new Meter(reader.queue, this.#rate, this.#at);
        this.#meters.set(reader, meter);
      }
      meter?.add(heard, position, length);
    }
  }

  /** Nothing more of it is heard. */
  end(position: number): void {
    for (const meter of this.#meters.values()) meter.end(position);
    this.#meters.clear();
  }
}

class Meter {
  readonly #queue: Latest<AudioLevel>;
  readonly #rate: number;
  readonly #share: number;
  readonly #window: number;
  #at: number | undefined;
  /** With milliseconds since the beginning of the run. */
  readonly #early: { readonly since: number; readonly level: Omit<AudioLevel, 'at'> }[] = [];
  readonly #lately: { readonly since: number; readonly level: Omit<AudioLevel, 'at'> }[] = [];
  #dark = 0;
  /** Sums of the window that is being filled. */
  #from: number | undefined;
  #energy = 0;
  #deep = 0;
  #bright = 0;
  #samples = 0;
  #silent = true;

  constructor(queue: Latest<AudioLevel>, rate: number, at: number | undefined) {
    this.#queue = queue;
    this.#rate = rate;
    this.#at = at;
    this.#share = 1 - Math.exp((-2 * Math.PI * SPLIT_HZ) / rate);
    this.#window = Math.round((rate * WINDOW_MS) / 1_000);
  }

  started(at: number, later: boolean): void {
    this.#at = at;
    if (later) this.#later(at);
    for (const { since, level } of this.#early.splice(0)) this.#give(since, level);
  }

  add(sounds: readonly Sound[], position: number, length: number): void {
    if (sounds.length === 0) {
      this.end(position);
      return;
    }
    this.#from ??= position;
    for (let index = 0; index < length; index++) {
      let sample = 0;
      for (const { block, gain } of sounds) sample += ((block[index] ?? 0) * gain) / 32_768;
      this.#dark += (sample - this.#dark) * this.#share;
      const bright = sample - this.#dark;
      this.#energy += sample * sample;
      this.#deep += this.#dark * this.#dark;
      this.#bright += bright * bright;
    }
    this.#samples += length;
    if (this.#samples >= this.#window) this.#tell();
  }

  /** One silence, and no more until there is something to hear. */
  end(position: number): void {
    if (this.#samples > 0) this.#tell();
    if (this.#silent) return;
    this.#silent = true;
    this.#dark = 0;
    this.#give(this.#since(position), { rms: 0, brightness: 0 });
  }

  #tell(): void {
    const rms = rounded(Math.min(1, Math.sqrt(this.#energy / this.#samples)));
    const both = this.#bright + this.#deep;
    const brightness = both > 0 ? rounded(this.#bright / both) : 0;
    this.#silent = false;
    this.#give(this.#since(this.#from!), { rms, brightness });
    this.#from = undefined;
    this.#energy = 0;
    this.#deep = 0;
    this.#bright = 0;
    this.#samples = 0;
  }

  #since(position: number): number {
    return (position / this.#rate) * 1_000;
  }

  #give(since: number, level: Omit<AudioLevel, 'at'>): void {
    if (this.#at === undefined) {
      this.#early.push({ since, level });
      if (this.#early.length > MOST_EARLY) this.#early.shift();
      return;
    }
    this.#queue.push({ at: this.#at + since, ...level });
    this.#lately.push({ since, level });
    if (this.#lately.length > MOST_LATELY) this.#lately.shift();
  }

  /** Moves windows that are still to come behind the gap, which is silent. */
  #later(at: number): void {
    const now = monotonicMs();
    const moved = this.#lately.filter(({ since }) => at + since >= now);
    if (moved.length === 0) return;
    this.#queue.push({ at: now, rms: 0, brightness: 0 });
    for (const { since, level } of moved) this.#queue.push({ at: at + since, ...level });
  }
}

const rounded = (value: number): number => Math.round(value * DIGITS) / DIGITS;
