/** Users of guests: any where the Core is root, else those of a range that newuidmap(1) sets up. */
import { ownRange } from '@device-core/plugin-api/inside/own-range';
import type { WallsReport } from '@device-core/plugin-api/inside/services/launcher';
import type { UserRange } from '@device-core/plugin-api/inside/user-range';
import type { Trial } from './tools.ts';

/** As in the report of the walls. */
export interface Users extends Pick<WallsReport, 'users' | 'range' | 'usersReason'> {
  /** The trial of the range took too long to prove anything. */
  readonly late?: boolean;
}

/** `attempt` runs a program as the first user of the range. */
export async function usersHere(
  root: boolean,
  setpriv: string | undefined,
  attempt: (range: UserRange) => Promise<Trial>,
): Promise<Users> {
  if (!setpriv) return { users: false, usersReason: 'setpriv is not installed' };
  if (root) return { users: true };
  const range = await ownRange();
  if (typeof range === 'string') return { users: false, usersReason: range };
  const trial = await attempt(range);
  if ('failure' in trial) return { users: false, usersReason: `newuidmap: ${trial.failure}`, late: trial.late };
  return { users: true, range };
}
