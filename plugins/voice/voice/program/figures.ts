/** Figures of a bench, each with the range that it lies in by 95 of 100 such benches. `npm run bench voice` uses the same. */
import type { VoiceTurn } from '@device-core/plugin-api/services/voice';

export interface Share {
  readonly count: number;
  readonly of: number;
  /** 0..1, as the two bounds. */
  readonly share: number;
  readonly low: number;
  readonly high: number;
}

export interface Rate {
  readonly count: number;
  readonly hours: number;
  readonly perHour: number;
  readonly low: number;
  readonly high: number;
}

export interface Percentile {
  readonly of: number;
  readonly ms: number;
  readonly low: number;
  readonly high: number;
}

/** Standard deviations of 95 %. */
const Z = 1.96;

/** The interval of Wilson: right for few clips and for shares near 0 and 1. */
export function share(count: number, of: number): Share {
  if (of === 0) return { count, of, share: 0, low: 0, high: 1 };
  const [p, z2] = [count / of, Z ** 2];
  const middle = (p + z2 / (2 * of)) / (1 + z2 / of);
  const half = (Z / (1 + z2 / of)) * Math.sqrt((p * (1 - p)) / of + z2 / (4 * of ** 2));
  const within = (value: number) => Math.min(1, Math.max(0, value));
  return {
    count,
    of,
    share: p,
    low: count === 0 ? 0 : within(middle - half),
    high: count === of ? 1 : within(middle + half),
  };
}

/** Events an hour, with Byar's interval for counts. */
export function rate(count: number, hours: number): Rate {
  const edge = (events: number, sign: number) =>
    events <= 0 ? 0 : events * (1 - 1 / (9 * events) + (sign * Z) / (3 * Math.sqrt(events))) ** 3;
  if (hours <= 0) return { count, hours: 0, perHour: 0, low: 0, high: Number.POSITIVE_INFINITY };
  return { count, hours, perHour: count / hours, low: edge(count, -1) / hours, high: edge(count + 1, 1) / hours };
}

/** The value that so many of them reach at most, with the interval of its order statistics. */
export function percentile(values: readonly number[], part: number): Percentile {
  const sorted = values.toSorted((one, other) => one - other);
  const of = sorted.length;
  if (of === 0) return { of, ms: Number.NaN, low: Number.NaN, high: Number.NaN };
  const at = (rank: number) => sorted[Math.min(of - 1, Math.max(0, Math.ceil(rank) - 1))]!;
  const spread = Z * Math.sqrt(of * part * (1 - part));
  return { of, ms: at(of * part), low: at(of * part - spread), high: at(of * part + spread + 1) };
}

/** The result that a clip should have. */
export interface Expected {
  /** `none`: no phrase is in it. `button`: a command alone. Else the phrase. */
  readonly wake: string;
  /** Meaning of the command; null: it means nothing to the device; undefined: nothing is asked of the command. */
  readonly meant: string | null | undefined;
}

export type Verdict = 'right' | 'wrong' | 'refused' | 'unheard';

export interface Judged extends Expected {
  readonly file: string;
  readonly group: string | undefined;
  readonly seconds: number;
  /** Turns that the clip began, the first of them first. */
  readonly turns: readonly VoiceTurn[];
}

/** Intent and slots, without the words. */
export function meaningOf({ intent, slots }: { readonly intent: string; readonly slots: object }): string {
  return `${intent} ${JSON.stringify(Object.entries(slots).sort(([one], [other]) => (one < other ? -1 : 1)))}`;
}

/** A command's; null: words that mean nothing, where a refusal is right. */
export function verdictOf(turn: VoiceTurn | undefined, meant: string | null): Verdict {
  if (!turn) return 'unheard';
  if (!turn.plan) return meant === null ? 'right' : 'refused';
  return turn.outcome !== 'failed' && meaningOf(turn.plan) === meant ? 'right' : 'wrong';
}

export interface Figures {
  readonly clips: number;
  readonly seconds: number;
  readonly missed: Share;
  readonly commands: Readonly<Record<Verdict, Share>>;
  /** Words that mean nothing to the device, and were carried out as something. */
  readonly strangers: Share;
  readonly falseCalls: Rate;
  /** From the end of the command to the first sound, with what the wake event came late. */
  readonly latency: Readonly<Record<'p50' | 'p95', Percentile>>;
}

export function figuresOf(judged: readonly Judged[]): Figures {
  const called = judged.filter(({ wake }) => wake !== 'none' && wake !== 'button');
  const quiet = judged.filter(({ wake }) => wake === 'none');
  const told = judged.filter(({ wake, meant }) => wake !== 'none' && meant !== undefined);
  const commands = told.filter(({ meant }) => meant !== null);
  const strange = told.filter(({ meant, turns }) => meant === null && turns.length > 0);
  const verdicts = commands.map(({ turns, meant }) => verdictOf(turns[0], meant as string));
  const of = (verdict: Verdict) => share(verdicts.filter((one) => one === verdict).length, commands.length);
  const times = told.flatMap(({ turns }) => turns[0]?.latencyMs ?? []);
  const seconds = (clips: readonly Judged[]) => clips.reduce((sum, one) => sum + one.seconds, 0);
  const falseCalls = quiet.reduce((sum, { turns }) => sum + turns.length, 0);
  return {
    clips: judged.length,
    seconds: Math.round(seconds(judged)),
    missed: share(called.filter(({ turns }) => turns.length === 0).length, called.length),
    commands: { right: of('right'), wrong: of('wrong'), refused: of('refused'), unheard: of('unheard') },
    strangers: share(strange.filter(({ turns }) => turns[0]!.plan !== undefined).length, strange.length),
    falseCalls: rate(falseCalls, seconds(quiet) / 3_600),
    latency: { p50: percentile(times, 0.5), p95: percentile(times, 0.95) },
  };
}

const percent = (value: number): string => `${(100 * value).toFixed(1)} %`;

export function shareText({ count, of, share: part, low, high }: Share): string {
  return of === 0 ? '-' : `${percent(part)} (${percent(low)} to ${percent(high)}), ${count} of ${of}`;
}

export function rateText({ count, hours, perHour, low, high }: Rate): string {
  if (hours === 0) return '-';
  return `${perHour.toFixed(1)}/h (${low.toFixed(1)} to ${high.toFixed(1)}), ${count} in ${(60 * hours).toFixed(1)} min`;
}

export function percentileText({ of, ms, low, high }: Percentile): string {
  return of === 0 ? '-' : `${Math.round(ms)} ms (${Math.round(low)} to ${Math.round(high)}), n ${of}`;
}
