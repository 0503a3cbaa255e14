export interface LogsConfig {
  readonly file?: string;
  readonly scanBytes: number;
  readonly answerBytes: number;
  readonly streams: number;
  readonly pollMs: number;
  readonly warnOfLastStart: boolean;
}
