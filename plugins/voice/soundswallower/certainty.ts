/**
 * How probable it is that a sentence was said as it was understood. Each of its words is compared with mere sounds over
 * the same frames, so that pauses around it, and the noise in them, count for nothing.
 */
import type { Spoken } from './library.ts';

export interface Lead {
  readonly word: string;
  /** Frames of 10 ms. */
  readonly frames: number;
  /** How well each of them fits the word, and by how much better than any sounds. */
  readonly fit: number;
  readonly lead: number;
}

export interface Certainty {
  readonly accepted: boolean;
  /** 0..1: of a hundred sentences with this figure so many were said as they stand. */
  readonly confidence: number;
  /** The word that fits least. */
  readonly unsure?: string;
}

/** Words of fewer frames are swallowed by those beside them, and say little. */
const LONG = 15;
/**
 * Coefficients of a logistic regression, see ADR 0200: fitted on recordings of people whose names begin with 0 or 1,
 * judged on the others.
 */
const BIAS = 2.635;
const BY_FIT = 0.0891;
const BY_LEAD = 0.0622;
const BY_LEAST = 0.0277;
/** A sentence is carried out where it is right three times of five at least. */
const ASKED = Math.log(3 / 2);
/** From not strict at all to absolutely strict, in the logarithm of the odds. */
const SPAN = 8;

/** The words at one of the places that fit no better than mere sounds; undefined where all do. */
export function doubtOf(
  leads: readonly Lead[],
  places: readonly { readonly from: number; readonly to: number }[],
): string | undefined {
  for (const { from, to } of places) {
    const words = leads.slice(from, to);
    const lead = words.reduce((sum, one) => sum + one.lead * one.frames, 0);
    if (words.length > 0 && lead < 0) return words.map(({ word }) => word).join(' ');
  }
  return undefined;
}

export function leadsOf(known: readonly Spoken[], sounds: readonly Spoken[]): readonly Lead[] {
  const byFrame: number[] = [];
  for (const { from, frames, score } of sounds)
    for (let at = from; at < from + frames; at++) byFrame[at] = score / frames;
  return known
    .filter(({ silent }) => !silent)
    .map(({ word, from, frames, score }) => {
      const other = byFrame.slice(from, from + frames).reduce((sum, one) => sum + one, 0);
      return { word, frames, fit: score / Math.max(1, frames), lead: (score - other) / Math.max(1, frames) };
    });
}

/** `strictness` 0..1, 0.5 as measured. */
export function certaintyOf(leads: readonly Lead[], strictness: number): Certainty {
  const frames = leads.reduce((sum, one) => sum + one.frames, 0);
  if (frames === 0) return { accepted: false, confidence: 0 };
  const mean = (of: (one: Lead) => number) => leads.reduce((sum, one) => sum + of(one) * one.frames, 0) / frames;
  const long = leads.filter((one) => one.frames >= LONG);
  const least = (long.length > 0 ? long : leads).reduce((worst, one) => (one.lead < worst.lead ? one : worst));
  const odds = BIAS + BY_FIT * mean(({ fit }) => fit) + BY_LEAD * mean(({ lead }) => lead) + BY_LEAST * least.lead;
  return {
    accepted: odds >= ASKED + (strictness - 0.5) * SPAN,
    confidence: 1 / (1 + Math.exp(-odds)),
    unsure: least.word,
  };
}
