/** Bodies of class GPIO (docs/cbp.md). */
import { CoreError } from '@device-core/plugin-api';
import { answeredTooLittle } from '@device-core/plugin-api/buses';
import type { GpioLineConfig } from '@device-core/plugin-api/services/gpio';

export const OP = { read: 0x01, write: 0x02, configure: 0x03 } as const;
export const EDGE_EVENT = 0x80;

const DIRECTION = { in: 0, out: 1, 'open-drain': 2 } as const;
const PULL = { none: 0, up: 1, down: 2 } as const;
const EDGE = { none: 0, rising: 1, falling: 2, both: 3 } as const;
const KEEP = 0xff;

export const maskOf = (line: number): number => 2 ** line;

export function readBody(line: number): Buffer {
  return words(maskOf(line));
}

export function writeBody(line: number, level: 0 | 1): Buffer {
  return words(maskOf(line), level ? maskOf(line) : 0);
}

export function configureBody(config: GpioLineConfig): Buffer {
  const { line, direction, pull = 'none', edge = 'none', debounceUs = 0, initial = 0, safe = 'keep' } = config;
  const body = Buffer.from([
    line,
    DIRECTION[direction],
    PULL[pull],
    EDGE[edge],
    0,
    0,
    initial,
    safe === 'keep' ? KEEP : safe,
  ]);
  body.writeUInt16LE(debounceUs, 4);
  return body;
}

/** The level of a line in the answer to READ. Throws TRANSFER_FAILED for one that is too short. */
export function levelIn(answer: Uint8Array, line: number, handle: string): 0 | 1 {
  if (answer.length < 4) throw answeredTooLittle(handle);
  return (answer[line >> 3]! >> (line & 7)) & 1 ? 1 : 0;
}

/** Throws PARAMS_INVALID. */
export function checkLine({ line }: GpioLineConfig): void {
  if (Number.isInteger(line) && line >= 0 && line <= 31) return;
  throw new CoreError('PARAMS_INVALID', { where: 'line', reason: `${line} is no line from 0 to 31` });
}

function words(...values: readonly number[]): Buffer {
  const body = Buffer.alloc(4 * values.length);
  values.forEach((value, index) => {
    body.writeUInt32LE(value >>> 0, 4 * index);
  });
  return body;
}
