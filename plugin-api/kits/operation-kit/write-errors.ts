/** Errors of a disk on a write. */
export const STORAGE_ERRORS = ['STORAGE_FULL', 'STORAGE_READ_ONLY', 'STORAGE_FAILED'] as const;

/** Errors of operations that change state of the Core. */
export const STATE_ERRORS = ['STATE_UNWRITABLE', ...STORAGE_ERRORS] as const;
