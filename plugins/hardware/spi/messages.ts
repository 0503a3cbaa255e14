/** Bodies of class SPIX (docs/cbp.md section 11). */
import { CoreError } from '@device-core/plugin-api';
import type { SpiHandle } from '@device-core/plugin-api/services/spi';

export const OP = { transfer: 0x01 } as const;
export const MAX_BYTES = 65_536;
const MAX_SPEED = 0xffff_ffff;
const MAX_DEADLINE_MS = 5_000;
const SLACK_MS = 100;
const HEAD = 16;
const BITS_PER_WORD = 8;
const FLAG = { lsbFirst: 1, csHigh: 2, keepCs: 4, atomic: 8 } as const;

export interface SpixTransfer {
  readonly cs: number;
  readonly mode: number;
  readonly speedHz: number;
  readonly bitsPerWord?: number;
  readonly lsbFirst?: boolean;
  readonly csHigh?: boolean;
  readonly keepCs?: boolean;
  /** Buffer everything first: no pause of SCLK between bytes. */
  readonly atomic?: boolean;
  readonly tx: Uint8Array;
  /** Bytes wanted back, from the first clock on. */
  readonly rxLength: number;
}

/** Throws INVALID_SPEED, INVALID_MODE. */
export function checkSettings({ speed, mode }: SpiHandle): void {
  if (!Number.isSafeInteger(speed) || speed <= 0 || speed > MAX_SPEED) {
    const reason = typeof speed === 'number' && speed > 0 ? `, whole and at most ${MAX_SPEED}` : '';
    throw new CoreError('INVALID_SPEED', { speed, reason });
  }
  if (![0, 1, 2, 3].includes(mode)) throw new CoreError('INVALID_MODE', { mode });
}

/** Throws PARAMS_INVALID. */
export function checkLengths(tx: Uint8Array, rxLength: number): void {
  const fail = (where: string, reason: string): never => {
    throw new CoreError('PARAMS_INVALID', { where, reason });
  };
  if (tx.length > MAX_BYTES) fail('tx', `it has ${tx.length} bytes, at most ${MAX_BYTES} are allowed`);
  if (!Number.isInteger(rxLength) || rxLength < 0 || rxLength > MAX_BYTES)
    fail('rxLen', `it must be an integer from 0 to ${MAX_BYTES}`);
  if (tx.length === 0 && rxLength === 0) fail('tx and rxLen', 'both are zero, so there is nothing to transfer');
}

export function transferBody(transfer: SpixTransfer): Buffer {
  const { cs, mode, bitsPerWord = BITS_PER_WORD, speedHz, tx, rxLength } = transfer;
  const body = Buffer.alloc(HEAD + tx.length);
  let flags = 0;
  for (const [name, bit] of Object.entries(FLAG)) if (transfer[name as keyof typeof FLAG]) flags |= bit;
  body.set([cs, mode, bitsPerWord, flags]);
  body.writeUInt32LE(speedHz, 4);
  // Bytes that are clocked: those to send or those wanted, whichever are more.
  body.writeUInt32LE(Math.max(tx.length, rxLength), 8);
  body.writeUInt32LE(rxLength, 12);
  body.set(tx, HEAD);
  return body;
}

/** The transfer's own limit: wire time x 2 + 100 ms, at most 5 s unless the handle sets its own (D4). */
export function limitOf({ deadlineMs, speed }: SpiHandle, tx: Uint8Array, rxLength: number) {
  if (deadlineMs !== undefined) return { deadlineMs, fixed: true };
  const wireMs = (Math.max(tx.length, rxLength) * 8_000) / speed;
  return { deadlineMs: Math.min(Math.ceil(2 * wireMs) + SLACK_MS, MAX_DEADLINE_MS) };
}
