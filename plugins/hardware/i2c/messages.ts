/** Bodies of class I2C (docs/cbp.md). */
import { CoreError } from '@device-core/plugin-api';
import type { I2cHandle, I2cSegment } from '@device-core/plugin-api/services/i2c';

export const OP = { transfer: 0x01, configure: 0x02, recover: 0x03 } as const;
/** Maximum bytes of all segments of one transfer together. */
export const MAX_BYTES = 4_096;
const MAX_SEGMENTS = 16;
const HEAD = 4;
const TEN_BIT = 0x8000;
const READ = 0x8000;
export const DEFAULT_HZ = 100_000;
const BITS = 9;
const SLACK_MS = 250;

/** Throws PARAMS_INVALID. */
export function checkAddress({ address, tenBit, name }: I2cHandle): void {
  const most = tenBit ? 0x3ff : 0x7f;
  if (Number.isInteger(address) && address >= 0 && address <= most) return;
  const reason = `${address} is no ${tenBit ? 'ten' : 'seven'}-bit address`;
  throw new CoreError('PARAMS_INVALID', { where: `the address of ${name}`, reason });
}

/** Throws PARAMS_INVALID for a transfer that clocks nothing, or too much. */
export function transferBody({ address, tenBit }: I2cHandle, segments: readonly I2cSegment[]): Buffer {
  const { length: count } = segments;
  const fail = (where: string, reason: string): never => {
    throw new CoreError('PARAMS_INVALID', { where, reason });
  };
  if (count === 0) fail('segments', 'there is none');
  if (count > MAX_SEGMENTS) fail('segments', `at most ${MAX_SEGMENTS} are allowed`);
  let total = 0;
  let written = 0;
  for (const segment of segments) {
    const length = 'read' in segment ? segment.read : segment.write.length;
    if (!Number.isInteger(length) || length < 0) fail('segments', 'a length must be 0 or more');
    total += length;
    if ('write' in segment) written += length;
  }
  if (total > MAX_BYTES) fail('segments', `they have ${total} bytes, at most ${MAX_BYTES} are allowed`);
  const body = Buffer.alloc(HEAD + 2 * count + written);
  body.writeUInt16LE(tenBit ? address | TEN_BIT : address);
  body[2] = count;
  let at = HEAD + 2 * count;
  for (let index = 0; index < count; index++) {
    const segment = segments[index]!;
    body.writeUInt16LE('read' in segment ? segment.read | READ : segment.write.length, HEAD + 2 * index);
    if ('read' in segment) continue;
    body.set(segment.write, at);
    at += segment.write.length;
  }
  return body;
}

export function speedBody(hz: number): Buffer {
  const body = Buffer.alloc(4);
  body.writeUInt32LE(hz);
  return body;
}

/** The transfer's own limit: 250 ms and twice the time on the wire, with an address for each segment, unless the handle sets its own. */
export function limitOf(handle: I2cHandle, segments: readonly I2cSegment[], hz = DEFAULT_HZ) {
  if (handle.deadlineMs !== undefined) return { deadlineMs: handle.deadlineMs, fixed: true };
  const bytes = segments.reduce((sum, one) => sum + 1 + ('read' in one ? one.read : one.write.length), 0);
  return { deadlineMs: Math.ceil((2 * bytes * BITS * 1_000) / hz) + SLACK_MS };
}

/** Bytes that come back. */
export function readLength(segments: readonly I2cSegment[]): number {
  return segments.reduce((sum, one) => sum + ('read' in one ? one.read : 0), 0);
}
