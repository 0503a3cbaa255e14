/**
 * Structured log of one plugin; its id is bound. Known secret members are redacted at the source, but do not rely on
 * it: log no secrets.
 */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
