/** Bodies of class UART (docs/cbp.md). */

import { answeredTooLittle } from '@device-core/plugin-api/buses';
import type { UartSettings } from '@device-core/plugin-api/services/uart';

export const OP = { configure: 0x01, write: 0x02, drain: 0x03 } as const;
export const EVENT = { received: 0x80, error: 0x81 } as const;
export const MAX_BYTES = 4_096;
const PARITY = { none: 0, even: 1, odd: 2 } as const;
const FLOW = { none: 0, 'rts-cts': 1 } as const;
const ERRORS = ['overrun', 'parity', 'framing', 'break'] as const;
const SLACK_MS = 500;

export function configureBody({ baud, bits = 8, parity = 'none', stop = 1, flow = 'none' }: UartSettings): Buffer {
  const body = Buffer.from([0, 0, 0, 0, bits, PARITY[parity], stop, FLOW[flow]]);
  body.writeUInt32LE(baud);
  return body;
}

/** Twice the time on the line, and half a second. */
export function deadlineOf({ baud, bits = 8, stop = 1 }: UartSettings, bytes: number): number {
  return Math.ceil((2 * bytes * (2 + bits + stop) * 1_000) / baud) + SLACK_MS;
}

/** Number of bytes written, from the answer to WRITE. Throws TRANSFER_FAILED. */
export function writtenIn(answer: Uint8Array, handle: string): number {
  if (answer.length < 4) throw answeredTooLittle(handle);
  return Buffer.from(answer.buffer, answer.byteOffset, 4).readUInt32LE();
}

/** The names of the bits of an ERR event. */
export function errorsIn(bits: number): readonly string[] {
  return ERRORS.filter((_, bit) => (bits >> bit) & 1);
}
