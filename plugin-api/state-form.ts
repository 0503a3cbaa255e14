/**
 * Files that the Core keeps carry the number of their form. A newer Core may have written one, and comes back to it after a rollback: a form above
 * the known one is no damage. Such a file is left alone, nothing that belongs to it is removed, and the health says STATE_NEWER. Pure.
 */
import { CoreError } from './errors.ts';

/** The error for a file of a newer form, undefined for any other. A file without a number has form 1. */
export function newerForm(file: string, format: unknown, known: number): CoreError | undefined {
  if (typeof format !== 'number' || !(format > known)) return undefined;
  return new CoreError('STATE_NEWER', { file, format, known });
}
