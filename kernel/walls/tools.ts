import { execFile } from 'node:child_process';
import { constants, lstatSync, readlinkSync } from 'node:fs';
import { access, readFile } from 'node:fs/promises';
import { release } from 'node:os';
import { join } from 'node:path';
import { reasonOf } from '@device-core/plugin-api';
import type { SystemFiles, TaskCounter } from '@device-core/plugin-api/inside/sandbox';

/** Fixed folders instead of the search path of the Core's environment, which could choose the wall. */
const PLACES = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];
/** Time limit of a trial, which takes 10 ms; a slower machine is tried again later. */
const TRIAL_MS = 30_000;

export async function findTool(name: string): Promise<string | undefined> {
  for (const place of PLACES) {
    const file = join(place, name);
    const there = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (there) return file;
  }
  return undefined;
}

/** Output of a program; `late` if it took too long to prove anything. */
export type Trial = { readonly said: string } | { readonly failure: string; readonly late: boolean };

export function tryOut(command: string, args: readonly string[], feed?: Uint8Array): Promise<Trial> {
  const { promise, resolve } = Promise.withResolvers<Trial>();
  const options = { timeout: TRIAL_MS, killSignal: 'SIGKILL', env: {}, cwd: '/', encoding: 'utf8' } as const;
  const child = execFile(command, args, options, (error, stdout, stderr) => {
    const said = stderr.trim().split('\n').at(-1);
    if (error) resolve({ failure: said || reasonOf(error), late: error.killed === true });
    else resolve({ said: stdout });
  });
  child.stdin?.on('error', () => undefined); // it ended without reading, which its exit code tells
  child.stdin?.end(feed);
  return promise;
}

/** System folders: /usr, and /bin, /lib and so on as links into it or as folders. */
export function systemFiles(): SystemFiles {
  const read = ['/usr'];
  const links: Record<string, string> = {};
  for (const path of ['/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32']) {
    const entry = lstatSync(path, { throwIfNoEntry: false });
    if (entry?.isSymbolicLink()) links[path] = readlinkSync(path);
    else if (entry?.isDirectory()) read.push(path);
  }
  return { read, links };
}

/** Since Linux 5.14 each user namespace has a separate count of tasks (RLIMIT_NPROC). Before, all of a user counted. */
const COUNTS = [5, 14] as const;

/** Undefined on an older system, where the limit would be one of the Core's own user. */
export async function taskCounter(prlimit: string, system = release()): Promise<TaskCounter | undefined> {
  const [major = 0, minor = 0] = system.split('.').map((part) => Number.parseInt(part, 10));
  if (major < COUNTS[0] || (major === COUNTS[0] && minor < COUNTS[1])) return undefined;
  const limits = await readFile('/proc/self/limits', 'utf8');
  const hard = /^Max processes\s+\S+\s+(\S+)/m.exec(limits)?.[1];
  if (hard === undefined) return undefined;
  return { prlimit, most: hard === 'unlimited' ? Number.MAX_SAFE_INTEGER : Number(hard) };
}
