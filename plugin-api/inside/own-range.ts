/** The range of users that this machine gives the user of the Core, read from its files. */
import { constants } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { commonSpan, type UserRange } from './user-range.ts';

/** Debian gives each user so many; stores number their apps below it. */
const LEAST_USERS = 65_536;
/** Fixed places: the search path of the Core's environment could choose another program. */
const UNSHARE = '/usr/bin/unshare';
const TOOLS = [UNSHARE, '/usr/bin/newuidmap', '/usr/bin/newgidmap', '/usr/bin/env'];

/** Resolves with the reason where there is none. That the range can be used is not tried here. */
export async function ownRange(): Promise<UserRange | string> {
  for (const tool of TOOLS) {
    const there = await access(tool, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (!there) return `${tool} is not installed (Debian package uidmap)`;
  }
  const [subuid, subgid] = await Promise.all([textOf('/etc/subuid'), textOf('/etc/subgid')]);
  const name = ownName();
  const span = commonSpan(subuid, subgid, [String(process.geteuid?.()), name]);
  if (span && span.count >= LEAST_USERS) return { unshare: UNSHARE, ...span };
  return `/etc/subuid and /etc/subgid give user ${name} no range of ${LEAST_USERS}`;
}

/** A missing file gives no range. */
function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => '');
}

function ownName(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.geteuid?.()); // it has no entry in passwd
  }
}
