import { join } from 'node:path';
import type { GuestPlace } from '@device-core/plugin-api/inside/app-spec';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';

/** Folders of one app. */
export interface AppPlace {
  readonly data: string;
  readonly cache: string;
  readonly credentials: string;
}

export function placeOf(manifest: AppManifest, paths: DeviceInfo['paths']): AppPlace {
  return {
    data: join(paths.var, 'apps', manifest.id, 'data'),
    cache: join(paths.var, 'apps', manifest.id, 'cache'),
    credentials: join(paths.run, 'apps', manifest.name, 'credentials'),
  };
}

/** Usual sockets of a run, for reports about an app that does not run. */
export function usualAddresses(
  { name }: AppManifest,
  { run }: DeviceInfo['paths'],
): Pick<GuestPlace, 'rpc' | 'shared'> {
  const shared = join(run, 'shared');
  return {
    rpc: join(run, 'apps', name, 'rpc.sock'),
    shared: { folder: shared, socket: join(shared, 'core.sock'), usual: join(run, 'core.sock') },
  };
}
