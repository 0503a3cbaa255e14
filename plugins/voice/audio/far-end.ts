/** Sound of the speaker, by the clock of the microphone: input of an echo canceller. */

import { Resampler } from '@device-core/plugin-api/audio';
import { CAPTURE_RATE, FRAME_MS, monotonicMs } from '@device-core/plugin-api/services/audio';

const PER_MS = CAPTURE_RATE / 1_000;
/**
 * Room for samples mixed ahead of the clock, and for those that a late frame of the microphone still needs: a power
 * of two of samples, 4 s.
 */
const KEPT = 65_536;
/** An echo goes on in the room after the sound has ended. */
const REVERB_MS = 600;
/** Blocks of a run whose first sample has no time yet. */
const MOST_EARLY = 50;
/** Blocks that are on their way to the speaker, which may tell that they come later. */
const MOST_LATELY = 16;

export class FarEnd {
  /** Somebody wants to know: it costs nothing otherwise. */
  wanted = false;
  readonly #ring = new Int16Array(KEPT);
  /** Sample of the clock after the last that is known. */
  #end = 0;
  /** And after the last that is not silent. */
  #loud = Number.NEGATIVE_INFINITY;

  /** The speaker begins to play at this rate. */
  run(rate: number): FarRun {
    return new FarRun(this, rate);
  }

  /** Is there an echo to be heard at that time, in milliseconds of the monotonic clock? */
  echoes(at: number): boolean {
    return at * PER_MS < this.#loud + REVERB_MS * PER_MS;
  }

  /** Samples that end at that time. */
  take(at: number, length: number): Int16Array<ArrayBuffer> {
    const from = Math.round(at * PER_MS) - length;
    const samples = new Int16Array(length);
    const first = Math.max(0, this.#end - KEPT - from);
    const last = Math.min(length, this.#end - from);
    for (let index = first; index < last; index++) samples[index] = this.#ring[(from + index) % KEPT]!;
    return samples;
  }

  put(samples: Int16Array, at: number): void {
    const from = Math.round(at * PER_MS);
    // Between two sounds there was silence.
    for (let index = Math.max(this.#end, from - KEPT); index < from; index++) this.#ring[index % KEPT] = 0;
    for (const [index, sample] of samples.entries()) this.#ring[(from + index) % KEPT] = sample;
    this.#end = Math.max(this.#end, from + samples.length);
    if (samples.some((sample) => sample !== 0)) this.#loud = Math.max(this.#loud, from + samples.length);
  }
}

/** One run of the speaker, which begins at a time that is known only after its first blocks were mixed. */
export class FarRun {
  readonly #end: FarEnd;
  readonly #rate: number;
  #at: number | undefined;
  #early: { readonly samples: Int16Array; readonly position: number }[] = [];
  #resampler: { readonly run: Resampler; readonly from: number; given: number } | undefined;
  /** With milliseconds since the beginning of the run. */
  readonly #lately: { readonly samples: Int16Array; readonly since: number }[] = [];

  constructor(end: FarEnd, rate: number) {
    this.#end = end;
    this.#rate = rate;
  }

  /** Its first sample is heard at that time; after a gap in the device it is told again. */
  started(at: number): void {
    const before = this.#at;
    this.#at = at;
    if (before !== undefined && at > before) this.#later(before, at);
    for (const { samples, position } of this.#early.splice(0)) this.add(samples, position);
  }

  /** Adds the samples heard from that position of the run on. */
  add(samples: Int16Array, position: number): void {
    if (!this.#end.wanted) {
      this.#resampler = undefined;
      this.#early = [];
      return;
    }
    if (this.#at === undefined) {
      if (this.#early.length < MOST_EARLY) this.#early.push({ samples, position });
      return;
    }
    this.#resampler ??= { run: new Resampler(this.#rate, CAPTURE_RATE), from: position, given: 0 };
    const { run, from, given } = this.#resampler;
    const brought = run.push(samples);
    const since = (from / this.#rate) * 1_000 + given / PER_MS;
    this.#end.put(brought, this.#at + since);
    this.#resampler.given = given + brought.length;
    this.#lately.push({ samples: brought, since });
    if (this.#lately.length > MOST_LATELY) this.#lately.shift();
  }

  /** Moves samples that are still to come behind the gap. */
  #later(before: number, at: number): void {
    const now = monotonicMs();
    const moved = this.#lately.filter(({ since }) => at + since >= now);
    const [first] = moved;
    if (!first) return;
    const gap = Math.min(KEPT, Math.ceil((at - before) * PER_MS));
    this.#end.put(new Int16Array(gap), before + first.since);
    for (const { samples, since } of moved) this.#end.put(samples, at + since);
  }
}

/** Times of frames jitter, and an echo canceller does not bear that: here they follow each other in even steps. */
const JUMP_MS = 60;
const BEAR_MS = 2;
const SLOWLY = 0.02;
/** One sample a frame. */
const STEP_MS = 1 / PER_MS;

export class NearClock {
  #last: { readonly seq: number; readonly at: number } | undefined;
  /** How much later frames come than in even steps. */
  #drift = 0;

  /** When the last sample of a frame was captured, as far as the frames before it tell. */
  follow({ seq, at }: { readonly seq: number; readonly at: number }): number {
    const due = this.#last ? this.#last.at + (seq - this.#last.seq) * FRAME_MS : at;
    let even = due;
    if (Math.abs(at - due) > JUMP_MS) {
      this.#drift = 0;
      even = at;
    } else {
      this.#drift += (at - due - this.#drift) * SLOWLY;
      if (Math.abs(this.#drift) > BEAR_MS) even += Math.sign(this.#drift) * STEP_MS;
    }
    this.#last = { seq, at: even };
    return even;
  }
}
