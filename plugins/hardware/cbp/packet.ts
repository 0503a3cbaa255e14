/** Packets: what one transaction carries each way. Little endian, CRC-32/ISO-HDLC right after the payload, zero padding behind it. */
import { crc32 } from 'node:zlib';
import { type Frame, parseFrames } from './frame.ts';

const MAGIC = 0xcb;
const VERSION = 1;
const HEAD = 8;
const CRC = 4;
export const PACKET_OVERHEAD = HEAD + CRC;

const DATA_BIT = 1;
const MORE_BIT = 2;
const RST_BIT = 4;

/** Transaction lengths in bytes that the protocol knows; the first is that of the bring-up. */
export const TRANSACTION_SIZES = [64, 128, 256, 512, 1024] as const;
export const BRING_UP_SIZE = 64;

export interface PacketHead {
  /** The payload uses up a sequence number. */
  readonly data: boolean;
  /** The sender has more queued. */
  readonly more: boolean;
  /** Outside a session. */
  readonly rst: boolean;
  readonly seq: number;
  /** Next sequence number expected from the peer. */
  readonly ack: number;
  /** Session id, 0 = none. */
  readonly sid: number;
}

export interface Packet extends PacketHead {
  readonly frames: readonly Frame[];
}

/** Why bytes are not a packet; the first check that fails, in the order of the protocol. */
export type Rejection = 'magic' | 'version' | 'length' | 'crc' | 'frame';

/** A packet of exactly `n` bytes. */
export function sealPacket(head: PacketHead, payload: Uint8Array, n: number): Buffer {
  if (payload.length > n - PACKET_OVERHEAD) {
    throw new RangeError(`a payload of ${payload.length} bytes does not fit a packet of ${n}`);
  }
  // Memory comes from Node's pool: an allocation for each packet would cost more than the rest.
  const bytes = Buffer.allocUnsafe(n);
  bytes[0] = MAGIC;
  bytes[1] = (VERSION << 4) | (head.data ? DATA_BIT : 0) | (head.more ? MORE_BIT : 0) | (head.rst ? RST_BIT : 0);
  bytes[2] = head.seq & 0xff;
  bytes[3] = head.ack & 0xff;
  bytes.writeUInt16LE(head.sid, 4);
  bytes.writeUInt16LE(payload.length, 6);
  bytes.set(payload, HEAD);
  const end = HEAD + payload.length;
  bytes.writeUInt32LE(crc32(bytes.subarray(0, end)), end);
  return bytes.fill(0, end + CRC);
}

/** The packet in the bytes of one transaction, or the check that it failed. */
export function openPacket(bytes: Uint8Array): Packet | Rejection {
  if (bytes.length < PACKET_OVERHEAD || bytes[0] !== MAGIC) return 'magic';
  const flags = bytes[1]!;
  if (flags >> 4 !== VERSION) return 'version';
  const length = u16(bytes, 6);
  if (length > bytes.length - PACKET_OVERHEAD) return 'length';
  const end = HEAD + length;
  const crc = (u16(bytes, end) | (u16(bytes, end + 2) << 16)) >>> 0;
  if (crc32(bytes.subarray(0, end)) !== crc) return 'crc';
  const frames = parseFrames(bytes.subarray(HEAD, end));
  if (!frames) return 'frame';
  return {
    data: (flags & DATA_BIT) !== 0,
    more: (flags & MORE_BIT) !== 0,
    rst: (flags & RST_BIT) !== 0,
    seq: bytes[2]!,
    ack: bytes[3]!,
    sid: u16(bytes, 4),
    frames,
  };
}

function u16(bytes: Uint8Array, at: number): number {
  return bytes[at]! | (bytes[at + 1]! << 8);
}
