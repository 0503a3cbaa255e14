/** Which series there are, within the limits, and what each of them is since the Core started. */
import { CONSENT_LEVELS } from '@device-core/plugin-api/inside/services/telemetry';
import type { MetricData, MetricInfo, MetricPoint } from '@device-core/plugin-api/telemetry';

export interface Limits {
  /** Series in all. */
  readonly series: number;
  /** Series of one metric in one plugin. */
  readonly perMetric: number;
}

/** Raw numbers of one source, or their sum over its starts. */
interface Sum {
  value: number;
  count: number;
  buckets: number[] | undefined;
}

/** The last answer of one source: what is added when it ends or begins anew. */
export type Last = Map<Series, Sum>;

export class Series {
  readonly family: Family;
  readonly plugin: string;
  readonly key: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Sum of the former starts of its plugin. */
  base: Sum = { value: 0, count: 0, buckets: undefined };
  now: Sum = this.base;
  round = 0;
  /** True once it made room for others. */
  gone = false;

  constructor(family: Family, plugin: string, key: string, labels: Readonly<Record<string, string>>) {
    this.family = family;
    this.plugin = plugin;
    this.key = key;
    this.labels = { plugin, ...labels };
  }
}

interface Family {
  info: MetricInfo;
  /** The look in which its texts were told first. */
  round: number;
  readonly series: Map<string, Series>;
  /** Number of series of each plugin. */
  readonly byPlugin: Map<string, number>;
}

const OTHER = { other: 'true' };
/** Number of looks without a value after which a series may make room for others. */
const STALE_ROUNDS = 10;

export class SeriesTable {
  readonly #limits: Limits;
  readonly #families = new Map<string, Family>();
  #size = 0;
  #round = 0;
  #swept = 0;

  constructor(limits: Limits) {
    this.#limits = limits;
  }

  get size(): number {
    return this.#size;
  }

  begin(): void {
    this.#round++;
  }

