import { CoreError, reasonOf } from '../errors.ts';

/** A request that failed. */
export interface FailedBusRequest {
  /** Name of the handle. */
  readonly handle: string;
  /** `the request to climate` */
  readonly what: string;
  readonly ms: number;
  /** The caller itself gave up. */
  readonly cancelled: boolean;
  /** The error of a status in the codes of one bus. */
  readonly refusal?: ((status: string, cause: ErrorOptions) => CoreError | undefined) | undefined;
}

/** Is this an endpoint that says that its queue is full? */
export function isBusy(error: unknown): boolean {
  return error instanceof CoreError && error.code === 'BRIDGE_FAILED' && error.details.status === 'BUSY';
}

/** What became of a request, in the codes of the table. */
export function busError(thrown: unknown, { handle, what, ms, cancelled, refusal }: FailedBusRequest): CoreError {
  const cause = { cause: thrown };
  const failed = (reason: string, status?: string) =>
    new CoreError('TRANSFER_FAILED', { handle, reason, ...(status === undefined ? {} : { status }) }, cause);
  if (!(thrown instanceof CoreError)) return failed(reasonOf(thrown));
  const status = String(thrown.details.status);
  switch (thrown.code) {
    case 'NOT_INITIALIZED':
    case 'BUSY':
      return thrown;
    case 'TIMEOUT':
      return new CoreError('TIMEOUT', { what, ms }, cause);
    case 'CANCELLED':
      return cancelled ? thrown : failed('CANCELLED');
    case 'BRIDGE_FAILED':
      if (status === 'TIMEOUT') return new CoreError('TIMEOUT', { what, ms }, cause);
      if (status === 'LINK_DOWN')
        return new CoreError('NOT_INITIALIZED', { reason: 'the link to the IO bridge is down' }, cause);
      return refusal?.(status, cause) ?? failed(status, status);
    default:
      return failed(reasonOf(thrown));
  }
}
