export interface LogsConfig {
  readonly file?: string;
  readonly scanBytes: number;
  readonly answerBytes: number;
  readonly streams: number;
  readonly pollMs: number;
  readonly warnOfLastStart: boolean;
  readonly files: { readonly fileMB: number; readonly totalMB: number; readonly days: number; readonly freeMB: number };
  readonly recorder: {
    readonly on: boolean;
    readonly lines: number;
    readonly kilobytes: number;
    readonly perSecond: number;
  };
}
