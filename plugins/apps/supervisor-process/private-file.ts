import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { replaceFile } from '@device-core/plugin-api/durable';

/**
 * Writes a file that only its owner reads (0600, its directory 0700); nobody sees half of it. Not synced: it is worth
 * nothing after a power cut.
 */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  await mkdir(dirname(file), { recursive: true, mode: 0o700 });
  await replaceFile(file, text, { sync: false });
}
