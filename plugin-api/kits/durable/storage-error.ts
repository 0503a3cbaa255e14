/** Errors of a disk that does not take a write, in codes of the table. Pure. */
import { CoreError, type CoreErrorCode, reasonOf } from '../../contract/errors.ts';

const CODES: Readonly<Record<string, CoreErrorCode>> = {
  ENOSPC: 'STORAGE_FULL',
  EDQUOT: 'STORAGE_FULL',
  EROFS: 'STORAGE_READ_ONLY',
  EIO: 'STORAGE_FAILED',
  ENODEV: 'STORAGE_FAILED',
  ENXIO: 'STORAGE_FAILED',
  ESTALE: 'STORAGE_FAILED',
  ENOTCONN: 'STORAGE_FAILED',
  EUCLEAN: 'STORAGE_FAILED',
};

/**
 * STORAGE_FULL, STORAGE_READ_ONLY or STORAGE_FAILED for what the disk said, else STATE_UNWRITABLE. One that has a code
 * of the table stays as it is.
 */
export function storageError(file: string, thrown: unknown): CoreError {
  if (thrown instanceof CoreError) return thrown;
  const code = CODES[String((thrown as NodeJS.ErrnoException | null)?.code)] ?? 'STATE_UNWRITABLE';
  return new CoreError(code, { file, reason: reasonOf(thrown) }, { cause: thrown });
}

/** Whether the disk is full, read-only or broken: then the same write may succeed later, and nothing is wrong with the file. */
export function isStorageTrouble(thrown: unknown): boolean {
  return String((thrown as { readonly code?: unknown } | null)?.code).startsWith('STORAGE_');
}
