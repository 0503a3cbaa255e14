import { CoreError } from '../../contract/errors.ts';
import type { JsonSchema } from '../../contract/json-schema.ts';
import { decodeBase64 } from '../base64.ts';

/** The schema of bytes in JSON. */
export function base64Schema(most: number, description = ''): JsonSchema {
  const told = `${description}${description ? '; ' : ''}base64 with padding (RFC 4648), at most ${most} bytes decoded`;
  return { type: 'string', contentEncoding: 'base64', maxLength: 4 * Math.ceil(most / 3), description: told };
}

/** Throws PARAMS_INVALID that names `where`. */
export function bytesOf(text: string, where: string): Uint8Array {
  const bytes = decodeBase64(text);
  if (bytes) return bytes;
  throw new CoreError('PARAMS_INVALID', { where, reason: 'it is not base64 with padding (RFC 4648)' });
}

export function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
