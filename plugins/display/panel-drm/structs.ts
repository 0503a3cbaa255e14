/** Structs of drm/drm.h and drm/drm_mode.h, as they are on 64 bits: what goes in, and what came out. */
import type { Connector, CrtcState, Encoder, Flip, Mode } from './card.ts';

export const IOCTL = {
  setMaster: 0x641e,
  dropMaster: 0x641f,
  resources: 0xc04064a0,
  getCrtc: 0xc06864a1,
  setCrtc: 0xc06864a2,
  getEncoder: 0xc01464a6,
  getConnector: 0xc05064a7,
  addBuffer: 0xc01c64ae,
  removeBuffer: 0xc00464af,
  flip: 0xc01864b0,
  dirty: 0xc01864b1,
  createDumb: 0xc02064b2,
  mapDumb: 0xc01064b3,
  destroyDumb: 0xc00464b4,
} as const;

const MODE_BYTES = 68;
const CRTC_BYTES = 104;
const CRTC_MODE = 36;
const CONNECTED = 1;
const PREFERRED = 1 << 3;
const FLIP_EVENT = 1;
const FLIP_COMPLETE = 2;
const EVENT_BYTES = 32;

const u32 = (buffer: Buffer, at: number) => buffer.readUInt32LE(at);

/** As many numbers as there are, read from the array that the kernel filled. */
export function words(buffer: Buffer, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => u32(buffer, 4 * index));
}

/** `addresses` are those of the arrays of framebuffers, crtcs, connectors and encoders, of `counts` items each. */
export function resourcesStruct(addresses: readonly bigint[] = [], counts: readonly number[] = []): Buffer {
  const buffer = Buffer.alloc(64);
  for (const [index, address] of addresses.entries()) buffer.writeBigUInt64LE(address, 8 * index);
  for (const [index, count] of counts.entries()) buffer.writeUInt32LE(count, 32 + 4 * index);
  return buffer;
}

/** Framebuffers, crtcs, connectors, encoders. */
export const resourceCounts = (buffer: Buffer): readonly number[] => words(buffer.subarray(32, 48), 4);

export interface ConnectorArrays {
  readonly encoders: { readonly address: bigint; readonly count: number };
  readonly modes: { readonly address: bigint; readonly count: number };
}

/** Without arrays the kernel asks the display, and says how many there are. One mode in an array is enough for it not to ask. */
export function connectorStruct(id: number, arrays?: Partial<ConnectorArrays>): Buffer {
  const buffer = Buffer.alloc(80);
  buffer.writeUInt32LE(id, 48);
  const { encoders, modes } = arrays ?? {};
  if (encoders) {
    buffer.writeBigUInt64LE(encoders.address, 0);
    buffer.writeUInt32LE(encoders.count, 40);
  }
  if (modes) {
    buffer.writeBigUInt64LE(modes.address, 8);
    buffer.writeUInt32LE(modes.count, 32);
  }
  return buffer;
}

export const connectorCounts = (buffer: Buffer) => ({ modes: u32(buffer, 32), encoders: u32(buffer, 40) });

export function connectorOf(
  buffer: Buffer,
  encoders: Buffer,
  modes: Buffer,
  most: { modes: number; encoders: number },
): Connector {
  const counts = connectorCounts(buffer);
  return {
    id: u32(buffer, 48),
    connected: u32(buffer, 60) === CONNECTED,
    encoder: u32(buffer, 44),
    encoders: words(encoders, Math.min(counts.encoders, most.encoders)),
    modes: Array.from({ length: Math.min(counts.modes, most.modes) }, (_, index) =>
      modeOf(modes.subarray(index * MODE_BYTES, (index + 1) * MODE_BYTES)),
    ),
  };
}

export const modesBytes = (count: number): number => count * MODE_BYTES;

export function modeOf(bytes: Uint8Array): Mode {
  const buffer = Buffer.from(bytes);
  return {
    width: buffer.readUInt16LE(4),
    height: buffer.readUInt16LE(14),
    refresh: u32(buffer, 24),
    preferred: (u32(buffer, 32) & PREFERRED) !== 0,
    bytes: new Uint8Array(buffer),
  };
}

export function encoderStruct(id: number): Buffer {
  const buffer = Buffer.alloc(20);
  buffer.writeUInt32LE(id, 0);
  return buffer;
}

export const encoderOf = (buffer: Buffer): Encoder => ({ crtc: u32(buffer, 8), possibleCrtcs: u32(buffer, 12) });

