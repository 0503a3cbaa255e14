/** Rows of the endpoint table (cbp.md section 10), 16 bytes each. */
import type { Priority } from './scheduler.ts';

export const CLASS = { SYS: 0x00, GPIO: 0x01, I2C: 0x02, SPIX: 0x03, UART: 0x04, PIO: 0x05, CAN: 0x06 } as const;
export const DESCRIPTOR_LENGTH = 16;

export interface Descriptor {
  readonly ep: number;
  readonly class: number;
  readonly version: { readonly major: number; readonly minor: number };
  /** Scheduling class: 1 interactive, 2 normal, 3 bulk. */
  readonly priority: Priority;
  readonly maxInflight: number;
  readonly flags: number;
  /** Bytes of its ring on the bridge. */
  readonly rxWindow: number;
  /** Bytes of its event queue on the bridge. */
  readonly eventQueue: number;
  readonly maxTransfer: number;
}

/** The system endpoint as it is before the table has been read. */
export const SYS_DESCRIPTOR: Descriptor = {
  ep: 0,
  class: CLASS.SYS,
  version: { major: 1, minor: 0 },
  priority: 2,
  maxInflight: 1,
  flags: 0,
  rxWindow: 512,
  eventQueue: 0,
  maxTransfer: 512,
};

/** The table in the answer to ENUM, or undefined when it is not one. */
export function readDescriptors(bytes: Uint8Array): readonly Descriptor[] | undefined {
  if (bytes.length === 0 || bytes.length % DESCRIPTOR_LENGTH !== 0) return undefined;
  const table = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const rows: Descriptor[] = [];
  for (let at = 0; at < table.length; at += DESCRIPTOR_LENGTH) {
    rows.push({
      ep: table[at]!,
      class: table[at + 1]!,
      version: { major: table[at + 2]!, minor: table[at + 3]! },
      priority: Math.min(3, Math.max(1, table[at + 4]!)) as Priority,
      maxInflight: Math.max(1, table[at + 5]!),
      flags: table.readUInt16LE(at + 6),
      rxWindow: table.readUInt16LE(at + 8),
      eventQueue: table.readUInt16LE(at + 10),
      maxTransfer: table.readUInt32LE(at + 12),
    });
  }
  return new Set(rows.map(({ ep }) => ep)).size === rows.length ? rows : undefined;
}
