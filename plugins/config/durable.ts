/** Files that are whole or absent at any moment, also after a loss of power. */
import { open, rename } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Replaces a file by way of a temporary one beside it. The name is durable only after syncDirectory(). */
export async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.tmp`;
  const handle = await open(temporary, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, path);
}

export async function syncDirectory(path: string): Promise<void> {
  const handle = await open(dirname(path), 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
