/** struct input_event as on 64 bits: seconds and microseconds of 8 bytes each, type and code of 2, value of 4. */
export const RECORD_BYTES = 24;

export interface InputRecord {
  /** Milliseconds of the clock that the device was set to use. */
  readonly at: number;
  readonly type: number;
  readonly code: number;
  readonly value: number;
}

/** Bytes of a stream come in any pieces: `push` gives the records that are whole. */
export class RecordSplitter {
  #rest: Buffer = Buffer.alloc(0);

  push(bytes: Uint8Array): readonly InputRecord[] {
    const all = Buffer.concat([this.#rest, bytes]);
    const records: InputRecord[] = [];
    let from = 0;
    for (; from + RECORD_BYTES <= all.length; from += RECORD_BYTES)
      records.push({
        at: Number(all.readBigInt64LE(from)) * 1_000 + Number(all.readBigInt64LE(from + 8)) / 1_000,
        type: all.readUInt16LE(from + 16),
        code: all.readUInt16LE(from + 18),
        value: all.readInt32LE(from + 20),
      });
    this.#rest = all.subarray(from);
    return records;
  }
}

export function encodeRecord({ at, type, code, value }: InputRecord): Buffer {
  const bytes = Buffer.alloc(RECORD_BYTES);
  const micros = BigInt(Math.round(at * 1_000));
  bytes.writeBigInt64LE(micros / 1_000_000n, 0);
  bytes.writeBigInt64LE(micros % 1_000_000n, 8);
  bytes.writeUInt16LE(type, 16);
  bytes.writeUInt16LE(code, 18);
  bytes.writeInt32LE(value, 20);
  return bytes;
}
