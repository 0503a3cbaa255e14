/** Phrases among sounds, frame by frame: each is compared with whatever else the same frames may be. */
import type { States } from './senones.ts';

/** What a frame of 10 ms costs as each density of the model, in tenths of a neper: 0 is the density that fits best. */
export type Costs = Int16Array;

/** A phrase as it may have been said just now. */
export interface Sighting {
  /** Number of the phrase. */
  readonly phrase: number;
  /** Frames since the first one, and how many of them are the phrase. */
  readonly end: number;
  readonly frames: number;
  /** By how much mere sounds cost more than the phrase, by frame. */
  readonly lead: number;
  /** Mean cost of a frame of each phone. */
  readonly phones: readonly number[];
}

/** Each further sound costs that much: as was measured, phrases stand out best from sounds that cost it. */
const SOUND_COST = 80;
const STATES = 3;
/** Frames of a phone, at least and at most, on the average of a phrase. */
const LEAST_FRAMES = 4;
const MOST_FRAMES = 20;
/** Frames that are remembered: the longest phrase is shorter. */
const MEMORY = 512;
const NEVER = 1e12;

/** Best way through a phrase, from any beginning. */
class Path {
  readonly phrase: number;
  readonly #densities: Int32Array;
  readonly #costs: Float64Array;
  readonly #begins: Int32Array;
  /** What the frames cost as each state, by frame modulo the memory. */
  readonly #seen: Int16Array;

  constructor(phrase: number, phones: readonly States[]) {
    this.phrase = phrase;
    this.#densities = Int32Array.from(phones.flat());
    this.#costs = new Float64Array(this.#densities.length);
    this.#begins = new Int32Array(this.#densities.length);
    this.#seen = new Int16Array(MEMORY * this.#densities.length);
    this.reset();
  }

  get phones(): number {
    return this.#densities.length / STATES;
  }

  reset(): void {
    this.#costs.fill(NEVER);
  }

  /** `before`: what mere sounds have cost up to this frame. The cost of the phrase that ends here. */
  step(costs: Costs, frame: number, before: number): number {
    const count = this.#densities.length;
    const seen = (frame % MEMORY) * count;
    for (let state = count - 1; state >= 0; state--) {
      const cost = costs[this.#densities[state]!]!;
      const from = state === 0 ? before : this.#costs[state - 1]!;
      if (from < this.#costs[state]!) {
        this.#costs[state] = from;
        this.#begins[state] = state === 0 ? frame : this.#begins[state - 1]!;
      }
      this.#costs[state]! += cost;
      this.#seen[seen + state] = cost;
    }
    return this.#costs[count - 1]!;
  }

  get began(): number {
    return this.#begins.at(-1)!;
  }

  /** Mean costs of the phones over these frames, along the best way. */
  along(first: number, last: number): readonly number[] {
    const [count, frames] = [this.#densities.length, last - first + 1];
    const moved = new Uint8Array(frames * count);
    const costs = new Float64Array(count).fill(NEVER);
    for (let frame = 0; frame < frames; frame++)
      for (let state = count - 1; state >= 0; state--) {
        const before = frame === 0 ? 0 : NEVER;
        const from = state === 0 ? before : costs[state - 1]!;
        if (from < costs[state]!) {
          costs[state] = from;
          moved[frame * count + state] = 1;
        }
        costs[state]! += this.#cost(first + frame, state);
      }
    const [sums, lengths] = [new Float64Array(this.phones), new Float64Array(this.phones)];
    for (let frame = frames - 1, state = count - 1; frame >= 0 && state >= 0; frame--) {
      const phone = Math.floor(state / STATES);
      sums[phone]! += this.#cost(first + frame, state);
      lengths[phone]!++;
      if (moved[frame * count + state]) state--;
    }
    return Array.from(sums, (sum, phone) => sum / Math.max(1, lengths[phone]!));
  }

  #cost(frame: number, state: number): number {
    return this.#seen[(frame % MEMORY) * this.#densities.length + state]!;
  }
}

export class Spotter {
  readonly #sounds: Int32Array;
  readonly #loop: Float64Array;
  readonly #paths: readonly Path[];
  #frame = 0;
  /** What mere sounds have cost so far. */
  #total = 0;

  /** `sounds`: each phone by itself; `phrases`: the ways to say each of them. */
  constructor(sounds: readonly States[], phrases: readonly (readonly (readonly States[])[])[]) {
    this.#sounds = Int32Array.from(sounds.flat());
    this.#loop = new Float64Array(this.#sounds.length);
    this.#paths = phrases.flatMap((ways, phrase) => ways.map((way) => new Path(phrase, way)));
    this.reset();
  }

  reset(): void {
    this.#frame = 0;
    this.#total = 0;
    this.#loop.fill(NEVER);
    for (const path of this.#paths) path.reset();
  }

  /** The phrases that may end with this frame, of a lead of `least` or more. */
  step(costs: Costs, least: number): readonly Sighting[] {
    const [frame, before] = [this.#frame++, this.#total];
    const total = this.#loopOf(costs, before);
    this.#total = total;
    const sightings: Sighting[] = [];
    for (const path of this.#paths) {
      const cost = path.step(costs, frame, before);
      const frames = frame - path.began + 1;
      if (cost >= NEVER || frames < LEAST_FRAMES * path.phones || frames > MOST_FRAMES * path.phones) continue;
      const lead = (total - cost) / frames;
      if (lead < least || frames >= MEMORY) continue;
      const phones = path.along(frame - frames + 1, frame);
      sightings.push({ phrase: path.phrase, end: frame, frames, lead, phones });
    }
    return sightings;
  }

  /** One sound after the other, each at least two frames long. */
  #loopOf(costs: Costs, before: number): number {
    const [loop, sounds] = [this.#loop, this.#sounds];
    const enter = before + SOUND_COST;
    let best = NEVER;
    for (let at = 0; at < sounds.length; at += STATES) {
      const last = Math.min(loop[at + 2]!, loop[at + 1]!) + costs[sounds[at + 2]!]!;
      loop[at + 1] = Math.min(loop[at + 1]!, loop[at]!) + costs[sounds[at + 1]!]!;
      loop[at] = Math.min(loop[at]!, enter) + costs[sounds[at]!]!;
      loop[at + 2] = last;
      if (last < best) best = last;
    }
    return best >= NEVER ? before : best;
  }
}
