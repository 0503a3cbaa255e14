import { CoreError } from '@device-core/plugin-api';
import type {
  LogControl,
  LogLevel,
  LogLevels,
  LogLimits,
  LogRecorder,
  LogTarget,
  RecorderLimits,
} from '@device-core/plugin-api/inside/services/log-control';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import type { LogFile } from './log-file.ts';
import { LogRing } from './log-recorder.ts';

/** As pino counts. */
const NUMBERS = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 } as const;
/** Lines of one plugin that are written a second, and at once: a loop that logs must not push everything else out of the log. */
export const PER_SECOND = 1_000;
const BURST = 10_000;

/** A component that logs: the Core itself, or one plugin. */
export class LogComponent {
  readonly id: string;
  /** Lines below this are not written. */
  threshold: number;
  /** Levels that were asked for, the last one counts. */
  readonly requested: LogLevel[] = [];
  #tokens = BURST;
  #filledAt = 0;
  /** Lines that were too many and are not told yet. */
  dropped = 0;
  #second = 0;
  #recorded = 0;

  constructor(id: string, threshold: number) {
    this.id = id;
    this.threshold = threshold;
  }

  /** May one more line be written? The Core itself has no limit. Milliseconds of a clock that never goes back. */
  takes(now: number): boolean {
    if (this.#tokens < 1) {
      this.#tokens = Math.min(BURST, this.#tokens + ((now - this.#filledAt) / 1_000) * PER_SECOND);
      this.#filledAt = now;
      if (this.#tokens < 1) {
        this.dropped++;
        return false;
      }
    }
    this.#tokens--;
    return true;
  }

  /** Returns the number of dropped lines and resets it; the caller reports it. */
  forget(): number {
    const { dropped } = this;
    this.dropped = 0;
    return dropped;
  }

  /** True if the ring may take one more line that only the recorder wants. */
  records(ring: LogRing, now: number): boolean {
    const second = Math.floor(now / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#recorded = 0;
    }
    if (this.#recorded >= ring.perSecond) {
      ring.dropped++;
      return false;
    }
    this.#recorded++;
    return true;
  }
}

/** Control of the log at run time. Its settings end with the Core. */
export class CoreLogControl implements LogControl {
  readonly #level: LogLevel;
  readonly #file: LogFile | undefined;
  readonly #components = new Map<string, LogComponent>();
  ring: LogRing | undefined;
  target: LogTarget | undefined;

  constructor(level: LogLevel, file: LogFile | undefined) {
    this.#level = level;
    this.#file = file;
  }

  component(id: string): LogComponent {
    const known = this.#components.get(id);
    if (known) return known;
    const component = new LogComponent(id, NUMBERS[this.#level]);
    this.#components.set(id, component);
    return component;
  }

  async levels(): Promise<LogLevels> {
    const all = [...this.#components.values()].map(
      ({ id, requested }) => [id, requested.at(-1) ?? this.#level] as const,
    );
    return { level: this.#level, components: Object.fromEntries(all.sort(([a], [b]) => (a < b ? -1 : 1))) };
  }

  async setLevel(id: string, level: LogLevel): Promise<Disposable> {
    const component = this.#components.get(id);
    if (!component) throw new CoreError('PLUGIN_NOT_FOUND', { plugin: id });
    const { requested } = component;
    const follow = () => {
      component.threshold = NUMBERS[requested.at(-1) ?? this.#level];
    };
    requested.push(level);
    follow();
    let ended = false;
    const end = () => {
      if (ended) return;
      ended = true;
      requested.splice(requested.lastIndexOf(level), 1);
      follow();
    };
    return { [Symbol.dispose]: end };
  }

  async record(limits: RecorderLimits): Promise<LogRecorder> {
    const ring = new LogRing(limits);
    this.ring = ring;
    const end = () => {
      if (this.ring === ring) this.ring = undefined;
    };
    return { read: async () => ({ lines: ring.read(), dropped: ring.dropped }), [Symbol.dispose]: end };
  }

  async limit(limits: LogLimits): Promise<void> {
    this.#file?.limit(limits);
  }

  divert(target: LogTarget): Disposable {
    this.target = target;
    const end = () => {
      if (this.target === target) this.target = undefined;
    };
    return { [Symbol.dispose]: end };
  }

  /** Reports the log's troubles to health. */
  readonly tell = (report: HealthReport): void => {
    const { trouble, shortage } = this.#file ?? {};
    if (trouble)
      report.warn(
        'LOG_UNWRITABLE',
        `the log loses lines, ${trouble.lost} so far: ${trouble.reason}; ${remedyOf(trouble)}`,
      );
    for (const { id, dropped } of this.#components.values())
      if (dropped > 0) report.warn('LOG_LINES_DROPPED', `plugin ${id} logs too much: ${dropped} lines were dropped`);
    if (shortage) {
      const gone = shortage.removed > 0 ? `, ${shortage.removed} old files of the log went for it` : '';
      report.warn(
        'LOG_DISK_LOW',
        `${Math.floor(shortage.free / (1 << 20))} MB of the disk are free${gone}; free the disk`,
      );
    }
  };
}

/** Remedies by the code of the system in the reason. */
function remedyOf({ reason }: { readonly reason: string }): string {
  if (/\bEROFS\b/.test(reason)) return 'the disk is read-only: mount it writable, or look why the system made it so';
  if (/\b(EACCES|EPERM)\b/.test(reason)) return 'give the folder of the log to the user of the Core';
  if (/\b(ENOSPC|EDQUOT)\b/.test(reason)) return 'free the disk';
  return 'look at the folder of the log and at its disk';
}
