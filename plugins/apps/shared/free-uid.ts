import { CoreError } from '@device-core/plugin-api';

/**
 * The lowest that was never given away; one that was, where all were: it may find data of its former guest. Throws BUSY.
 */
export function freeUid(taken: ReadonlySet<number>, next: number, first: number, last: number): number {
  const from = Math.max(next, first);
  for (let uid = from; uid <= last; uid++) if (!taken.has(uid)) return uid;
  for (let uid = first; uid < from; uid++) if (!taken.has(uid)) return uid;
  throw new CoreError('BUSY', { what: 'one more guest: every user id is taken', limit: last - first + 1 });
}
