/** Structures of linux/i2c.h and linux/i2c-dev.h, as bytes. */

export const I2C = { timeout: 0x0702, slave: 0x0703, funcs: 0x0705, rdwr: 0x0707, smbus: 0x0720 } as const;
export const FUNC = { i2c: 0x1, tenBit: 0x2, byteData: 0x0018_0000, byte: 0x0006_0000, block: 0x0c00_0000 } as const;
const FLAG = { read: 0x0001, tenBit: 0x0010 } as const;
/** I2C_RDWR_IOCTL_MAX_MSGS is 42; the class says 16. */
const SMBUS_READ = 1;
/** I2C_SMBUS_BYTE, I2C_SMBUS_BYTE_DATA, I2C_SMBUS_I2C_BLOCK_DATA */
const SIZE = { byte: 1, byteData: 2, block: 8 } as const;
const BLOCK_BYTES = 32;

export interface Segment {
  readonly read: boolean;
  readonly length: number;
}

/** A transfer as the body of the class has it (docs/cbp.md section 12). */
export interface Transfer {
  readonly address: number;
  readonly tenBit: boolean;
  readonly segments: readonly Segment[];
  readonly written: Buffer;
}

/** Undefined for a body of the wrong form. */
export function transferIn(body: Buffer): Transfer | undefined {
  const count = body[2] ?? 0;
  const head = 4 + 2 * count;
  if (count === 0 || count > 16 || body.length < head) return undefined;
  const word = body.readUInt16LE();
  const segments: Segment[] = [];
  let wanted = 0;
  for (let at = 4; at < head; at += 2) {
    const length = body.readUInt16LE(at);
    const segment = { read: (length & 0x8000) !== 0, length: length & 0x7fff };
    segments.push(segment);
    if (!segment.read) wanted += segment.length;
  }
  const written = body.subarray(head);
  if (written.length !== wanted) return undefined;
  return { address: word & 0x3ff, tenBit: (word & 0x8000) !== 0, segments, written };
}

/** One piece of memory with all that a call points to. */
export interface Request {
  readonly argument: Buffer;
  /** Bytes of the read segments, once the call has returned. */
  answer(): Uint8Array;
}

export type AddressOf = (bytes: Uint8Array) => bigint;

/** `struct i2c_rdwr_ioctl_data` and its messages; with a repeated start between two, a stop behind the last. */
export function rdwrRequest(transfer: Transfer, pointerBytes: 4 | 8, addressOf: AddressOf): Request {
  const { segments, written } = transfer;
  const headBytes = 2 * pointerBytes;
  const messageBytes = 8 + pointerBytes;
  const dataAt = headBytes + messageBytes * segments.length;
  const total = segments.reduce((sum, { length }) => sum + length, 0);
  const argument = Buffer.alloc(dataAt + total);
  const base = addressOf(argument);
  writePointer(argument, 0, base + BigInt(headBytes), pointerBytes);
  argument.writeUInt32LE(segments.length, pointerBytes);
  let at = dataAt;
  let from = 0;
  const reads: Buffer[] = [];
  for (const [index, { read, length }] of segments.entries()) {
    const message = headBytes + messageBytes * index;
    argument.writeUInt16LE(transfer.address, message);
    argument.writeUInt16LE((read ? FLAG.read : 0) | (transfer.tenBit ? FLAG.tenBit : 0), message + 2);
    argument.writeUInt16LE(length, message + 4);
    writePointer(argument, message + 8, base + BigInt(at), pointerBytes);
    if (read) reads.push(argument.subarray(at, at + length));
    else from += written.copy(argument, at, from, from + length);
    at += length;
  }
  return { argument, answer: () => new Uint8Array(Buffer.concat(reads)) };
}

/**
 * `struct i2c_smbus_ioctl_data` for an adapter that knows SMBus alone; undefined for a transfer that SMBus has no form
 * for: one write of up to 33 bytes, one read of one byte, or a register and a read of up to 32 bytes.
 */
export function smbusRequest(transfer: Transfer, pointerBytes: 4 | 8, addressOf: AddressOf): Request | undefined {
  const { segments, written } = transfer;
  const [first, second] = segments;
  if (!first || segments.length > 2 || transfer.tenBit) return undefined;
  const readLength = second?.length ?? (first.read ? first.length : 0);
  const byteAlone = segments.length === 1 && first.length === 1;
  const register = !first.read && first.length >= 1 && (second ? second.read && first.length === 1 : true);
  if (!byteAlone && !register) return undefined;
  if (readLength > BLOCK_BYTES || written.length > BLOCK_BYTES + 1 || (second && readLength === 0)) return undefined;
  const data = Buffer.from(second || first.read ? [] : written.subarray(1));
  const bytes = second ? readLength : data.length;
  const size = byteAlone ? SIZE.byte : bytes === 1 ? SIZE.byteData : SIZE.block;
  const headBytes = 8 + pointerBytes;
  const argument = Buffer.alloc(headBytes + BLOCK_BYTES + 2);
  argument[0] = second || first.read ? SMBUS_READ : 0;
  argument[1] = written[0] ?? 0;
  argument.writeUInt32LE(size, 4);
  writePointer(argument, 8, addressOf(argument) + BigInt(headBytes), pointerBytes);
  // A block has its length before it.
  const from = headBytes + (size === SIZE.block ? 1 : 0);
  if (size === SIZE.block) argument[headBytes] = bytes;
  data.copy(argument, from);
  return { argument, answer: () => new Uint8Array(argument.subarray(from, from + readLength)) };
}

function writePointer(into: Buffer, at: number, value: bigint, pointerBytes: 4 | 8): void {
  if (pointerBytes === 8) into.writeBigUInt64LE(value, at);
  else into.writeUInt32LE(Number(value), at);
}
