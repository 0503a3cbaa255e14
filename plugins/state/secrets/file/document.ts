/** Contents of `vault.json`. Pure. */
import { CoreError, maybe, newerForm } from '@device-core/plugin-api';
import { isObject } from '@device-core/plugin-api/inside/schema-reader';
import { isKey, type SecretKey } from '../names.ts';
import type { Lock } from './seal.ts';

export const FORM = 1;

export interface SealedRecord {
  /** Sealed, base64. */
  readonly v: string;
  readonly at: number;
  readonly by: string;
  /** Number that grows with each text of any name. */
  readonly gen: number;
}

export interface VaultDocument extends Lock {
  /** The last number that was given; absent in a vault of an earlier Core, where the records have it. */
  readonly gen?: number;
  readonly records: ReadonlyMap<SecretKey, SealedRecord>;
}

export function formatVault({ salt, keyId, check, gen, records }: VaultDocument): string {
  return `${JSON.stringify({ format: FORM, salt, keyId, check, gen, records: Object.fromEntries(records) })}\n`;
}

/** Throws STATE_CORRUPT, STATE_NEWER. */
export function parseVault(text: string, file: string): VaultDocument {
  const corrupt = (reason: string) => new CoreError('STATE_CORRUPT', { file, reason });
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    throw corrupt(text === '' ? 'it is empty' : 'it is no JSON'); // the parser's message would quote the file
  }
  if (!isObject(found)) throw corrupt('it is no object');
  const { format, salt, keyId, check, gen, records } = found;
  const newer = newerForm(file, format, FORM);
  if (newer) throw newer;
  if (format !== FORM || !isText(salt) || !isText(keyId) || !isText(check) || !isObject(records))
    throw corrupt('it does not hold the written bytes');
  if (gen !== undefined && !isNumber(gen)) throw corrupt('its number is none');
  const known = new Map<SecretKey, SealedRecord>();
  for (const [key, record] of Object.entries(records)) {
    if (!isKey(key) || !isRecord(record)) throw corrupt('a record of it is none');
    known.set(key, record);
  }
  return { salt, keyId, check, ...maybe({ gen }), records: known };
}

function isRecord(value: unknown): value is SealedRecord {
  if (!isObject(value)) return false;
  const { v, at, by, gen } = value;
  return isText(v) && Number.isFinite(at) && isText(by) && isNumber(gen);
}

const isNumber = (value: unknown): value is number => Number.isSafeInteger(value);
const isText = (value: unknown): value is string => typeof value === 'string';
