import { serviceRef } from '../../contract/service-ref.ts';

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** How much the files of the log may take. */
export interface LogLimits {
  /** A file that has grown so large is put aside. */
  readonly fileBytes: number;
  /** All files of the log together; the oldest goes first. */
  readonly totalBytes: number;
  /** Files that are older go. */
  readonly days: number;
  /** While the disk has less free the oldest files go. */
  readonly freeBytes: number;
}

export interface LogLevels {
  /** Default level. */
  readonly level: LogLevel;
  /** `core`, and each plugin that has started. */
  readonly components: Readonly<Record<string, LogLevel>>;
}

export interface RecorderLimits {
  readonly lines: number;
  readonly bytes: number;
  /** Lines per second of one component that only the recorder takes. */
  readonly perSecond: number;
}

/** Recent log lines at level debug, kept in memory. */
export interface LogRecorder extends Disposable {
  /** Lines as the log has them, the oldest first, and how many were not taken: too many came. They stay. */
  read(): Promise<{ readonly lines: readonly string[]; readonly dropped: number }>;
}

/**
 * Takes a finished line, without its end, in the place of the file; false: the file is to take it. Level as pino
 * counts, 30 is info. It never throws.
 */
export type LogTarget = (line: string, level: number) => boolean;

/** The log of the Core while it runs. What is set here holds until what was answered is disposed of. Provided by the kernel. */
export interface LogControl {
  levels(): Promise<LogLevels>;
  /** Sets a component's level over the command line's; the last call counts. Throws PLUGIN_NOT_FOUND for a component that never logged. */
  setLevel(component: string, level: LogLevel): Promise<Disposable>;
  /** Begins to record; one recorder at a time, so that another one ends the first. */
  record(limits: RecorderLimits): Promise<LogRecorder>;
  limit(limits: LogLimits): Promise<void>;
  /** In the Core's own thread only; one target at a time. */
  divert(target: LogTarget): Disposable;
}

export const logControl = serviceRef<LogControl>('log-control', '1.0.0', 'tree');