  /**
   * Adds an answer. `perMetric` in the place of the limit is for those who are known to tell no more than they should.
   * Tells what did not fit, and metrics that another plugin defines otherwise.
   */
  add(
    plugin: string,
    metrics: readonly MetricData[],
    last: Last,
    perMetric = this.#limits.perMetric,
  ): { readonly beyond: ReadonlyMap<string, number>; readonly other: readonly string[] } {
    const beyond = new Map<string, number>();
    const other: string[] = [];
    const raw: Last = new Map();
    if (this.#swept > 0) for (const series of last.keys()) if (series.gone) last.delete(series);
    for (const { points, ...info } of metrics) {
      const family = this.#family(info);
      if (family === undefined) {
        other.push(info.name);
        continue;
      }
      for (const point of points) {
        const [series, fits] = this.#place(family, plugin, point, perMetric);
        if (!fits) beyond.set(info.name, (beyond.get(info.name) ?? 0) + 1);
        if (series) accumulate(raw, series, point);
      }
      if (family.series.size === 0) this.#families.delete(info.name);
    }
    for (const [series, sum] of raw) this.#tell(series, sum, last);
    return { beyond, other };
  }

  /** The source is gone: what it counted stays. */
  retire(last: Last): void {
    for (const [series, sum] of last) plus(series.base, sum);
    last.clear();
  }

  /** Metrics with a value since begin(), by name. */
  told(): readonly MetricData[] {
    const families = [...this.#families.values()].sort((one, another) => (one.info.name < another.info.name ? -1 : 1));
    return families.flatMap(({ info, series }) => {
      const points = [...series.values()].filter(({ round }) => round === this.#round).map(pointOf);
      return points.length === 0 ? [] : [{ ...info, points }];
    });
  }

  /** Undefined where the name means something else already. */
  #family(info: MetricInfo): Family | undefined {
    const known = this.#families.get(info.name);
    if (!known) {
      const family: Family = { info, round: this.#round, series: new Map(), byPlugin: new Map() };
      this.#families.set(info.name, family);
      return family;
    }
    const { kind, unit, bounds, level } = known.info;
    if (kind !== info.kind || unit !== info.unit || String(bounds) !== String(info.bounds)) return undefined;
    // A secret may have been set since the last look.
    if (known.round !== this.#round) known.info = { ...info, level };
    known.round = this.#round;
    // The stricter consent wins.
    if (CONSENT_LEVELS.indexOf(info.level) > CONSENT_LEVELS.indexOf(level))
      known.info = { ...known.info, level: info.level };
    return known;
  }

  #place(
    family: Family,
    plugin: string,
    { labels }: MetricPoint,
    perMetric: number,
  ): readonly [series: Series | undefined, fits: boolean] {
    const own = this.#seriesOf(family, plugin, labels, perMetric);
    if (own) return [own, true];
    // Temperatures have no sum.
    if (family.info.kind === 'gauge') return [undefined, false];
    return [this.#seriesOf(family, plugin, OTHER, perMetric + 1), false];
  }

  #seriesOf(
    family: Family,
    plugin: string,
    labels: Readonly<Record<string, string>>,
    most: number,
  ): Series | undefined {
    const key = keyOf(plugin, labels);
    const known = family.series.get(key);
    if (known) return known;
    const count = family.byPlugin.get(plugin) ?? 0;
    if (count >= most) return undefined;
    if (this.#size >= this.#limits.series) this.#sweep();
    if (this.#size >= this.#limits.series) return undefined;
    const series = new Series(family, plugin, key, labels);
    series.round = this.#round - 1;
    family.series.set(key, series);
    family.byPlugin.set(plugin, count + 1);
    this.#size++;
    return series;
  }

  /** Removes stale series, once per look. */
  #sweep(): void {
    if (this.#swept === this.#round) return;
    this.#swept = this.#round;
    for (const [name, family] of this.#families) {
      for (const [key, series] of family.series) {
        // A series of this look may still get its value.
        if (this.#round - series.round < STALE_ROUNDS) continue;
        series.gone = true;
        family.series.delete(key);
        family.byPlugin.set(series.plugin, family.byPlugin.get(series.plugin)! - 1);
        this.#size--;
      }
      if (family.series.size === 0) this.#families.delete(name);
    }
  }

  #tell(series: Series, sum: Sum, last: Last): void {
    const { kind } = series.family.info;
    if (kind === 'gauge') {
      series.round = this.#round;
      series.now = sum;
      return;
    }
    const before = last.get(series);
    // It began anew without saying so.
    if (before && (sum.value < before.value || sum.count < before.count)) plus(series.base, before);
    last.set(series, sum);
    if (series.round !== this.#round) series.now = copy(series.base);
    series.round = this.#round;
    plus(series.now, sum);
  }
}

function accumulate(raw: Last, series: Series, { value, count = 0, buckets }: MetricPoint): void {
  const sum = raw.get(series);
  const one = { value, count, buckets: buckets && [...buckets] };
  if (!sum || series.family.info.kind === 'gauge') raw.set(series, one);
  else plus(sum, one);
}

function plus(to: Sum, { value, count, buckets }: Sum): void {
  to.value += value;
  to.count += count;
  if (!buckets) return;
  to.buckets ??= new Array<number>(buckets.length).fill(0);
  for (const [at, more] of buckets.entries()) to.buckets[at]! += more;
}

const copy = ({ value, count, buckets }: Sum): Sum => ({ value, count, buckets: buckets && [...buckets] });

function pointOf({ labels, now, family }: Series): MetricPoint {
  const { value, count, buckets = [] } = now;
  return family.info.kind === 'histogram' ? { labels, value, count, buckets } : { labels, value };
}

function keyOf(plugin: string, labels: Readonly<Record<string, string>>): string {
  const entries = Object.entries(labels).sort(([one], [another]) => (one < another ? -1 : 1));
  return JSON.stringify([plugin, ...entries.flat()]);
}
