import type { UpdateWindow } from './window.ts';

/** Section of plugin `updater`. */
export interface UpdaterConfig {
  /** Folder of the repository; absent: from files alone. */
  readonly url?: string;
  /** First root metadata of the repository, a file. */
  readonly root?: string;
  readonly channel: string;
  /** How far it goes without being asked. */
  readonly automatic: 'off' | 'check' | 'download' | 'apply';
  readonly checkHours: number;
  readonly holdDays: number;
  readonly securityHoldDays: number;
  readonly windows: readonly UpdateWindow[];
  readonly metered: boolean;
  /** Percent. */
  readonly leastBattery: number;
  readonly blocked: readonly string[];
  readonly probationMs: number;
  readonly judgeMs: number;
  readonly answerMs: number;
  readonly leastBytesPerSecond: number;
  readonly tries: number;
  readonly maxMB: number;
  readonly keepFreeMB: number;
}
