import { join } from 'node:path';
import type { AppManifest, DeviceInfo } from '@device-core/plugin-api';

/** Where the things of one app lie. */
export interface AppPlace {
  readonly data: string;
  readonly credentials: string;
}

export function placeOf(manifest: AppManifest, paths: DeviceInfo['paths']): AppPlace {
  return {
    data: join(paths.var, 'apps', manifest.id, 'data'),
    credentials: join(paths.run, 'apps', manifest.name, 'credentials'),
  };
}

/** Everything that an app's environment holds: nothing of the Core's own leaks into it, and no secret is ever in it. */
export function environmentOf(
  app: string,
  place: AppPlace,
  sockets: { readonly rpc: string; readonly http?: string | undefined; readonly url?: string | undefined },
  options: { readonly path: string; readonly lang: string },
): Readonly<Record<string, string>> {
  return {
    PATH: options.path,
    LANG: options.lang,
    HOME: place.data,
    DEVICE_APP_ID: app,
    DEVICE_DATA_DIR: place.data,
    DEVICE_RPC_SOCKET: sockets.rpc,
    ...(sockets.http === undefined ? {} : { DEVICE_HTTP_SOCKET: sockets.http }),
    ...(sockets.url === undefined ? {} : { DEVICE_URL: sockets.url }),
    CREDENTIALS_DIRECTORY: place.credentials,
  };
}
