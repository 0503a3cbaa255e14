import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import type { AppSpec } from '@device-core/plugin-api/inside/app-spec';

/** Part of util-linux, which every Debian has. Never by a search path, which somebody else could have set. */
const PRLIMIT = '/usr/bin/prlimit';
const MIB = 1024 * 1024;

/**
 * Words before a command: limits of processes that hold for all that a guest starts (setrlimit(2)). No limit of address
 * space: Node reserves far more than it takes. Empty where the program is not there.
 */
export async function limitWords({ limits, uid }: Pick<AppSpec, 'limits' | 'uid'>): Promise<readonly string[]> {
  const there = await access(PRLIMIT, constants.X_OK).then(
    () => true,
    () => false,
  );
  if (!there) return [];
  const { openFiles, storageMB, cacheMB, tasksMax } = limits;
  return [
    ...[PRLIMIT, `--nofile=${openFiles}`, '--core=0', `--fsize=${Math.ceil(Math.max(storageMB, cacheMB) * MIB)}`],
    // It counts the processes of a user: of the Core's own there are others.
    ...(uid === undefined ? [] : [`--nproc=${tasksMax}`]),
    '--',
  ];
}
