/** Files that are whole or absent at any moment. */
import { open, rename, rm } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Replaces a file (0600) by way of a temporary one beside it: nobody ever reads half of it. The text survives a loss of power, its name only
 * after syncName(). Without `sync` neither does: for what is worth nothing then.
 */
export async function replaceFile(path: string, text: string, { sync = true } = {}): Promise<void> {
  const temporary = `${path}.tmp`;
  await rm(temporary, { force: true }); // what a crash left behind, or somebody planted
  const handle = await open(temporary, 'wx', 0o600);
  try {
    await handle.writeFile(text);
    if (sync) await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, path);
}

/** Makes it durable that a file or folder of this name is there, or is not. */
export async function syncName(path: string): Promise<void> {
  const handle = await open(dirname(path), 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
