/** The sources of all plugins, read at each look: there is no timer. */
import {
  CoreError,
  FOR_USER,
  maybe,
  reasonOf,
  type Scope,
  type ServesEachUser,
  type ServiceUser,
} from '@device-core/plugin-api';
import { metricPrefix } from '@device-core/plugin-api/inside/own-names';
import type { SecretScan } from '@device-core/plugin-api/inside/services/secret-scan';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { Meter, type MetricData, type MetricSource, type Metrics } from '@device-core/plugin-api/telemetry';
import { type Look, readMetrics, textsIn } from './reading.ts';
import { type Last, type Limits, SeriesTable } from './series-table.ts';

export interface RegistryOptions extends Limits {
  readonly scope: Scope;
  /** Time limit of a source in milliseconds. */
  readonly sourceMs: number;
}

interface Source {
  readonly plugin: string;
  readonly collect: () => Promise<unknown>;
  readonly last: Last;
  readonly perMetric?: number;
  /** True for a source outside of the tree. Names of the tree are known, and a secret of an app must not remove them. */
  readonly outside: boolean;
  /** Beginning of the names of an installed plugin. */
  readonly prefix?: string;
  /** Its last answer is still to come. */
  busy: boolean;
  /** Why it was left out of the last look. */
  trouble?: string;
  failures: number;
  /** Points that were refused or did not fit, in the last look. */
  left: readonly string[];
}

interface Answer {
  readonly answer: unknown;
}

const MOST_OF_A_PLUGIN = 16;
/** Most omitted sources and series that the health names. */
const MOST_NAMED = 5;

