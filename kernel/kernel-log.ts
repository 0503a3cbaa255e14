import type { Logger } from '@device-core/plugin-api';

/** The log of the Core: pino's, or what a test reads. */
export interface KernelLog extends Logger {
  /** The same log, with members that are in each line. */
  child(members: object): KernelLog;
}
