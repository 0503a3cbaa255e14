/** The disk in the health: what it does not do any more, and what follows from that. */

import { diskState, waitingForDiskMs } from '@device-core/plugin-api/durable';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import type { ComponentHealth } from '@device-core/plugin-api/services/health';

/** A write that waits longer is told. */
const SLOW_MS = 5_000;

const CONSEQUENCES = {
  etc: undefined, // nothing of ours is written there
  var: 'settings, plugins and apps cannot be changed, and what changes meanwhile is lost at the next start',
  run: 'apps and sessions cannot be started',
} as const satisfies Record<keyof DeviceInfo['paths'], string | undefined>;

export interface StorageHealth {
  readonly component?: ComponentHealth;
  readonly warning?: { readonly code: string; readonly message: string };
}

/** Nothing while the disk does what it should. */
export async function storageHealth(paths: DeviceInfo['paths']): Promise<StorageHealth> {
  const slow = waitingForDiskMs();
  const seconds = Math.round(slow / 1_000);
  const message = `the disk is slow: a write has been waiting for ${seconds} s, and its caller with it`;
  const warning = slow > SLOW_MS ? { warning: { code: 'STORAGE_SLOW', message } } : {};
  for (const [name, consequence] of Object.entries(CONSEQUENCES)) {
    const trouble = consequence && (await diskState(paths[name as keyof DeviceInfo['paths']]));
    if (!trouble) continue;
    return {
      component: { status: 'error', code: trouble.code, message: `${consequence}: ${trouble.message}` },
      ...warning,
    };
  }
  return warning;
}