export function crtcStruct(crtc: number): Buffer {
  const buffer = Buffer.alloc(CRTC_BYTES);
  buffer.writeUInt32LE(crtc, 12);
  return buffer;
}

export function crtcStateOf(buffer: Buffer): CrtcState {
  return { bytes: new Uint8Array(buffer), active: u32(buffer, 32) !== 0 && u32(buffer, 16) !== 0 };
}

/** `connectors` is the address of an array of one. */
export function showStruct(crtc: number, connectors: bigint, framebuffer: number, mode: Mode): Buffer {
  const buffer = crtcStruct(crtc);
  buffer.writeBigUInt64LE(connectors, 0);
  buffer.writeUInt32LE(1, 8);
  buffer.writeUInt32LE(framebuffer, 16);
  buffer.writeUInt32LE(1, 32);
  buffer.set(mode.bytes, CRTC_MODE);
  return buffer;
}

export function restoreStruct({ bytes }: CrtcState, connectors: bigint): Buffer {
  const buffer = Buffer.from(bytes);
  buffer.writeBigUInt64LE(connectors, 0);
  buffer.writeUInt32LE(1, 8);
  return buffer;
}

export function createStruct(width: number, height: number, bits: number): Buffer {
  const buffer = Buffer.alloc(32);
  for (const [index, word] of [height, width, bits].entries()) buffer.writeUInt32LE(word, 4 * index);
  return buffer;
}

export const createdOf = (buffer: Buffer) => ({
  handle: u32(buffer, 16),
  pitch: u32(buffer, 20),
  size: Number(buffer.readBigUInt64LE(24)),
});

export function mapStruct(handle: number): Buffer {
  const buffer = Buffer.alloc(16);
  buffer.writeUInt32LE(handle, 0);
  return buffer;
}

export const offsetOf = (buffer: Buffer): bigint => buffer.readBigUInt64LE(8);

export function addStruct(width: number, height: number, pitch: number, bits: number, handle: number): Buffer {
  const buffer = Buffer.alloc(28);
  const words = [0, width, height, pitch, bits, bits === 32 ? 24 : 16, handle];
  for (const [index, word] of words.entries()) buffer.writeUInt32LE(word, 4 * index);
  return buffer;
}

export const addedOf = (buffer: Buffer): number => u32(buffer, 0);

export function numberStruct(number: number): Buffer {
  const buffer = Buffer.alloc(4);
  buffer.writeUInt32LE(number);
  return buffer;
}

export function flipStruct(crtc: number, framebuffer: number, token: number): Buffer {
  const buffer = Buffer.alloc(24);
  for (const [index, word] of [crtc, framebuffer, FLIP_EVENT, 0].entries()) buffer.writeUInt32LE(word, 4 * index);
  buffer.writeBigUInt64LE(BigInt(token), 16);
  return buffer;
}

/** `clips` is the address of `count` rectangles. */
export function dirtyStruct(framebuffer: number, clips: bigint, count: number): Buffer {
  const buffer = Buffer.alloc(24);
  buffer.writeUInt32LE(framebuffer, 0);
  buffer.writeUInt32LE(count, 12);
  buffer.writeBigUInt64LE(clips, 16);
  return buffer;
}

/** struct drm_clip_rect: two corners. */
export function clips(
  rects: readonly { readonly x: number; readonly y: number; readonly w: number; readonly h: number }[],
): Buffer {
  const buffer = Buffer.alloc(8 * rects.length);
  for (const [index, { x, y, w, h }] of rects.entries())
    for (const [at, value] of [x, y, x + w, y + h].entries()) buffer.writeUInt16LE(value, 8 * index + 2 * at);
  return buffer;
}

/** Flips in the bytes of a read: events of any kind follow each other, each with its length. */
export function flipsOf(bytes: Buffer): readonly Flip[] {
  const flips: Flip[] = [];
  for (let at = 0; at + 8 <= bytes.length; ) {
    const [type, length] = [u32(bytes, at), u32(bytes, at + 4)];
    if (length < 8) break;
    if (type === FLIP_COMPLETE && length >= EVENT_BYTES && at + EVENT_BYTES <= bytes.length) {
      const [seconds, micros] = [u32(bytes, at + 16), u32(bytes, at + 20)];
      flips.push({ at: seconds * 1_000 + micros / 1_000, token: Number(bytes.readBigUInt64LE(at + 8)) });
    }
    at += length;
  }
  return flips;
}
