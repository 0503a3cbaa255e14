import { chmod, lstat, mkdir, readFile, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { maybe, type Scope } from '@device-core/plugin-api';
import { sweepLeftovers, WantedFile } from '@device-core/plugin-api/durable';
import { isToken, newToken } from './tokens.ts';

/**
 * The operator's token from its file (0600, in a directory that others may pass but neither list nor change). A file
 * that is missing, or that somebody else could have read or written, is replaced; `replaced` says why where there was
 * one. A disk that does not take the new one keeps nobody from starting: the token holds in memory, and is written as
 * soon as the disk takes it.
 */
export async function loadOperatorToken(
  path: string,
  scope: Scope,
): Promise<{ readonly token: string; readonly replaced?: string; readonly file: WantedFile }> {
  const file = new WantedFile(path, scope);
  await openFolder(dirname(path)).catch(() => undefined); // writing tells what is wrong with the folder
  await sweepLeftovers(path).catch(() => undefined);
  const found = await examine(path);
  if ('token' in found) return { token: found.token, file };
  const token = newToken();
  await file.write(`${token}\n`);
  return { token, file, ...maybe({ replaced: found.reason }) };
}

async function openFolder(directory: string): Promise<void> {
  await mkdir(directory, { recursive: true, mode: 0o711 });
  if (((await stat(directory)).mode & 0o066) !== 0) await chmod(directory, 0o711);
}

async function examine(file: string): Promise<{ readonly token: string } | { readonly reason?: string }> {
  const info = await lstat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!info) return {};
  if (!info.isFile()) return { reason: 'it is not a regular file' };
  if (info.uid !== process.getuid?.()) return { reason: `it belongs to user ${info.uid}` };
  if ((info.mode & 0o077) !== 0) return { reason: `its mode ${(info.mode & 0o777).toString(8)} lets others read it` };
  const token = (await readFile(file, 'utf8')).trim();
  return isToken(token) ? { token } : { reason: 'it does not hold a token' };
}
