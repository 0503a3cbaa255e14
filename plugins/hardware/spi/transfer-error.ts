/** What became of a transfer, in the specification's codes (cbp.md section 12). */
import { CoreError, reasonOf, type SpiHandle } from '@device-core/plugin-api';

/** Is this the bridge saying that its queue for the endpoint is full? */
export function isBridgeBusy(error: unknown): boolean {
  return error instanceof CoreError && error.code === 'BRIDGE_FAILED' && error.details.status === 'BUSY';
}

/** `cancelled`: the caller itself gave up. */
export function transferError(thrown: unknown, handle: SpiHandle, deadlineMs: number, cancelled: boolean): CoreError {
  const cause = { cause: thrown };
  if (!(thrown instanceof CoreError)) return failed(handle, reasonOf(thrown), cause);
  switch (thrown.code) {
    case 'NOT_INITIALIZED':
      return thrown;
    case 'TIMEOUT':
      return timeout(handle, deadlineMs, cause);
    case 'CANCELLED':
      return cancelled ? thrown : failed(handle, 'CANCELLED', cause);
    case 'BRIDGE_FAILED':
      return bridgeError(String(thrown.details.status), handle, deadlineMs, cause);
    default:
      return failed(handle, reasonOf(thrown), cause);
  }
}

function bridgeError(status: string, handle: SpiHandle, deadlineMs: number, cause: ErrorOptions): CoreError {
  switch (status) {
    case 'TIMEOUT':
      return timeout(handle, deadlineMs, cause);
    case 'BAD_SPEED':
      return new CoreError(
        'INVALID_SPEED',
        { speed: handle.speed, reason: ` and within what ${handle.endpoint} can do` },
        cause,
      );
    case 'BAD_MODE':
      return new CoreError('INVALID_MODE', { mode: handle.mode }, cause);
    case 'LINK_DOWN':
      return new CoreError('NOT_INITIALIZED', { reason: 'the link to the IO bridge is down' }, cause);
    default:
      return failed(handle, status, cause);
  }
}

function timeout(handle: SpiHandle, ms: number, cause: ErrorOptions): CoreError {
  return new CoreError('TIMEOUT', { what: `transfer on ${handle.name}`, ms }, cause);
}

function failed(handle: SpiHandle, reason: string, cause: ErrorOptions): CoreError {
  return new CoreError('TRANSFER_FAILED', { handle: handle.name, reason }, cause);
}
