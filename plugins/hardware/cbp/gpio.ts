/** Class GPIO, 0x01 (cbp.md section 11). */
import type { GpioLineConfig } from '@device-core/plugin-api';

export const GPIO = { READ: 0x01, WRITE: 0x02, CONFIG: 0x03 } as const;

const DIRECTION = { in: 0, out: 1, 'open-drain': 2 } as const satisfies Record<GpioLineConfig['direction'], number>;
const PULL = { none: 0, up: 1, down: 2 } as const satisfies Record<NonNullable<GpioLineConfig['pull']>, number>;
const EDGE = { none: 0, rising: 1, falling: 2, both: 3 } as const satisfies Record<
  NonNullable<GpioLineConfig['edge']>,
  number
>;
const KEEP = 0xff;

export function readBody(mask: number): Buffer {
  const body = Buffer.alloc(4);
  body.writeUInt32LE(mask >>> 0);
  return body;
}

export function writeBody(mask: number, values: number): Buffer {
  const body = Buffer.alloc(8);
  body.writeUInt32LE(mask >>> 0);
  body.writeUInt32LE(values >>> 0, 4);
  return body;
}

export function configBody(config: GpioLineConfig): Buffer {
  const { line, direction, pull = 'none', edge = 'none', debounceUs = 0, initial = 0, safe = 'keep' } = config;
  const body = Buffer.alloc(8);
  body.set([line, DIRECTION[direction], PULL[pull], EDGE[edge]]);
  body.writeUInt16LE(Math.min(0xffff, Math.max(0, Math.round(debounceUs))), 4);
  body.set([initial, safe === 'keep' ? KEEP : safe], 6);
  return body;
}

/** The levels in the answer to READ, undefined when it is too short. */
export function readLevels(body: Uint8Array): number | undefined {
  if (body.length < 4) return undefined;
  return Buffer.from(body.buffer, body.byteOffset, body.length).readUInt32LE();
}
