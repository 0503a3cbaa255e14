/** Can this package run on this device at all? */
import { access, constants, statfs } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { CoreError } from '@device-core/plugin-api';
import { satisfies } from '@device-core/plugin-api/inside/versions';
import type { AppManifest } from '@device-core/plugin-api/services/apps';

/** Share of the written bytes that stays free beside them. */
const SPARE = 1.1;

/** Throws PLATFORM_UNSUPPORTED. */
export function checkPlatform({ id, platform = 'any' }: AppManifest): void {
  const here = `${process.platform}-${process.arch}`;
  if (platform === 'any' || (platform as readonly string[]).includes(here)) return;
  throw new CoreError('PLATFORM_UNSUPPORTED', { what: `app ${id}`, platforms: platform.join(', '), platform: here });
}

/** Throws RUNTIME_MISSING. */
export async function checkRuntime({ id, runtime, exec }: AppManifest, path: string): Promise<void> {
  const { command } = exec;
  const refuse = (needed: string, reason: string) =>
    new CoreError('RUNTIME_MISSING', { what: `app ${id}`, runtime: needed, reason });
  if (runtime?.kind === 'node' && runtime.version !== undefined && !satisfies(process.versions.node, runtime.version))
    throw refuse(`node ${runtime.version}`, `this device has ${process.versions.node}`);
  const program = runtime?.kind === 'python' && command.endsWith('.py') ? 'python3' : command;
  const own =
    program.includes('/') || program.includes('.') || runtime?.kind === 'static' || runtime?.kind === 'native';
  if (own || program === 'node') return;
  for (const folder of path.split(delimiter)) {
    const found = await access(join(folder, program), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return;
  }
  throw refuse(program, `it is in none of ${path}`);
}

/**
 * Is there room for its code, of which all that was unpacked has its room already, and for a copy of its data? Throws
 * STORAGE_FULL before anything is touched.
 */
export async function checkSpace(place: string, unpacked: number, copied: number): Promise<void> {
  const { bavail, bsize } = await statfs(place);
  const free = bavail * bsize;
  const needed = Math.ceil((unpacked + copied) * SPARE) - unpacked;
  if (free >= needed) return;
  const mib = (size: number) => `${Math.ceil(size / 2 ** 20)} MiB`;
  throw new CoreError('STORAGE_FULL', { file: place, reason: `${mib(needed)} are needed, ${mib(free)} are free` });
}
