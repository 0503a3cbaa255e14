/** Frames: the units inside a packet's payload (8-byte head, then the body). */

export const FRAME = {
  PAD: 0,
  REQ: 1,
  RSP: 2,
  DATA: 3,
  EVT: 4,
  CREDIT: 5,
  CANCEL: 6,
  HELLO: 7,
  HELLO_ACK: 8,
  PING: 9,
  PONG: 10,
  GOAWAY: 11,
} as const;

/** Types from here on are extensions that a receiver skips by their length. */
export const FIRST_EXTENSION = 12;
export const FRAME_HEAD = 8;
/** A fragment carries at least this many body bytes unless it is the rest. */
export const MIN_FRAGMENT = 16;

const FIN_BIT = 0x10;

export interface FrameHead {
  readonly type: number;
  readonly fin?: boolean;
  readonly ep: number;
  readonly rid: number;
  /** Opcode, status, credit kind or cancel reason, by type. */
  readonly op?: number;
  /** Fragment number, 0 to 255. */
  readonly aux?: number;
}

export interface Frame extends Required<FrameHead> {
  /** A view into the packet it came in. */
  readonly body: Uint8Array;
}

/** The frames of a payload, or undefined when one reaches beyond its end. */
export function parseFrames(payload: Uint8Array): Frame[] | undefined {
  const frames: Frame[] = [];
  let at = 0;
  while (at < payload.length) {
    const type = payload[at]! & 0x0f;
    if (type === FRAME.PAD) break;
    if (at + FRAME_HEAD > payload.length) return undefined;
    const length = payload[at + 4]! | (payload[at + 5]! << 8);
    const end = at + FRAME_HEAD + length;
    if (end > payload.length) return undefined;
    frames.push({
      type,
      fin: (payload[at]! & FIN_BIT) !== 0,
      ep: payload[at + 1]!,
      rid: payload[at + 2]! | (payload[at + 3]! << 8),
      op: payload[at + 6]!,
      aux: payload[at + 7]!,
      body: payload.subarray(at + FRAME_HEAD, end),
    });
    at = end;
  }
  return frames;
}

/** Collects the frames of one packet in place. */
export class PayloadWriter {
  readonly #bytes: Buffer;
  #used = 0;

  constructor(capacity: number) {
    this.#bytes = Buffer.alloc(capacity);
  }

  get capacity(): number {
    return this.#bytes.length;
  }

  /** Bytes left, frame heads included. */
  get room(): number {
    return this.#bytes.length - this.#used;
  }

  get used(): number {
    return this.#used;
  }

  /** Appends a head and returns the body, zeroed, to be filled. The caller has checked `room`. */
  frame(head: FrameHead, bodyLength: number): Buffer {
    const at = this.#used;
    const end = at + FRAME_HEAD + bodyLength;
    if (end > this.#bytes.length) throw new RangeError(`a frame of ${bodyLength} bytes does not fit`);
    this.#bytes[at] = head.type | (head.fin ? FIN_BIT : 0);
    this.#bytes[at + 1] = head.ep;
    this.#bytes.writeUInt16LE(head.rid, at + 2);
    this.#bytes.writeUInt16LE(bodyLength, at + 4);
    this.#bytes[at + 6] = head.op ?? 0;
    this.#bytes[at + 7] = head.aux ?? 0;
    this.#used = end;
    return this.#bytes.subarray(at + FRAME_HEAD, end);
  }

  payload(): Buffer {
    return this.#bytes.subarray(0, this.#used);
  }
}
