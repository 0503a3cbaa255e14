/** The price of each threshold of a wake phrase: missed calls against false ones. */
import { type Rate, rate, type Share, share } from './figures.ts';

/** A recording, with the strictest threshold of each phrase that was found in it. */
export interface Trial {
  readonly path: string;
  readonly seconds: number;
  readonly strictest: readonly number[];
}

export interface TradeOff {
  readonly threshold: number;
  readonly missed: Share;
  readonly falseCalls: Rate;
}

const STEPS = 20;

export function tradeOff(positive: readonly Trial[], negative: readonly Trial[]): readonly TradeOff[] {
  const best = positive.map(({ strictest }) => Math.max(Number.NEGATIVE_INFINITY, ...strictest));
  const wrong = negative.flatMap(({ strictest }) => strictest);
  const hours = negative.reduce((sum, { seconds }) => sum + seconds, 0) / 3_600;
  return Array.from({ length: STEPS + 1 }, (_, step) => {
    const threshold = step / STEPS;
    return {
      threshold,
      missed: share(best.filter((value) => value < threshold).length, best.length),
      falseCalls: rate(wrong.filter((value) => value >= threshold).length, hours),
    };
  });
}

/** Thresholds that are quiet enough and miss least are equal; the strictest of them costs nothing. */
export function proposal(rows: readonly TradeOff[], falsePerHour: number): TradeOff | undefined {
  const quiet = rows.filter(({ falseCalls, missed }) => falseCalls.perHour <= falsePerHour && missed.share < 1);
  return quiet.findLast(({ missed }) => missed.count === quiet[0]!.missed.count);
}
