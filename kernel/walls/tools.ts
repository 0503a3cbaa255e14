import { execFile } from 'node:child_process';
import { constants, lstatSync, readlinkSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '@device-core/plugin-api';
import type { SystemFiles } from '@device-core/plugin-api/inside/sandbox';

/** Never the search path of the Core's environment: whoever sets that would choose the wall. */
const PLACES = ['/usr/bin', '/bin', '/usr/sbin', '/sbin', '/usr/local/bin'];
/** A trial takes 10 ms; a machine that needs this long is asked again later. */
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

/** What a program says; `late` where it took too long for that to mean anything. */
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

/** /usr, and what of /bin, /lib and so on is a link into it or a folder of its own. */
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
