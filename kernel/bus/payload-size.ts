/** How large a payload is as JSON, found out cheaply: small ones, which nearly all are, are not serialised for it. */
import { CoreError, reasonOf } from '@device-core/plugin-api';

/** A payload that cannot exceed this is not measured exactly. */
export const SMALL = 4096;

/** Bytes of `payload` as JSON. Throws what JSON.stringify throws, and TypeError for what has no JSON. */
function exactSize(payload: object): number {
  const json = JSON.stringify(payload) as string | undefined;
  if (json === undefined) throw new TypeError('it has no JSON form');
  return Buffer.byteLength(json);
}

/** Bytes of a payload as JSON: exact above SMALL, else perhaps too many. Throws PARAMS_INVALID. */
export function payloadSize(payload: object, limit: number, topic: string): number {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload))
    throw invalid(`payload of ${topic}`, 'it must be an object');
  const enough = Math.min(limit, SMALL);
  let size: number;
  try {
    const bound = boundOf(payload, enough);
    size = bound <= enough ? bound : exactSize(payload);
  } catch (error) {
    throw invalid(`payload of ${topic}`, reasonOf(error).replace(/\n.*/s, ''));
  }
  if (size > limit) throw invalid(`payload of ${topic}`, `it has ${size} bytes as JSON, at most ${limit} are allowed`);
  return size;
}

/** PARAMS_INVALID of an event. */
export function invalid(where: string, reason: string): CoreError {
  return new CoreError('PARAMS_INVALID', { where, reason });
}

/** Exact bytes of a payload that was accepted with at most `bound`. */
export function sizeOf(payload: object, bound: number): number {
  try {
    return exactSize(payload);
  } catch {
    return bound; // its publisher changed it since, so that it has no JSON any more
  }
}

/** Primitive members are looked at in place: this runs for every event. */
function boundOf(value: object, room: number): number {
  const list = Array.isArray(value);
  // A class may have a toJSON method, and a cycle has no end: JSON.stringify() decides.
  if (room < 0 || (!list && Object.getPrototypeOf(value) !== Object.prototype)) return Number.POSITIVE_INFINITY;
  let bound = 2;
  for (const key in value) {
    const member = (value as Record<string, unknown>)[key];
    if (!list) bound += key.length * 6 + 4; // a character is at most \uXXXX
    if (typeof member === 'string') bound += member.length * 6 + 3;
    else if (typeof member === 'object' && member !== null) bound += boundOf(member, room - bound) + 1;
    else if (typeof member === 'function' || typeof member === 'bigint') return Number.POSITIVE_INFINITY;
    else bound += 25;
    if (bound > room) return bound;
  }
  // Holes of an array are `null` in JSON.
  return list ? bound + value.length * 5 : bound;
}