export class Registry implements Metrics, ServesEachUser<Metrics> {
  readonly #options: RegistryOptions;
  readonly #sources = new Set<Source>();
  readonly #table: SeriesTable;
  readonly #meter = new Meter();
  readonly #failed = this.#meter.counter('device.metrics.source.failures', {
    unit: '{failure}',
    description: 'Answers of sources of metrics that did not come in time, or were none',
    level: 'crash',
    why: 'Tells whether what is sent is whole',
  });
  readonly #left = this.#meter.counter('device.metrics.points.left_out', {
    unit: '{point}',
    description: 'Points that were malformed, or beyond the limits of series',
    level: 'crash',
    why: 'Tells whether what is sent is whole',
  });
  readonly #series = this.#meter.gauge('device.metrics.series', {
    unit: '{series}',
    description: 'Series that are kept',
    level: 'full',
    why: 'Shows how much of the limit is used',
  });
  /** Finds texts of secrets in names, descriptions and labels. */
  scan: SecretScan | undefined;
  #looking: Promise<readonly MetricData[]> | undefined;

  constructor(options: RegistryOptions) {
    this.#options = options;
    this.#table = new SeriesTable(options);
    this.add('metrics', this.#meter);
  }

  [FOR_USER](user: ServiceUser): Metrics {
    return {
      register: async (source) => {
        const collect = user.measured('hook', () => source.collect());
        return this.add(user.plugin, { collect }, undefined, user);
      },
      collect: () => this.collect(),
    };
  }

  /** For the plugin itself; others come by FOR_USER. */
  async register(source: MetricSource): Promise<Disposable> {
    return this.add('core', source);
  }

  /** Throws PARAMS_INVALID. */
  add(plugin: string, given: MetricSource, perMetric?: number, user?: ServiceUser): Disposable {
    const of = [...this.#sources].filter((one) => one.plugin === plugin).length;
    if (of >= MOST_OF_A_PLUGIN)
      throw new CoreError('PARAMS_INVALID', { where: 'source', reason: `${plugin} has ${MOST_OF_A_PLUGIN} of them` });
    const source: Source = {
      plugin,
      outside: user?.outside === true,
      last: new Map(),
      busy: false,
      failures: 0,
      left: [],
      collect: () => given.collect(),
      ...maybe({ perMetric }),
      ...(user?.installed && { prefix: metricPrefix(plugin) }),
    };
    this.#sources.add(source);
    return {
      [Symbol.dispose]: () => {
        if (this.#sources.delete(source)) this.#table.retire(source.last);
      },
    };
  }

  /** Collects all metrics; calls during a look share its answer. */
  collect(): Promise<readonly MetricData[]> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = undefined;
    });
    return this.#looking;
  }

  /** Reports the findings of the last look. */
  tell(report: HealthReport): void {
    const failed = [...this.#sources].filter(({ trouble }) => trouble !== undefined);
    if (failed.length > 0)
      report.warn(
        'METRICS_LEFT_OUT',
        `metrics are left out: ${named(failed.map(({ plugin, trouble, failures }) => `${plugin}: ${trouble} (${failures} times)`))}`,
      );
    const left = [...this.#sources].flatMap(({ left }) => left);
    if (left.length > 0) report.warn('METRICS_LIMITED', `not all metrics are kept: ${named(left)}`);
  }

  async #look(): Promise<readonly MetricData[]> {
    const pending: Promise<readonly [Source, Answer | undefined]>[] = [];
    // All of it in one go is long on a slow device: what else there is to do gets its turn between.
    for (const source of [...this.#sources]) {
      pending.push(this.#ask(source).then((answer) => [source, answer] as const));
      await others();
    }
    const answers = await Promise.all(pending);
    const shown = await this.#shown(answers.map(([, answer]) => answer?.answer));
    this.#table.begin();
    this.#series.set(this.#table.size);
    // One after the other, without a pause between: a look is of one moment.
    for (const [source, answer] of answers)
      if (answer && this.#sources.has(source)) this.#take(source, answer.answer, shown);
    return this.#table.told();
  }

  /** Texts without those of secrets; where these cannot be looked for, texts are withheld. */
  async #shown(answers: readonly unknown[]): Promise<Look['shown'] | undefined> {
    const { scan } = this;
    if (!scan) return undefined;
    const all = [...new Set(answers.flatMap(textsOf))];
    let found: readonly string[] = [];
    try {
      found = await scan.hide(all);
    } catch {
      // Told as what it is: each text is withheld.
    }
    const known = new Map(all.map((text, at) => [text, found[at]]));
    return (text) => known.get(text) ?? 'withheld';
  }

  async #ask(source: Source): Promise<Answer | undefined> {
    const { scope, sourceMs } = this.#options;
    if (source.busy) {
      this.#fail(source, 'its last answer is still to come');
      return undefined;
    }
    source.busy = true;
    const answering = async () => {
      try {
        return { answer: await source.collect() };
      } finally {
        source.busy = false;
      }
    };
    try {
      return await scope.within(`metrics of ${source.plugin}`, sourceMs, answering);
    } catch (thrown) {
      this.#fail(source, reasonOf(thrown));
      return undefined;
    }
  }

  #take(source: Source, answer: unknown, shown?: Look['shown']): void {
    const { plugin, outside, prefix } = source;
    try {
      const { metrics, refused, why } = readMetrics(answer, { shown: shown ?? ((text) => text), outside, prefix });
      const { beyond, other } = this.#table.add(plugin, metrics, source.last, source.perMetric);
      const count = refused + other.length + [...beyond.values()].reduce((sum, one) => sum + one, 0);
      if (count > 0) this.#left.add(count);
      source.left = [
        ...(refused > 0 ? [`${plugin}: ${refused} are malformed (${why})`] : []),
        ...[...beyond].map(([name, points]) => `${plugin}: ${points} series of ${name} are beyond the limits`),
        ...other.map((name) => `${plugin}: ${name} means something else in another plugin`),
      ];
      delete source.trouble;
    } catch (thrown) {
      // A getter of the answer may throw any value.
      this.#fail(source, reasonOf(thrown));
    }
  }

  #fail(source: Source, reason: string): void {
    source.trouble = reason.slice(0, 200);
    source.failures++;
    this.#failed.add();
  }
}

/** An answer that throws here does so again at the reading, which reports it. */
function textsOf(answer: unknown): readonly string[] {
  try {
    return textsIn(answer);
  } catch {
    return [];
  }
}

const others = () => new Promise((resolve) => setImmediate(resolve));

function named(all: readonly string[]): string {
  const more = all.length - MOST_NAMED;
  return `${all.slice(0, MOST_NAMED).join('; ')}${more > 0 ? `; and ${more} more` : ''}`;
}
