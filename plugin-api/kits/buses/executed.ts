import { CoreError, type CoreErrorCode, type PluginErrorKind } from '../../contract/errors.ts';

/** Effect of a failed request: certainly nothing, certainly at least a part, or unknown (decisions D4a). */
export type Executed = 'no' | 'yes' | 'unknown';

/** Statuses of docs/cbp.md section 13 that refuse a request before anything of it has happened. */
const REFUSALS: ReadonlySet<string> = new Set([
  'INVALID',
  'UNSUPPORTED',
  'NO_ENDPOINT',
  'BUSY',
  'TOO_BIG',
  'BAD_SPEED',
  'BAD_MODE',
  'NO_MEMORY',
  'NOT_READY',
  'DENIED',
  'LINK_DOWN',
]);
const VALUES: readonly unknown[] = ['no', 'yes', 'unknown'] satisfies readonly Executed[];

/** Effect by a status alone: `NACK`, for one, may come with any byte. */
export function executedByStatus(status: string): Executed {
  return REFUSALS.has(status) ? 'no' : 'unknown';
}

/** Effect by an error of an endpoint, or else by its code and status. */
export function executedIn(thrown: unknown): Executed {
  if (!(thrown instanceof CoreError)) return 'unknown';
  const { executed, status } = thrown.details;
  if (VALUES.includes(executed)) return executed as Executed;
  if (thrown.code === 'NOT_INITIALIZED' || thrown.code === 'BUSY' || thrown.code === 'PARAMS_INVALID') return 'no';
  return typeof status === 'string' ? executedByStatus(status) : 'unknown';
}

/** The same error, of a request that was a part of something longer: what it says of itself does not hold for the whole. */
export function saysExecuted(thrown: unknown, executed: Executed, more: object = {}): unknown {
  if (!(thrown instanceof CoreError)) return thrown;
  const kind: CoreErrorCode | PluginErrorKind = thrown.kind ?? (thrown.code as CoreErrorCode);
  return new CoreError(kind, { ...thrown.details, ...more, executed }, { cause: thrown });
}

/** The endpoint said that it is done, and left out what it should have answered. */
export function answeredTooLittle(handle: string): CoreError {
  return new CoreError('TRANSFER_FAILED', { handle, reason: 'the bridge answered too little', executed: 'yes' });
}
