import { SlotRefused } from './refused.ts';

/** Error codes of a disk that refuses a write. */
const CODES = {
  ENOSPC: 'STORAGE_FULL',
  EDQUOT: 'STORAGE_FULL',
  EROFS: 'STORAGE_READ_ONLY',
} as const;

/** An error of the file system as a refusal. Refusals and errors of another kind stay as they are. */
export function diskRefusal(error: unknown): Error {
  if (!(error instanceof Error) || error.name !== 'Error') return error as Error;
  const { code = '', message } = error as NodeJS.ErrnoException;
  const known = (CODES as Readonly<Record<string, (typeof CODES)[keyof typeof CODES]>>)[code];
  return new SlotRefused(known ?? 'STORAGE_FAILED', message);
}
