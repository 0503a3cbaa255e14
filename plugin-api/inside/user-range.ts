/**
 * Users of guests of a Core that is not root: numbers that /etc/subuid and /etc/subgid give its user (subuid(5)).
 * newuidmap(1) and newgidmap(1) put them into a user namespace. Pure; the kernel's launcher runs with it.
 */

/** Numbers from `first` on, for users and groups alike. */
export interface UserSpan {
  readonly first: number;
  readonly count: number;
}

export interface UserRange extends UserSpan {
  /** Path of unshare(1), 2.38 or newer. */
  readonly unshare: string;
}

/** Search path under which unshare(1) finds newuidmap: fixed, because the environment of a guest could choose another. */
export const MAPPERS_PATH = '/usr/bin:/bin:/usr/sbin:/sbin';

/** The largest range in both files whose user is one of these names; undefined where they share none. */
export function commonSpan(subuid: string, subgid: string, names: readonly string[]): UserSpan | undefined {
  const shared = spansOf(subuid, names).flatMap((users) =>
    spansOf(subgid, names).map((groups) => {
      const first = Math.max(users.first, groups.first);
      return { first, count: Math.min(users.first + users.count, groups.first + groups.count) - first };
    }),
  );
  return shared.filter(({ count }) => count > 0).sort((a, b) => b.count - a.count)[0];
}

/** User of this range for an app's number in its store; undefined for a number past its end. */
export function userInSpan({ first, count }: UserSpan, number: number): number | undefined {
  return number < count ? first + number : undefined;
}

export function isInSpan({ first, count }: UserSpan, uid: number): boolean {
  return first <= uid && uid < first + count;
}

/**
 * Words before a command, which runs as root of a user namespace: there 0 is the Core's user, and the users of the span
 * keep their numbers. Such a root owns files of these users alone.
 */
export function overUsers(unshare: string, { first, count }: UserSpan): readonly [string, ...string[]] {
  const map = `${first},${first},${count}`;
  return [unshare, '--user', '--map-root-user', `--map-users=${map}`, `--map-groups=${map}`, '--'];
}

/** `name:first:count` on each line. User 0 and numbers that no kernel has are no range. */
function spansOf(text: string, names: readonly string[]): readonly UserSpan[] {
  return text.split('\n').flatMap((line) => {
    const [, name, ...numbers] = /^([^:]+):(\d{1,10}):(\d{1,10})$/.exec(line.trim()) ?? [];
    const [first = 0, count = 0] = numbers.map(Number);
    return name !== undefined && names.includes(name) && first > 0 && first + count <= 0xffff_ffff
      ? [{ first, count }]
      : [];
  });
}

/**
 * A command as a user of the range, in a namespace in which no other one is mapped. `path` is the search path of the
 * command; undefined for none.
 */
export function withUser(
  { unshare }: UserRange,
  uid: number,
  path: string | undefined,
  command: readonly string[],
): readonly [string, ...string[]] {
  const back = path === undefined ? ['-u', 'PATH'] : [`PATH=${path}`];
  const mapped = overUsers(unshare, { first: uid, count: 1 });
  return ['/usr/bin/env', `PATH=${MAPPERS_PATH}`, ...mapped, '/usr/bin/env', ...back, ...command];
}
