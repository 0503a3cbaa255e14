/** Bodies that telemetry sends, in the form of OTLP: metrics by the consent, and lines of the log. */
import type { Scope } from '@device-core/plugin-api';
import type { OutboxLoss, Queued } from '@device-core/plugin-api/inside/services/outbox';
import { type ConsentLevel, covers } from '@device-core/plugin-api/inside/services/telemetry';
import type { MetricData, Metrics } from '@device-core/plugin-api/telemetry';
import type { ConsentBook } from './consent-book.ts';
import { type LogRecords, lossRecord } from './log-records.ts';
import { logsRequest, metricsRequest, type Resource, type Span } from './otlp.ts';

/** Points of one body, so that none is too large for a collector. */
const POINTS_OF_A_BODY = 500;
/** Before that the device does not know what time it is. */
const BELIEVABLE = Date.UTC(2020, 0);
/** Change of the wall clock after which the start of counting is set anew. */
const MOVED_MS = 60_000;
const NOBODY = '00000000-0000-4000-8000-000000000000';

export type Signal = 'metrics' | 'logs';

export interface BodiesOptions {
  readonly scope: Scope;
  readonly book: ConsentBook;
  readonly about: Omit<Resource, 'device'>;
  readonly startedAt: number;
}

export class TelemetryBodies {
  /** Lines of the log that wait. */
  readonly records: LogRecords;
  source: Metrics | undefined;
  readonly #options: BodiesOptions;
  #from: number | undefined;

  constructor(options: BodiesOptions, records: LogRecords) {
    this.#options = options;
    this.records = records;
  }

  /** Takes the lines that wait. */
  logs(): string {
    const body = logsRequest(this.#resource(), this.records.waiting);
    this.records.clear();
    return body;
  }

  /** Metrics of a consent, in pieces that a collector takes. */
  async metrics(level: ConsentLevel): Promise<readonly string[]> {
    const now = this.#options.scope.clock.now();
    if (!this.source || now < BELIEVABLE) return [];
    const all = await this.source.collect();
    const span = this.#span(this.#options.scope.clock.now());
    const resource = this.#resource();
    const bodies: string[] = [];
    for (const piece of pieces(all.filter((metric) => covers(level, metric.level)))) {
      await others();
      bodies.push(metricsRequest(resource, piece, span));
    }
    return bodies;
  }

  #span(to: number): Span {
    const from = to - Math.max(0, this.#options.scope.clock.steady() - this.#options.startedAt);
    if (this.#from === undefined || Math.abs(from - this.#from) > MOVED_MS) this.#from = from;
    return { from: Math.min(this.#from, to), to };
  }

  #resource(): Resource {
    const { about, book } = this.#options;
    return { ...about, device: book.value.device ?? NOBODY };
  }

  /** Body of a queued message; undefined for what has no form there. */
  of(signal: Signal, { what, body }: Queued): string | undefined {
    if (what !== 'loss') return body;
    if (signal === 'metrics') return undefined;
    const { lost, to } = JSON.parse(body) as OutboxLoss;
    return logsRequest(this.#resource(), [lossRecord(lost, to)]);
  }
}

/** Gives other work a turn between series. */
const others = () => new Promise((resolve) => setImmediate(resolve));

function pieces(metrics: readonly MetricData[]): readonly (readonly MetricData[])[] {
  const all: MetricData[][] = [];
  let points = POINTS_OF_A_BODY;
  for (const metric of metrics) {
    if (points >= POINTS_OF_A_BODY) {
      all.push([]);
      points = 0;
    }
    all.at(-1)!.push(metric);
    points += metric.points.length;
  }
  return all;
}
