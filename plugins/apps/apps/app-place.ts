import { join } from 'node:path';
import type { AppManifest, DeviceInfo } from '@device-core/plugin-api';

/** Where the things of one app lie. */
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
