import { lstat, rm } from 'node:fs/promises';
import { type Logger, reasonOf } from '@device-core/plugin-api';
import { remainsFolder } from '@device-core/plugin-api/pending-state';
import type { WardenClient } from './warden-client.ts';

/** Removes what a reset or restore could not, as it was of the users of guests. What is left is told by /health, and tried again at the next start. */
export async function removeRemains(state: string, warden: WardenClient, log: Logger): Promise<void> {
  const folder = remainsFolder(state);
  if (!(await lstat(folder).catch(() => undefined))) return;
  try {
    await warden.ask({ verb: 'reclaim' });
    await rm(folder, { recursive: true, force: true });
    log.info({ folder }, 'removed what guests had left before a reset');
  } catch (thrown) {
    log.warn({ folder, reason: reasonOf(thrown) }, 'cannot remove what guests left before a reset');
  }
}
