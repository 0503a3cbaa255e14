/** Is it what was looked for, or just anything? A path of known words is compared with one of mere sounds over the same frames. */

/** Evidence of the paths. */
export interface Evidence {
  /** Score of the known words minus score of the sounds. */
  readonly lead: number;
  /** Frames of 10 ms that the words take. */
  readonly words: number;
  /** Frames of 10 ms that are not silence. */
  readonly sounds: number;
  /** Decibels between what is loud and what is quiet in it. */
  readonly contrast: number;
}

export interface Verdict {
  readonly accepted: boolean;
  /** 0..1; accepted from 0.5 on. */
  readonly confidence: number;
  /** 0..1: the highest strictness at which it is accepted. */
  readonly strictest: number;
}

/** Lead by frame that is asked for; measured on sentences and phrases of four voices in quiet and in noise of 25 to 10 dB. */
export interface Demand {
  /** In a quiet room. */
  readonly quiet: number;
  /** By decibel of contrast that is missing in noise, within the two limits. */
  readonly byNoise: number;
  readonly least: number;
  readonly most: number;
  /** From not strict at all to absolutely strict. */
  readonly span: number;
}

/** Noise makes the words of a phrase a worse fit, but sounds fit it as well as before; what is no phrase is none in noise either. */
export const PHRASES: Demand = { quiet: 18, byNoise: -1.4, least: -3, most: 18, span: 24 };
/** Contrast of a quiet room. */
const QUIET_DB = 34;
/** Share of the frames without silence that words must cover: a grammar takes sounds without words for silence. */
const COVER = 0.8;
const SLOPE = 3;
/** Threshold of speech between quiet and loud; decibels at least. */
const LOUD = 0.4;
const LEAST_OVER = 4;

/** `strictness` 0..1, 0.5 as measured. `frames` is what the lead is spread over. */
export function judge(evidence: Evidence, strictness: number, frames: number, demand: Demand): Verdict {
  const { lead, words, sounds, contrast } = evidence;
  const { quiet, byNoise, least, most } = demand;
  const asked = Math.min(most, Math.max(least, quiet + byNoise * Math.max(0, QUIET_DB - contrast)));
  const spare = lead / Math.max(1, frames) - asked - (strictness - 0.5) * demand.span;
  const strictest = Math.min(1, Math.max(0, strictness + spare / demand.span));
  const covered = words >= COVER * sounds;
  const confidence = 1 / (1 + Math.exp(-spare / SLOPE));
  return covered
    ? { accepted: spare >= 0, confidence, strictest }
    : { accepted: false, confidence: Math.min(confidence, 0.49), strictest: 0 };
}

/** Decibels of full scale of a frame; digital silence counts as a very quiet room. */
export function levelOf(samples: Int16Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample ** 2;
  return 10 * Math.log10(sum / Math.max(1, samples.length) / 32_768 ** 2 + 1e-8);
}

export function contrastOf(levels: readonly number[]): number {
  const [quiet, loud] = range(levels);
  return loud - quiet;
}

/** How many of the levels are those of speech. */
export function loudOf(levels: readonly number[]): number {
  const [quiet, loud] = range(levels);
  const least = quiet + Math.max(LEAST_OVER, LOUD * (loud - quiet));
  return levels.filter((level) => level >= least).length;
}

function range(levels: readonly number[]): readonly [quiet: number, loud: number] {
  const sorted = [...levels].sort((one, other) => one - other);
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0;
  return [at(0.1), at(0.95)];
}
