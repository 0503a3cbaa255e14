/** Builds what is sent, hands it to the outbox while there is a consent, and throws it away when there is none any more. */
import { type Clock, type Logger, maybe, reasonOf, type Scope } from '@device-core/plugin-api';
import { Serial } from '@device-core/plugin-api/inside/serial';
import type { Outbox, OutboxQueue, Queued, QueueState, Sent } from '@device-core/plugin-api/inside/services/outbox';
import { CONSENT_LEVELS, type ConsentLevel } from '@device-core/plugin-api/inside/services/telemetry';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import type { Secrets } from '@device-core/plugin-api/services/secrets';
import { type BodiesOptions, type Signal, TelemetryBodies } from './bodies.ts';
import { type LogLevel, LogRecords } from './log-records.ts';
import { checkedUrl, receiver, revealedHeaders, signalUrl, type TargetSettings, type Text, textOf } from './target.ts';

export interface ExportSettings extends TargetSettings {
  readonly intervalMs: number;
  readonly answerMs: number;
  readonly logs: LogLevel;
}

export interface ExporterOptions extends BodiesOptions {
  readonly log: Logger;
  readonly settings: ExportSettings;
}

/** The next push. */
export interface Shown {
  /** Bodies, one on a line. */
  readonly metrics?: string;
  readonly logs?: string;
}

interface Sending {
  readonly part: Scope & AsyncDisposable;
  readonly base: URL;
  readonly metrics: OutboxQueue;
  readonly logs: OutboxQueue;
}

/** The two queues: what is measured is kept in its newest state alone, lines of the log are kept all. */
const QUEUES = { metrics: 'telemetry', logs: 'logs' } as const satisfies Record<Signal, string>;
const PART = 'telemetry';
const LIMITS = { bytes: 4 << 20, messages: 500, ageMs: 7 * 24 * 3_600_000 };
/** Lines wait so long for others: an error is on the disk soon, a burst is one push. */
const GATHER_MS = 2_000;

export class Exporter {
  readonly bodies: TelemetryBodies;
  readonly #options: ExporterOptions;
  readonly #clock: Clock;
  #outbox: Outbox | undefined;
  secrets: Secrets | undefined;
  #sending: Sending | undefined;
  #trouble: string | undefined;
  #rejected: string | undefined;
  /** Why the headers of the last push could not be made. */
  #unheaded: string | undefined;
  /** Bodies that `show` has shown; they are sent next, to the byte. */
  #shown: { metrics?: readonly string[]; logs?: string } = {};
  /** Number of the consent: work that began before a withdrawal is dropped. */
  #generation = 0;
  readonly #turns = new Serial();

  constructor(options: ExporterOptions) {
    this.#options = options;
    this.#clock = options.scope.clock;
    this.bodies = new TelemetryBodies(options, new LogRecords(options.settings.logs));
  }

  get trouble(): string | undefined {
    const { book, settings } = this.#options;
    if (book.value.level === 'off') return 'there is no consent';
    if (settings.endpoint === undefined) return 'the SKU names no endpoint';
    if (!this.#outbox) return 'service outbox is missing: enable plugin outbox in the SKU';
    return this.#trouble ?? (this.#sending && this.#unheaded);
  }

  /** Host and port, which the owner sees before a consent. Those in a secret are known only while telemetry is sent. */
  get to(): string | undefined {
    if (this.#sending) return receiver(this.#sending.base);
    const { endpoint } = this.#options.settings;
    try {
      return typeof endpoint === 'string' ? receiver(checkedUrl(endpoint)) : undefined;
    } catch {
      return undefined; // `trouble` has the reason
    }
  }

  async queues(): Promise<readonly QueueState[]> {
    const sending = this.#sending;
    return sending ? await Promise.all([sending.metrics.state(), sending.logs.state()]) : [];
  }

  async follow(outbox: Outbox | undefined): Promise<void> {
    await this.#turns.run(async () => {
      this.#outbox = outbox;
    });
    await this.reconsider();
  }

