/** Words of docs/cbp.md section 13 for the refusals of the kernel. */
import { CoreError, maybe, reasonOf } from '@device-core/plugin-api';
import { type Executed, executedByStatus } from '@device-core/plugin-api/buses';
import { KernelError } from './calls.ts';

type Meaning = readonly [status: string, executed?: Executed];

/** Numbers of asm-generic/errno.h, which x86, arm and arm64 share. */
const MEANINGS: Readonly<Record<number, Meaning>> = {
  1: ['DENIED'], // EPERM
  6: ['NACK'], // ENXIO
  11: ['BUSY', 'unknown'], // EAGAIN: the arbitration of I2C was lost
  12: ['NO_MEMORY'], // ENOMEM
  13: ['DENIED'], // EACCES
  16: ['BUSY'], // EBUSY
  19: ['NOT_READY', 'unknown'], // ENODEV: the device went, maybe in the middle
  22: ['INVALID'], // EINVAL
  25: ['UNSUPPORTED'], // ENOTTY
  90: ['TOO_BIG'], // EMSGSIZE
  95: ['UNSUPPORTED'], // EOPNOTSUPP
  100: ['BUS_OFF', 'no'], // ENETDOWN
  105: ['BUSY'], // ENOBUFS
  108: ['NOT_READY', 'unknown'], // ESHUTDOWN
  110: ['TIMEOUT'], // ETIMEDOUT
  121: ['NACK'], // EREMOTEIO
};
const OTHERS: Meaning = ['IO_ERROR'];

/** The device is not there any more: ENODEV, ESHUTDOWN, ENXIO where a node was opened, EBADF. */
const GONE: ReadonlySet<number> = new Set([9, 19, 108]);

export const isGone = (error: unknown): boolean => error instanceof KernelError && GONE.has(error.errno);

/** A refusal in a word of the protocol. */
export function refusal(endpoint: string, status: string, reason?: string, executed?: Executed): CoreError {
  const details = { endpoint, status, ...maybe({ reason }), executed: executed ?? executedByStatus(status) };
  return new CoreError('BRIDGE_FAILED', details);
}

/** The device went with the request in flight. */
export function interruption(endpoint: string, reason: string, executed: Executed): CoreError {
  return refusal(endpoint, 'LINK_RESET', reason, executed);
}

/** The error of a request to an endpoint of the host. */
export function statusError(endpoint: string, error: unknown): CoreError {
  if (error instanceof CoreError) return error;
  if (!(error instanceof KernelError)) return refusal(endpoint, 'IO_ERROR', reasonOf(error));
  const [status, executed] = MEANINGS[error.errno] ?? OTHERS;
  return refusal(endpoint, status, error.message, executed);
}

const REMEDIES: Readonly<Record<number, string>> = {
  1: 'no permission; the group of the node and DeviceAllow= of the unit decide',
  2: 'there is no such device node',
  6: 'no device is behind the node',
  13: 'no permission; the group of the node and the groups of the user of the Core decide',
  16: 'another program has it',
  19: 'no device is behind the node',
  25: 'the node belongs to another kind of device',
};

/** Reason of a device that cannot be opened, as the operator reads it. */
export function openReason(path: string, error: unknown): string {
  if (!(error instanceof KernelError)) return reasonOf(error);
  return `cannot open ${path}: ${REMEDIES[error.errno] ?? error.message}`;
}
