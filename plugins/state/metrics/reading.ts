/** Check of a source's answer, which may come from any plugin's code. Pure. */

import { isObject } from '@device-core/plugin-api/inside/schema-reader';
import { CONSENT_LEVELS } from '@device-core/plugin-api/inside/services/telemetry';
import type { MetricData, MetricInfo, MetricPoint } from '@device-core/plugin-api/telemetry';

export interface Reading {
  readonly metrics: readonly MetricData[];
  /** Number of invalid metrics and points. */
  readonly refused: number;
  /** Reason of the first refusal. */
  readonly why?: string;
}

/** One answer is looked at so far, lest a list without an end holds up the Core. */
const MOST_METRICS = 500;
const MOST_POINTS = 5_000;
const MOST_LABELS = 8;
const MOST_BOUNDS = 64;
const LONGEST_NAME = 128;
const LONGEST_VALUE = 128;
const LONGEST_TEXT = 300;
const NAME = /^[a-z][a-z0-9_]*(\.[a-z0-9_]+)*$/;
const UNIT = /^[!-~]{1,32}$/;
const KINDS: ReadonlySet<unknown> = new Set(['counter', 'gauge', 'histogram']);
const LEVELS: ReadonlySet<unknown> = new Set(CONSENT_LEVELS.slice(1));
/** Labels of the registry, and of histograms in Prometheus. */
const RESERVED: ReadonlySet<string> = new Set(['plugin', 'le']);

/** Names, descriptions and labels, uncut, of the checked part of an answer. Throws the error of a getter in it. */
export function textsIn(answer: unknown): readonly string[] {
  if (!Array.isArray(answer)) return [];
  const metrics = answer.slice(0, MOST_METRICS).filter(isObject);
  const points = metrics.flatMap(({ points: list }) => (Array.isArray(list) ? list.slice(0, MOST_POINTS) : []));
  const labels = points.slice(0, MOST_POINTS).map((point) => (isObject(point) ? point.labels : undefined));
  return [
    ...metrics.flatMap(({ name, unit, description, why }) => [name, unit, description, why]),
    ...labels.flatMap((all) => (isObject(all) ? Object.entries(all).slice(0, MOST_LABELS).flat() : [])),
  ].filter((text) => typeof text === 'string');
}

export interface Look {
  /** Replaces secrets in a text, before it is cut. */
  readonly shown: (text: string) => string;
  /** True for names from any plugin: a name with the text of a secret is refused, because it has no room for a replacement. */
  readonly outside?: boolean;
  /** Beginning that each name has to have. */
  readonly prefix?: string | undefined;
}

const isShown = (name: string, { shown, outside }: Look) => !outside || shown(name) === name;

/** Throws if the answer is no list. */
export function readMetrics(answer: unknown, look: Look = { shown: (text) => text }): Reading {
  if (!Array.isArray(answer)) throw new TypeError('its answer is no list of metrics');
  const metrics: MetricData[] = [];
  const wrong: string[] = [];
  let refused = Math.max(0, answer.length - MOST_METRICS);
  if (refused > 0) wrong.push(`more than ${MOST_METRICS} metrics`);
  let looked = 0;
  for (const one of answer.slice(0, MOST_METRICS) as readonly unknown[]) {
    const info = isObject(one) ? readInfo(one, look) : 'it is no metric';
    const list: unknown = isObject(one) ? one.points : undefined;
    if (typeof info === 'string' || !Array.isArray(list)) {
      refused++;
      wrong.push(typeof info === 'string' ? info : `${info.name} has no points`);
      continue;
    }
    const points: MetricPoint[] = [];
    const left = MOST_POINTS - looked;
    for (const point of list.slice(0, left) as readonly unknown[]) {
      const read = isObject(point) ? readPoint(point, info, look) : 'a point that is none';
      if (typeof read !== 'string') points.push(read);
      else {
        refused++;
        wrong.push(`${info.name}: ${read}`);
      }
    }
    looked += list.length;
    if (list.length > left) {
      refused += list.length - Math.max(0, left);
      wrong.push(`${info.name}: more than ${MOST_POINTS} points in one answer`);
    }
    metrics.push({ ...info, points });
  }
  return { metrics, refused, ...(wrong[0] !== undefined && { why: wrong[0] }) };
}

