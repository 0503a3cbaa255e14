import { CoreError, reasonOf } from '../../contract/errors.ts';
import { maybe } from '../maybe.ts';
import { executedIn } from './executed.ts';

/** A request that failed. */
export interface FailedBusRequest {
  /** Name of the handle. */
  readonly handle: string;
  /** `the request to climate` */
  readonly what: string;
  /** Limits: of the transfer, and what the caller waits. */
  readonly ms: { readonly transfer: number; readonly caller: number };
  /** The caller itself gave up. */
  readonly cancelled: boolean;
  /** The error of a status in the codes of one bus; its details must have those given. */
  readonly refusal?: ((status: string, details: object, cause: ErrorOptions) => CoreError | undefined) | undefined;
}

/** Is this an endpoint that says that its queue is full? */
export function isBusy(error: unknown): boolean {
  return error instanceof CoreError && error.code === 'BRIDGE_FAILED' && error.details.status === 'BUSY';
}

/** Outcome of a request, in the codes of the table, each with `details.executed`. */
export function busError(thrown: unknown, { handle, what, ms, cancelled, refusal }: FailedBusRequest): CoreError {
  const cause = { cause: thrown };
  const executed = executedIn(thrown);
  const failed = (reason: string, status?: string) =>
    new CoreError('TRANSFER_FAILED', { handle, reason, ...maybe({ status }), executed }, cause);
  const late = (clock: keyof typeof ms) => new CoreError('TIMEOUT', { what, ms: ms[clock], clock, executed }, cause);
  if (!(thrown instanceof CoreError)) return failed(reasonOf(thrown));
  const status = String(thrown.details.status);
  switch (thrown.code) {
    case 'NOT_INITIALIZED':
    case 'BUSY':
      return new CoreError(thrown.code, { ...thrown.details, executed }, cause);
    case 'TIMEOUT':
      return late(thrown.details.clock === 'caller' ? 'caller' : 'transfer');
    case 'CANCELLED':
      return cancelled ? new CoreError('CANCELLED', { ...thrown.details, executed }, cause) : failed('CANCELLED');
    case 'BRIDGE_FAILED':
      if (status === 'TIMEOUT') return late('transfer');
      if (status === 'LINK_DOWN')
        return new CoreError('NOT_INITIALIZED', { reason: 'the link to the IO bridge is down', executed }, cause);
      return refusal?.(status, { executed }, cause) ?? failed(reasoned(status, thrown.details.reason), status);
    default:
      return failed(reasonOf(thrown));
  }
}

/** Hosts say more than a word of the protocol. */
function reasoned(status: string, reason: unknown): string {
  return typeof reason === 'string' ? `${status} (${reason})` : status;
}
