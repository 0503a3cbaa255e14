/** Bodies of class CAN (docs/cbp.md). */

import { CoreError } from '@device-core/plugin-api';
import type { CanArrival, CanFilter, CanFrame, CanHandle } from '@device-core/plugin-api/services/can';
import type { EndpointEvent } from '@device-core/plugin-api/services/endpoints';

export const OP = { configure: 0x01, send: 0x02, filter: 0x03 } as const;
export const EVENT = { received: 0x80, state: 0x81 } as const;
export const STATES = ['stopped', 'active', 'warning', 'passive', 'bus-off'] as const;
/** Filters that the controller has. */
export const SLOTS = 16;

const MODE = { normal: 0, loopback: 1, 'listen-only': 2 } as const;
const EXTENDED = 0x8000_0000;
const RTR = 0x4000_0000;
const FD = 0x2000_0000;
const ID = 0x1fff_ffff;
const HEAD = 8;
/** Data lengths of the codes above 8, in CAN FD. */
const FD_LENGTHS = [12, 16, 20, 24, 32, 48, 64];

export function configureBody({ nominal, data = 0, mode = 'normal' }: CanHandle): Buffer {
  const body = Buffer.alloc(9);
  body.writeUInt32LE(nominal, 0);
  body.writeUInt32LE(data, 4);
  body[8] = MODE[mode];
  return body;
}

export function filterBody(slot: number, { id, mask, extended = false }: CanFilter): Buffer {
  const body = Buffer.alloc(12);
  body[0] = slot;
  // Frames of the other kind of id are not meant.
  body.writeUInt32LE((extended ? id | EXTENDED : id) >>> 0, 4);
  body.writeUInt32LE((mask | EXTENDED) >>> 0, 8);
  return body;
}

/** A filter that every frame passes, of either kind of id. */
export const EVERYTHING = Buffer.alloc(12);

/** A filter that no frame passes: an id of 11 bits with more of them than that. */
export const NOTHING = filterBody(0, { id: ID, mask: ID });

/** Throws PARAMS_INVALID for an id or a length that there is not. */
export function frameBody({ id, extended = false, rtr = false, fd = false, data }: CanFrame): Buffer {
  const fail = (where: string, reason: string): never => {
    throw new CoreError('PARAMS_INVALID', { where, reason });
  };
  if (!Number.isInteger(id) || id < 0 || id > (extended ? ID : 0x7ff))
    fail('id', `${id} has more than ${extended ? 29 : 11} bits${extended ? '' : ', which takes "extended": true'}`);
  if (rtr && fd) fail('rtr', 'CAN FD has no remote frames');
  if (rtr && data.length > 0) fail('data', 'a remote frame carries none');
  const dlc = data.length <= 8 ? data.length : fd ? 9 + FD_LENGTHS.indexOf(data.length) : 8;
  if (dlc === 8 && data.length !== 8) {
    const lengths = fd ? `0 to 8, ${FD_LENGTHS.join(', ')}` : '0 to 8';
    fail('data', `a frame cannot have ${data.length} bytes, but ${lengths}`);
  }
  const body = Buffer.alloc(HEAD + data.length);
  body.writeUInt32LE((id | (extended ? EXTENDED : 0) | (rtr ? RTR : 0) | (fd ? FD : 0)) >>> 0);
  body[4] = dlc;
  body.set(data, HEAD);
  return body;
}

/** The frame of an RX event; undefined for one that is too short. */
export function frameIn({ data: bytes, at, atUs, timestampUs, lost }: EndpointEvent): CanArrival | undefined {
  if (bytes.length < HEAD) return undefined;
  const word = Buffer.from(bytes.buffer, bytes.byteOffset, 4).readUInt32LE();
  return {
    id: (word & ID) >>> 0,
    extended: (word & EXTENDED) !== 0,
    rtr: (word & RTR) !== 0,
    fd: (word & FD) !== 0,
    data: bytes.slice(HEAD),
    at,
    atUs,
    timestampUs,
    lost,
  };
}

export function matches(frame: CanFrame, filters: readonly CanFilter[] = []): boolean {
  if (filters.length === 0) return true;
  return filters.some(
    ({ id, mask, extended = false }) =>
      extended === (frame.extended ?? false) && ((frame.id & mask) ^ (id & mask)) === 0,
  );
}
