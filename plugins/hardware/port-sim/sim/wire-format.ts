/**
 * The bytes of CBP as the simulated bridge reads and writes them. Written apart from the host's codec on purpose: two
 * readings of one document, both held to the same test vectors, find what one reading would get wrong twice.
 */
import { crc32 } from 'node:zlib';

export const TYPE = {
  pad: 0,
  request: 1,
  response: 2,
  data: 3,
  event: 4,
  credit: 5,
  cancel: 6,
  hello: 7,
  helloAck: 8,
  ping: 9,
  pong: 10,
  goAway: 11,
} as const;

const FLAG = { data: 0b0001, more: 0b0010, reset: 0b0100 } as const;
const SIGNATURE = 0xcb;
const VERSION = 0x10;
/** Bytes of a packet that are not payload. */
export const ENVELOPE = 12;
/** Bytes of a frame that are not body. */
export const FRAME_HEAD = 8;
const FIN = 0x10;

export interface WireFrame {
  type: number;
  fin: boolean;
  endpoint: number;
  rid: number;
  /** Opcode, status, kind or reason. */
  code: number;
  fragment: number;
  body: Uint8Array;
}

export interface WirePacket {
  isData: boolean;
  hasMore: boolean;
  isReset: boolean;
  seq: number;
  ack: number;
  sid: number;
  payload: Uint8Array;
}

export type Decoded =
  | { readonly ok: true; readonly packet: WirePacket; readonly frames: readonly WireFrame[] }
  | { readonly ok: false; readonly reason: 'magic' | 'version' | 'length' | 'crc' | 'frame' };

/** As many bytes as the packet needs; the rest of a transaction is zero. */
export function encodePacket(packet: WirePacket): Uint8Array {
  const size = packet.payload.length;
  const bytes = new Uint8Array(size + ENVELOPE);
  const view = new DataView(bytes.buffer);
  const flags = [packet.isData && FLAG.data, packet.hasMore && FLAG.more, packet.isReset && FLAG.reset];
  view.setUint8(0, SIGNATURE);
  view.setUint8(
    1,
    flags.reduce<number>((sum, flag) => sum + (flag || 0), VERSION),
  );
  view.setUint8(2, packet.seq % 256);
  view.setUint8(3, packet.ack % 256);
  view.setUint16(4, packet.sid, true);
  view.setUint16(6, size, true);
  bytes.set(packet.payload, 8);
  view.setUint32(8 + size, crc32(bytes.subarray(0, 8 + size)), true);
  return bytes;
}

export function decodePacket(bytes: Uint8Array): Decoded {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < ENVELOPE || view.getUint8(0) !== SIGNATURE) return { ok: false, reason: 'magic' };
  const flags = view.getUint8(1);
  if ((flags & 0xf0) !== VERSION) return { ok: false, reason: 'version' };
  const size = view.getUint16(6, true);
  if (size + ENVELOPE > bytes.length) return { ok: false, reason: 'length' };
  if (view.getUint32(8 + size, true) !== crc32(bytes.subarray(0, 8 + size))) return { ok: false, reason: 'crc' };
  const payload = bytes.subarray(8, 8 + size);
  const frames = decodeFrames(payload);
  if (!frames) return { ok: false, reason: 'frame' };
  const packet: WirePacket = {
    isData: Boolean(flags & FLAG.data),
    hasMore: Boolean(flags & FLAG.more),
    isReset: Boolean(flags & FLAG.reset),
    seq: view.getUint8(2),
    ack: view.getUint8(3),
    sid: view.getUint16(4, true),
    payload,
  };
  return { ok: true, packet, frames };
}

function decodeFrames(payload: Uint8Array): WireFrame[] | undefined {
  const view = new DataView(payload.buffer, payload.byteOffset, payload.byteLength);
  const frames: WireFrame[] = [];
  for (let offset = 0; offset < payload.length; ) {
    const first = view.getUint8(offset);
    const type = first % 16;
    if (type === TYPE.pad) return frames;
    if (payload.length - offset < FRAME_HEAD) return undefined;
    const size = view.getUint16(offset + 4, true);
    if (payload.length - offset - FRAME_HEAD < size) return undefined;
    frames.push({
      type,
      fin: Boolean(first & FIN),
      endpoint: view.getUint8(offset + 1),
      rid: view.getUint16(offset + 2, true),
      code: view.getUint8(offset + 6),
      fragment: view.getUint8(offset + 7),
      body: payload.subarray(offset + FRAME_HEAD, offset + FRAME_HEAD + size),
    });
    offset += FRAME_HEAD + size;
  }
  return frames;
}

export function encodeFrame(frame: WireFrame): Uint8Array {
  const bytes = new Uint8Array(FRAME_HEAD + frame.body.length);
  const view = new DataView(bytes.buffer);
  view.setUint8(0, frame.type + (frame.fin ? FIN : 0));
  view.setUint8(1, frame.endpoint);
  view.setUint16(2, frame.rid, true);
  view.setUint16(4, frame.body.length, true);
  view.setUint8(6, frame.code);
  view.setUint8(7, frame.fragment % 256);
  bytes.set(frame.body, FRAME_HEAD);
  return bytes;
}

/** Little-endian words, for the many small bodies. */
export function words(...values: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(4 * values.length);
  const view = new DataView(bytes.buffer);
  values.forEach((value, index) => {
    view.setUint32(4 * index, value >>> 0, true);
  });
  return bytes;
}

/** The word at a byte offset, 0 where the body is too short. */
export function wordAt(body: Uint8Array, offset: number): number {
  if (body.length < offset + 4) return 0;
  return new DataView(body.buffer, body.byteOffset).getUint32(offset, true);
}