  /** Begins to send, or ends it, as consent, SKU and services say. */
  reconsider(): Promise<void> {
    return this.#turns.run(async () => {
      const { book, settings } = this.#options;
      const { endpoint } = settings;
      if (!this.#outbox) return await this.#stop();
      if (book.value.owed && !(await this.#pay())) return await this.#stop();
      if (book.value.level === 'off' || endpoint === undefined) return await this.#stop();
      const base = await this.#baseOf(endpoint);
      if (this.#sending && this.#sending.base.href !== base?.href) await this.#stop();
      if (base && !this.#sending) await this.#start(base, this.#outbox);
    });
  }

  /** A finished line of the log. Quick, for it is asked about each. */
  line(line: string): void {
    const sending = this.#sending;
    if (!sending || !this.bodies.records.take(line, this.#options.book.value.level)) return;
    sending.part.timeout('lines of the log', GATHER_MS, () => this.#flush(sending));
  }

  /**
   * Resolves when it is on the disk and, where it is less than before, the queues are empty. Rejects with the codes of
   * a disk, and of the outbox.
   */
  decide(level: ConsentLevel, by: string, text: string): Promise<void> {
    return this.#turns
      .run(async () => {
        const { book } = this.#options;
        const less = CONSENT_LEVELS.indexOf(level) < CONSENT_LEVELS.indexOf(book.value.level);
        if (less) this.#forget();
        else if (level !== book.value.level) this.#forgetMetrics();
        const decided = { level, by, text, at: this.#clock.now() };
        const failures: unknown[] = [];
        // A decision holds from the first line on, even if the disk fails.
        await book.decide(decided, less).catch((error) => failures.push(error));
        if (less) await this.#settle().catch((error) => failures.push(error));
        if (level === 'off') await this.#stop();
        if (failures.length > 0) throw failures[0];
      })
      .finally(() => void this.reconsider());
  }

  /** Renews the device's name and removes all messages with the old one. */
  renew(): Promise<void> {
    return this.#turns
      .run(async () => {
        this.#forget();
        await this.#options.book.renew();
        await this.#settle();
      })
      .finally(() => void this.reconsider());
  }

  /** Shows the next telemetry; with a level, that of this consent. */
  async show(level?: ConsentLevel): Promise<Shown> {
    const given = this.#options.book.value.level;
    const wanted = level ?? given;
    if (wanted === 'off') return {};
    if (wanted !== given || !this.#sending) return shown(await this.bodies.metrics(wanted), undefined);
    const generation = this.#generation;
    const metrics = this.#shown.metrics ?? (await this.bodies.metrics(wanted));
    if (generation !== this.#generation) return await this.show(level);
    this.#shown.metrics = metrics;
    if (this.#shown.logs === undefined && this.bodies.records.waiting.length > 0) this.#shown.logs = this.bodies.logs();
    return shown(metrics, this.#shown.logs);
  }

  tell(report: HealthReport): void {
    const { book } = this.#options;
    book.tell(report);
    if (book.value.level === 'off') return;
    if (this.trouble !== undefined) report.warn('TELEMETRY_UNSENT', `telemetry is not sent: ${this.trouble}`);
    if (this.#rejected !== undefined) report.warn('TELEMETRY_REJECTED', `the collector says: ${this.#rejected}`);
  }

  /** Read anew each time: a secret may be another one now. Undefined where there is none that can be used. */
  async #baseOf(endpoint: Text): Promise<URL | undefined> {
    try {
      return checkedUrl(await textOf(endpoint, this.secrets));
    } catch (error) {
      this.#unsent(error);
      return undefined;
    }
  }

  #unsent(error: unknown): void {
    const reason = reasonOf(error);
    if (reason !== this.#trouble) this.#options.log.warn({ reason }, 'telemetry is not sent');
    this.#trouble = reason;
  }

  async #start(base: URL, outbox: Outbox): Promise<void> {
    const { scope, settings } = this.#options;
    const part = scope.child('telemetry');
    try {
      const { push } = await import('./collector.ts');
      const open = async (signal: Signal) => {
        const send = async ([one]: readonly Queued[], ended: AbortSignal): Promise<Sent> => {
          const body = one && this.bodies.of(signal, one);
          if (body === undefined) return { outcome: 'taken' };
          let headers: Record<string, string>;
          try {
            headers = await revealedHeaders(settings.headers, this.secrets);
          } catch (error) {
            this.#unheaded = reasonOf(error);
            return { outcome: 'later', reason: this.#unheaded, unsent: true };
          }
          this.#unheaded = undefined;
          const post = { url: signalUrl(base, signal), headers, body };
          const { sent, rejected } = await push(post, { scope: part, answerMs: settings.answerMs }, ended);
          this.#rejected = sent.outcome === 'taken' ? rejected : this.#rejected;
          return sent;
        };
        const destination = { id: QUEUES[signal], part: PART, to: receiver(base), limits: LIMITS, batch: 1 };
        return part.use(`queue ${signal}`, await outbox.open(destination, send));
      };
      const sending = { part, base, metrics: await open('metrics'), logs: await open('logs') };
      part.interval('metrics', settings.intervalMs, () => this.#tick(sending));
      this.#sending = sending;
      this.#trouble = undefined;
    } catch (error) {
      await part[Symbol.asyncDispose]();
      this.#unsent(error);
    }
  }

  async #stop(): Promise<void> {
    const sending = this.#sending;
    this.#sending = undefined;
    this.#forget();
    await sending?.part[Symbol.asyncDispose]();
  }

  /** Drops metrics that were prepared under the former consent. */
  #forgetMetrics(): void {
    this.#generation++;
    delete this.#shown.metrics;
  }

  /** Clears prepared telemetry from memory. */
  #forget(): void {
    this.#generation++;
    this.#shown = {};
    this.bodies.records.clear();
  }

  /** Settles the debts of a withdrawal; false if that failed, and then telemetry must not be sent. */
  async #pay(): Promise<boolean> {
    try {
      await this.#settle();
      return true;
    } catch (error) {
      this.#unsent(error);
      return false;
    }
  }

  /** Throws away what waits, now or when there is an outbox. Rejects with its codes; it stays owed then. */
  async #settle(): Promise<void> {
    if (!this.#outbox) return;
    await this.#clear(this.#outbox);
    // The file tells in /health where it cannot be written; it is done once more then.
    await this.#options.book.paid().catch(() => undefined);
  }

  async #clear(outbox: Outbox): Promise<void> {
    if (this.#sending) {
      await this.#sending.metrics.clear();
      await this.#sending.logs.clear();
      return;
    }
    // From a time before: the outbox names no queue that is not open.
    for (const id of Object.values(QUEUES)) {
      const nobody = async (): Promise<Sent> => ({ outcome: 'later', reason: 'there is no consent', unsent: true });
      await using queue = await outbox.open({ id, part: PART, to: 'nobody:0' }, nobody);
      await queue.clear();
    }
  }

  async #tick({ metrics: queue }: Sending): Promise<void> {
    const generation = this.#generation;
    const bodies = this.#shown.metrics ?? (await this.bodies.metrics(this.#options.book.value.level));
    if (generation !== this.#generation) return;
    delete this.#shown.metrics;
    // Sums since the start: the newest of them says all.
    const messages = bodies.map((body, at) => ({
      priority: 'low' as const,
      what: 'metrics',
      key: `metrics-${at}`,
      body,
    }));
    await this.#put(queue, messages);
  }

  async #flush({ logs: queue }: Sending): Promise<void> {
    const { logs } = this.#shown;
    delete this.#shown.logs;
    const bodies = [
      ...(logs === undefined ? [] : [logs]),
      ...(this.bodies.records.waiting.length > 0 ? [this.bodies.logs()] : []),
    ];
    await this.#put(
      queue,
      bodies.map((body) => ({ priority: 'normal' as const, what: 'logs', body })),
    );
  }

  async #put(queue: OutboxQueue, messages: Parameters<OutboxQueue['putAll']>[0]): Promise<void> {
    if (messages.length === 0) return;
    try {
      await queue.putAll(messages);
      this.#trouble = undefined;
    } catch (error) {
      this.#trouble = reasonOf(error);
    }
  }
}

function shown(metrics: readonly string[], logs: string | undefined): Shown {
  return { ...(metrics.length > 0 && { metrics: metrics.join('\n') }), ...maybe({ logs }) };
}
