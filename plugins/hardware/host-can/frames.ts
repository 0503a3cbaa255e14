/** Frames of linux/can.h and of class CAN (docs/cbp.md section 12), as bytes. */
export const OPTION = { level: 101, filter: 1, errors: 2, fd: 5 } as const;
/** `struct canfd_frame`, the longest record of a socket. */
export const RECORD_BYTES = 72;
const CLASSIC_BYTES = 16;
const HEAD = 8;
const FD = 0x2000_0000; // of the class; the kernel has its mark of errors there
const ERROR = 0x2000_0000;
const FD_LENGTHS = [0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32, 48, 64];
/** Errors that change the state of a controller: CRTL, BUSOFF, RESTARTED, CNT. */
export const ERRORS = 0x344;
export const STATE = { active: 1, warning: 2, passive: 3, busOff: 4 } as const;

/** A frame to send, as the kernel has it; undefined for a body of the wrong form. */
export function frameOf(body: Buffer): Buffer | undefined {
  if (body.length < HEAD) return undefined;
  const word = body.readUInt32LE();
  const fd = (word & FD) !== 0;
  const length = FD_LENGTHS[body[4]!] ?? -1;
  const data = body.subarray(HEAD);
  const remote = (word & 0x4000_0000) !== 0;
  if (length < 0 || (!fd && length > 8) || (remote ? data.length > 0 : data.length !== length)) return undefined;
  const frame = Buffer.alloc(fd ? RECORD_BYTES : CLASSIC_BYTES);
  frame.writeUInt32LE((word & ~FD) >>> 0);
  frame[4] = length;
  data.copy(frame, HEAD);
  return frame;
}

/** An RX event of a record; undefined for an error frame. */
export function eventOf(record: Buffer): Buffer | undefined {
  const word = record.readUInt32LE();
  if (word & ERROR) return undefined;
  const fd = record.length === RECORD_BYTES;
  const length = record[4]!;
  const data = word & 0x4000_0000 ? Buffer.alloc(0) : record.subarray(HEAD, HEAD + length);
  const event = Buffer.alloc(HEAD + data.length);
  event.writeUInt32LE((fd ? word | FD : word) >>> 0);
  event[4] = FD_LENGTHS.indexOf(length);
  data.copy(event, HEAD);
  return event;
}

/** State of the controller and its counters, where an error frame tells them. */
export function stateOf(record: Buffer): Uint8Array | undefined {
  const word = record.readUInt32LE();
  if (!(word & ERROR)) return undefined;
  const counters = [record[14]!, record[15]!, 0];
  if (word & 0x40) return Uint8Array.of(STATE.busOff, ...counters);
  const control = word & 0x4 ? record[9]! : 0;
  if (control & 0x30) return Uint8Array.of(STATE.passive, ...counters);
  if (control & 0x0c) return Uint8Array.of(STATE.warning, ...counters);
  if (control & 0x40 || word & 0x100) return Uint8Array.of(STATE.active, ...counters);
  return undefined;
}

/** `struct can_filter` of each; a bit that the kernel takes for "all but these" stays 0. */
export function filtersOf(filters: readonly { readonly id: number; readonly mask: number }[]): Buffer {
  const bytes = Buffer.alloc(8 * filters.length);
  for (const [index, { id, mask }] of filters.entries()) {
    bytes.writeUInt32LE((id & ~FD) >>> 0, 8 * index);
    bytes.writeUInt32LE((mask & ~FD) >>> 0, 8 * index + 4);
  }
  return bytes;
}
