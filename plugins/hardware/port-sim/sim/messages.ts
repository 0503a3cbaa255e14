/**
 * Messages between the port and the simulator's process over their Unix socket. A head of 8 bytes (u32 length of the rest, u8
 * kind, u8 level of the data-ready line, u16 tag), then the bytes. Little endian.
 */

export const KIND = {
  /** To the simulator: the bytes that the host clocks out. The answer carries the same tag. */
  transact: 1,
  /** From the simulator: the bytes that the host clocks in. */
  result: 2,
  /** From the simulator: the data-ready line has changed outside a transaction. */
  level: 3,
  /** To the simulator: a pulse on the reset line. */
  reset: 4,
  /** To the simulator: a JSON object for tests and demonstrations. The answer carries the same tag. */
  control: 5,
  /** From the simulator: `{ok: true, ...}` or `{ok: false, error}`. */
  answer: 6,
  /** From the simulator, to a connection that sent `watch`: its state as JSON, after a change. */
  state: 7,
} as const;

export interface Message {
  readonly kind: number;
  readonly level: boolean;
  readonly tag: number;
  readonly bytes: Uint8Array;
}

const HEAD = 8;
const LONGEST = 65_536;

export function writeMessage(kind: number, level: boolean, tag: number, bytes: Uint8Array = new Uint8Array(0)): Buffer {
  const out = Buffer.allocUnsafe(HEAD + bytes.length);
  out.writeUInt32LE(bytes.length, 0);
  out[4] = kind;
  out[5] = level ? 1 : 0;
  out.writeUInt16LE(tag, 6);
  out.set(bytes, HEAD);
  return out;
}

/** Cuts a stream into messages. */
export class MessageReader {
  #held: Buffer = Buffer.alloc(0);

  /** The messages that are complete now. Throws RangeError for one that is too long. */
  push(chunk: Buffer): readonly Message[] {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    const messages: Message[] = [];
    let at = 0;
    while (bytes.length - at >= HEAD) {
      const length = bytes.readUInt32LE(at);
      if (length > LONGEST) throw new RangeError(`a message of ${length} bytes`);
      const end = at + HEAD + length;
      if (bytes.length < end) break;
      messages.push({
        kind: bytes[at + 4]!,
        level: bytes[at + 5] === 1,
        tag: bytes.readUInt16LE(at + 6),
        bytes: bytes.subarray(at + HEAD, end),
      });
      at = end;
    }
    this.#held = bytes.subarray(at);
    return messages;
  }
}
