/** How large a payload is as JSON, found out cheaply: small ones, which nearly all are, are not serialised for it. */

/** Bytes of `payload` as JSON. Throws what JSON.stringify throws, and TypeError for what has no JSON. */
function exactSize(payload: object): number {
  const json = JSON.stringify(payload) as string | undefined;
  if (json === undefined) throw new TypeError('it has no JSON form');
  return Buffer.byteLength(json);
}

/** At most `enough`: not less than the bytes of `payload` as JSON. More: exactly those bytes. Throws as exactSize() does. */
export function boundSize(payload: object, enough: number): number {
  const bound = boundOf(payload, enough);
  return bound <= enough ? bound : exactSize(payload);
}

/** Exact bytes of a payload that was accepted with at most `bound`. */
export function sizeOf(payload: object, bound: number): number {
  try {
    return exactSize(payload);
  } catch {
    return bound; // its publisher changed it since, so that it has no JSON any more
  }
}

function boundOf(value: unknown, room: number): number {
  if (typeof value === 'string') return value.length * 6 + 2; // a character is at most \uXXXX
  if (typeof value === 'number') return 25;
  if (typeof value === 'boolean' || value === null || value === undefined) return 5;
  // Functions may be a toJSON, bigint has no JSON, classes may have their own: ask JSON itself.
  if (typeof value !== 'object') return Number.POSITIVE_INFINITY;
  let bound = 2;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length && bound <= room; i++) bound += 1 + boundOf(value[i], room - bound);
    return bound;
  }
  if (Object.getPrototypeOf(value) !== Object.prototype) return Number.POSITIVE_INFINITY;
  for (const key in value) {
    bound += key.length * 6 + 4 + boundOf((value as Record<string, unknown>)[key], room - bound);
    if (bound > room) break;
  }
  return bound;
}