type Members = Readonly<Record<string, unknown>>;

function readInfo({ name, kind, unit, description, level, why, bounds }: Members, look: Look): MetricInfo | string {
  if (typeof name !== 'string' || name.length > LONGEST_NAME || !NAME.test(name))
    return `the name ${told(String(name), look)}`;
  if (!isShown(name, look)) return 'a name that may hold a secret';
  if (look.prefix !== undefined && !name.startsWith(look.prefix))
    return `the name ${name}, which has to begin with ${look.prefix}`;
  if (!KINDS.has(kind)) return `the kind of ${name}`;
  if (typeof unit !== 'string' || !UNIT.test(unit) || !isShown(unit, look)) return `the unit of ${name}`;
  if (!LEVELS.has(level)) return `the level of ${name}`;
  if (typeof description !== 'string' || typeof why !== 'string') return `the description of ${name}`;
  if (kind === 'histogram' && !areBounds(bounds)) return `the bounds of ${name}`;
  return {
    name,
    unit,
    kind: kind as MetricInfo['kind'],
    level: level as MetricInfo['level'],
    description: line(look.shown(description), LONGEST_TEXT),
    why: line(look.shown(why), LONGEST_TEXT),
    ...(kind === 'histogram' && { bounds: [...(bounds as readonly number[])] }),
  };
}

function areBounds(bounds: unknown): bounds is readonly number[] {
  if (!Array.isArray(bounds) || bounds.length === 0 || bounds.length > MOST_BOUNDS) return false;
  return bounds.every((one, at) => Number.isFinite(one) && (at === 0 || one > bounds[at - 1]));
}

function readPoint(
  { labels, value, count, buckets }: Members,
  { kind, bounds }: MetricInfo,
  look: Look,
): MetricPoint | string {
  const known = readLabels(labels, look);
  if (typeof known === 'string') return known;
  if (typeof value !== 'number' || !Number.isFinite(value)) return 'a value that is no number';
  if (kind === 'counter' && value < 0) return 'a counter below zero';
  if (kind !== 'histogram') return { labels: known, value };
  if (!isCount(count) || !Array.isArray(buckets) || buckets.length !== bounds!.length + 1 || !buckets.every(isCount))
    return 'a histogram without its buckets';
  if (buckets.reduce((sum, one) => sum + one, 0) !== count) return 'buckets that are not as many as it says';
  return { labels: known, value, count, buckets: [...buckets] };
}

function readLabels(labels: unknown, look: Look): Readonly<Record<string, string>> | string {
  if (!isObject(labels)) return 'labels that are none';
  const entries = Object.entries(labels);
  if (entries.length > MOST_LABELS) return `more than ${MOST_LABELS} labels`;
  const names = new Set<string>();
  for (const [name, value] of entries) {
    if (name.length > LONGEST_NAME || !NAME.test(name) || RESERVED.has(name)) return `the label ${told(name, look)}`;
    if (!isShown(name, look)) return 'a label whose name may hold a secret';
    if (typeof value !== 'string') return `the label ${told(name, look)} without a text`;
    // In Prometheus these two would be one.
    if (names.has(name.replaceAll('.', '_'))) return `two labels like ${told(name, look)}`;
    names.add(name.replaceAll('.', '_'));
  }
  return Object.fromEntries(
    entries.map(([name, value]) => [name, cut(look.shown(String(value)).toWellFormed(), LONGEST_VALUE)]),
  );
}

const told = (name: string, { shown }: Look) => JSON.stringify(shown(name).slice(0, 60));
const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const cut = (text: string, most: number) => (text.length > most ? text.slice(0, most).toWellFormed() : text);
/** Without what would forge a line. */
const line = (text: string, most: number) => cut(text.toWellFormed(), most).replace(/\p{Cc}/gu, ' ');
