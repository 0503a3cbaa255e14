/** Status codes of the protocol, in one place, both ways: the code on the wire, its name, and the error a caller of the bridge gets. */
import { CoreError, maybe } from '@device-core/plugin-api';
import { type Executed, executedByStatus } from '@device-core/plugin-api/buses';

export const STATUS = {
  OK: 0x00,
  CANCELLED: 0x01,
  TIMEOUT: 0x02,
  INVALID: 0x03,
  UNSUPPORTED: 0x04,
  NO_ENDPOINT: 0x05,
  BUSY: 0x06,
  TOO_BIG: 0x07,
  IO_ERROR: 0x08,
  NACK: 0x09,
  BUS_STUCK: 0x0a,
  BUS_OFF: 0x0b,
  BAD_SPEED: 0x0c,
  BAD_MODE: 0x0d,
  NO_MEMORY: 0x0e,
  NOT_READY: 0x10,
  OVERRUN: 0x11,
  DENIED: 0x12,
  /** Host only, never on the wire: the session ended with the operation in flight. */
  LINK_RESET: 0xfe,
  /** Host only: the link was not up when the operation was submitted. */
  LINK_DOWN: 0xff,
} as const;

export type StatusName = keyof typeof STATUS;

const NAMES = new Map<number, StatusName>(
  (Object.keys(STATUS) as StatusName[]).map((name) => [STATUS[name], name] as const),
);

/** `IO_ERROR`, or `0x2A` for a code this host does not know. */
export function statusName(code: number): string {
  return NAMES.get(code) ?? `0x${code.toString(16).toUpperCase().padStart(2, '0')}`;
}

export interface FailedRequest {
  readonly endpoint: string;
  /** Name of the request, for the message. */
  readonly what: string;
  /** The limit it had, milliseconds. */
  readonly deadlineMs: number;
  readonly reason?: string | undefined;
  /** Extent of execution; the status decides if absent. */
  readonly executed?: Executed;
  /** Clock whose limit was over. */
  readonly clock?: 'caller' | 'transfer';
}

/** The error of a request that ended with a status other than OK. */
export function statusError(code: number, request: FailedRequest): CoreError {
  const { endpoint, what, deadlineMs, reason, clock = 'transfer' } = request;
  const status = statusName(code);
  const { executed = executedByStatus(status) } = request;
  const details = { endpoint, status, ...maybe({ reason }), executed };
  if (code === STATUS.TIMEOUT) return new CoreError('TIMEOUT', { ...details, what, ms: deadlineMs, clock });
  if (code === STATUS.CANCELLED) {
    return new CoreError('CANCELLED', { ...details, what, reason: reason ?? 'the caller gave up' });
  }
  if (code === STATUS.LINK_DOWN) {
    return new CoreError('NOT_INITIALIZED', { ...details, reason: reason ?? 'the bridge link is down' });
  }
  return new CoreError('BRIDGE_FAILED', details);
}
