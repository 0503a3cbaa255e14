import { chmod, lstat, mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { isToken, newToken } from './tokens.ts';

/**
 * The operator's token from its file (0600, in a directory that others may pass but neither list nor change). A file that is missing, or that somebody else
 * could have read or written, is replaced; `replaced` says why where there was one.
 */
export async function loadOperatorToken(file: string): Promise<{ readonly token: string; readonly replaced?: string }> {
  const directory = dirname(file);
  await mkdir(directory, { recursive: true, mode: 0o711 });
  if (((await stat(directory)).mode & 0o066) !== 0) await chmod(directory, 0o711);

  const found = await examine(file);
  if ('token' in found) return { token: found.token };
  const token = newToken();
  await writeSecret(file, `${token}\n`);
  return found.reason === undefined ? { token } : { token, replaced: found.reason };
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

/** Nobody ever sees a half written secret, and a power cut leaves the old file or the new one. */
async function writeSecret(file: string, text: string): Promise<void> {
  const temporary = join(dirname(file), `.${basename(file)}.${process.pid}`);
  await rm(temporary, { force: true });
  const handle = await open(temporary, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
  const directory = await open(dirname(file), 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
