/** Sound at another rate: a windowed-sinc filter in polyphase form, so that nothing folds back into what is heard. */
import type { PcmChunk } from '../../services/audio.ts';
import { concatSamples } from './pcm.ts';

/** Zero crossings of the sinc on each side of its middle. */
const ZEROS = 24;
/** Parameter of the window of Kaiser: the stop band is some 80 dB down. */
const BETA = 8;
/** The middle of the slope, as a part of the lower of the two Nyquist frequencies: the slope ends where folding begins. */
const CUTOFF = 0.91;
/** Rates without a small common divisor share so many phases and go between two of them. */
const MOST_PHASES = 640;

interface Filter {
  readonly phases: number;
  /** Samples of the input on each side. */
  readonly reach: number;
  /** `phases + 1` rows of `2 * reach` taps. */
  readonly taps: Float32Array;
}

/**
 * A stream of samples at another rate. What comes out is in time with what went in: sample k stands for the moment k /
 * to, and n samples become ceil(n * to / from).
 */
export class Resampler {
  readonly #up: number;
  readonly #down: number;
  readonly #filter: Filter | undefined;
  /** Input that is still needed; its first sample has the index `#from`, which is negative before the beginning. */
  #input: Float32Array;
  #from: number;
  #taken = 0;
  #given = 0;

  constructor(from: number, to: number) {
    const divisor = greatestCommonDivisor(from, to);
    this.#up = to / divisor;
    this.#down = from / divisor;
    this.#filter = from === to ? undefined : filterOf(this.#up, this.#down);
    const reach = this.#filter?.reach ?? 0;
    this.#input = new Float32Array(reach);
    this.#from = -reach;
  }

  push(samples: Int16Array): Int16Array<ArrayBuffer> {
    if (!this.#filter) return samples.slice();
    this.#taken += samples.length;
    return this.#run(this.#filter, samples, this.#taken - this.#filter.reach);
  }

  /** Remaining samples of the sound. The next push begins another sound. */
  flush(): Int16Array<ArrayBuffer> {
    if (!this.#filter) return new Int16Array(0);
    const { reach } = this.#filter;
    const rest = this.#run(this.#filter, new Int16Array(reach + 1), this.#taken);
    this.#input = new Float32Array(reach);
    this.#from = -reach;
    this.#taken = 0;
    this.#given = 0;
    return rest;
  }

  /** Gives all samples whose moment is before that of input sample `end`. */
  #run(filter: Filter, samples: Int16Array, end: number): Int16Array<ArrayBuffer> {
    const { reach, phases, taps } = filter;
    const input = new Float32Array(this.#input.length + samples.length);
    input.set(this.#input);
    input.set(samples, this.#input.length);
    const last = Math.max(this.#given, Math.ceil((end * this.#up) / this.#down));
    const output = new Int16Array(last - this.#given);
    const width = 2 * reach;
    for (let index = 0; index < output.length; index++) {
      const moment = (this.#given + index) * this.#down;
      const whole = Math.floor(moment / this.#up);
      const phase = ((moment - whole * this.#up) * phases) / this.#up;
      const row = Math.floor(phase);
      const between = phase - row;
      const first = whole - reach + 1 - this.#from;
      let sum = 0;
      const at = row * width;
      if (between === 0) for (let tap = 0; tap < width; tap++) sum += input[first + tap]! * taps[at + tap]!;
      else
        for (let tap = 0; tap < width; tap++) {
          const one = taps[at + tap]!;
          sum += input[first + tap]! * (one + (taps[at + width + tap]! - one) * between);
        }
      const rounded = Math.round(sum);
      output[index] = rounded > 32_767 ? 32_767 : Math.max(rounded, -32_768);
    }
    this.#given = last;
    const needed = Math.floor((last * this.#down) / this.#up) - reach + 1;
    this.#input = input.slice(Math.max(0, needed - this.#from));
    this.#from = Math.max(this.#from, needed);
    return output;
  }
}

/** A whole sound at another rate. */
export function resample({ rate, samples }: PcmChunk, to: number): PcmChunk {
  if (rate === to) return { rate, samples };
  const resampler = new Resampler(rate, to);
  return { rate: to, samples: concatSamples([resampler.push(samples), resampler.flush()]) };
}

function filterOf(up: number, down: number): Filter {
  // Below 1 where samples are left out: then the filter is longer, and lower.
  const ratio = Math.min(1, up / down);
  const reach = Math.ceil(ZEROS / ratio);
  const phases = Math.min(up, MOST_PHASES);
  const width = 2 * reach;
  const taps = new Float32Array((phases + 1) * width);
  const scale = besselI0(BETA);
  for (let phase = 0; phase <= phases; phase++) {
    let sum = 0;
    for (let tap = 0; tap < width; tap++) {
      const distance = tap - reach + 1 - phase / phases;
      const part = distance / reach;
      const window = Math.abs(part) >= 1 ? 0 : besselI0(BETA * Math.sqrt(1 - part * part)) / scale;
      const value = sinc(distance * ratio * CUTOFF) * window;
      taps[phase * width + tap] = value;
      sum += value;
    }
    // Each phase lets a constant through as it is, or silence would hum at the rate of the phases.
    for (let tap = 0; tap < width; tap++) taps[phase * width + tap]! /= sum;
  }
  return { phases, reach, taps };
}

function sinc(x: number): number {
  return x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
}

/** The modified Bessel function of order 0, by its series. */
function besselI0(x: number): number {
  let sum = 1;
  let term = 1;
  for (let k = 1; term > sum * 1e-12; k++) {
    term *= (x / (2 * k)) ** 2;
    sum += term;
  }
  return sum;
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}
