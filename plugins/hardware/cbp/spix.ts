/** Class SPIX, 0x03 (cbp.md section 11): transfers on an SPI bus behind the bridge. */
import type { SpixTransfer } from '@device-core/plugin-api';

export const SPIX = { XFER: 0x01 } as const;

const HEAD = 16;
const FLAG = { lsbFirst: 1, csHigh: 2, keepCs: 4, atomic: 8 } as const;

/** Bytes that are clocked: those to send or those wanted, whichever are more. */
export function clockedBytes(transfer: SpixTransfer): number {
  return Math.max(transfer.tx.length, transfer.rxLength);
}

export function transferBody(transfer: SpixTransfer): Buffer {
  const { cs, mode, bitsPerWord = 8, speedHz, tx, rxLength } = transfer;
  const body = Buffer.alloc(HEAD + tx.length);
  let flags = 0;
  for (const [name, bit] of Object.entries(FLAG)) if (transfer[name as keyof typeof FLAG]) flags |= bit;
  body.set([cs, mode, bitsPerWord, flags]);
  body.writeUInt32LE(speedHz, 4);
  body.writeUInt32LE(clockedBytes(transfer), 8);
  body.writeUInt32LE(rxLength, 12);
  body.set(tx, HEAD);
  return body;
}

/** Twice the time on the wire and 100 ms. */
export function defaultDeadlineMs(transfer: SpixTransfer): number {
  return Math.ceil((2 * clockedBytes(transfer) * 8000) / transfer.speedHz) + 100;
}
