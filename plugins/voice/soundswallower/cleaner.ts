/** Takes steady noise out of speech before it is searched: the models know quiet rooms. */
import { Spectrum } from './spectrum.ts';

/** Samples of 10 ms at 16 kHz: each window is two of them, and overlaps the next by half. */
const HOP = 160;
const WINDOW = 2 * HOP;
const SIZE = 512;
const BINS = SIZE / 2 + 1;
/** Windows at the beginning that are noise for sure, for whoever listens begins before the first word. */
const FIRST = 8;
/** A-priori signal-to-noise ratio where there is speech, for the probability that there is: 15 dB. */
const SPEECH_RATIO = 31.6;
const PRESENCE_MEMORY = 0.9;
const CERTAIN = 0.99;
const NOISE_MEMORY = 0.8;
/** Loud speech is not taken for noise, be it ever so little of it. */
const MOST_GROWTH = 10;
/** How much of what was let through decides what is let through next. */
const DECISION_MEMORY = 0.95;
/** Gain for sure noise: -15 dB. */
const LEAST_GAIN = 0.178;
const LEAST_RATIO = 0.003;
/** Power of one step of a sample: what is quieter is no noise at all. */
const LEAST_NOISE = WINDOW / 2 / 32_768 ** 2;

const TAPER = Float32Array.from({ length: WINDOW }, (_, index) => Math.sin((Math.PI * (index + 0.5)) / WINDOW));

/** One stream of frames. The noise in each band is followed by the probability that there is speech in it (after Gerkmann and Hendriks). */
export class Cleaner {
  readonly #spectrum = new Spectrum(SIZE);
  readonly #re = new Float32Array(SIZE);
  readonly #im = new Float32Array(SIZE);
  readonly #last = new Float32Array(HOP);
  readonly #overlap = new Float32Array(HOP);
  readonly #noise = new Float32Array(BINS);
  readonly #presence = new Float32Array(BINS);
  /** Signal-to-noise ratio of what was let through last. */
  readonly #through = new Float32Array(BINS);
  #windows = 0;

  /** As many samples of -1..1 as come in, 10 ms later. Their number is a multiple of 160. */
  clean(samples: Int16Array): Float32Array {
    const out = new Float32Array(samples.length);
    for (let from = 0; from + HOP <= samples.length; from += HOP) this.#hop(samples, from, out);
    return out;
  }

  #hop(samples: Int16Array, from: number, out: Float32Array): void {
    const [re, im] = [this.#re.fill(0), this.#im.fill(0)];
    for (let index = 0; index < HOP; index++) {
      const sample = samples[from + index]! / 32_768;
      re[index] = this.#last[index]! * TAPER[index]!;
      re[HOP + index] = sample * TAPER[HOP + index]!;
      this.#last[index] = sample;
    }
    this.#spectrum.forward(re, im);
    for (let bin = 0; bin < BINS; bin++) {
      const gain = this.#gain(bin, re[bin]! ** 2 + im[bin]! ** 2);
      re[bin]! *= gain;
      im[bin]! *= gain;
      if (bin === 0 || bin === BINS - 1) continue;
      re[SIZE - bin] = re[bin]!;
      im[SIZE - bin] = -im[bin]!;
    }
    this.#windows++;
    this.#spectrum.inverse(re, im);
    for (let index = 0; index < HOP; index++) {
      out[from + index] = this.#overlap[index]! + re[index]! * TAPER[index]!;
      this.#overlap[index] = re[HOP + index]! * TAPER[HOP + index]!;
    }
  }

  #gain(bin: number, power: number): number {
    const noise = this.#follow(bin, power);
    const ratio = power / noise;
    const before = DECISION_MEMORY * this.#through[bin]! + (1 - DECISION_MEMORY) * Math.max(0, ratio - 1);
    const priori = Math.max(LEAST_RATIO, before);
    const gain = Math.max(LEAST_GAIN, priori / (1 + priori));
    this.#through[bin] = gain * gain * ratio;
    return gain;
  }

  #follow(bin: number, power: number): number {
    const before = this.#noise[bin]!;
    if (this.#windows < FIRST) {
      const mean = Math.max(LEAST_NOISE, (before * this.#windows + power) / (this.#windows + 1));
      this.#noise[bin] = mean;
      return mean;
    }
    const odds = (1 + SPEECH_RATIO) * Math.exp((-power / before) * (SPEECH_RATIO / (1 + SPEECH_RATIO)));
    let speech = 1 / (1 + odds);
    const presence = PRESENCE_MEMORY * this.#presence[bin]! + (1 - PRESENCE_MEMORY) * speech;
    this.#presence[bin] = presence;
    if (presence > CERTAIN) speech = Math.min(speech, CERTAIN);
    const now = speech * before + (1 - speech) * Math.min(power, MOST_GROWTH * before);
    const noise = Math.max(LEAST_NOISE, NOISE_MEMORY * before + (1 - NOISE_MEMORY) * now);
    this.#noise[bin] = noise;
    return noise;
  }
}
