import { dirname } from 'node:path';
import type { AppManifest } from '@device-core/plugin-api';
import { type AppSpec, type GuestPlace, type SkuOfApps, specOf } from '@device-core/plugin-api/app-spec';
import type { AppPlace } from './app-place.ts';
import { besideOf } from './app-sandbox.ts';

export interface GuestRunOptions {
  readonly service: string;
  readonly manifest: AppManifest;
  readonly folder: string;
  readonly place: AppPlace;
  /** Absolute path of the program. */
  readonly program: string;
  readonly granted: readonly string[];
  /** Path of its own socket; the shared one; the address of REST by TCP. */
  readonly addresses: Pick<GuestPlace, 'rpc' | 'shared' | 'url'>;
  /** PATH and LANG of every app; nodes and ceilings. */
  readonly config: Pick<GuestPlace, 'path' | 'lang'> & SkuOfApps;
  readonly tells: Readonly<Record<string, string>>;
  /** Where the device gives users to apps. */
  readonly uid: number | undefined;
}

/** One run of an app, for whoever supervises it: what the pure `specOf` makes of it, with the places of this device. */
export function guestSpec(options: GuestRunOptions): AppSpec {
  const { service, manifest, folder, place, program, granted, addresses, config, tells, uid } = options;
  const { path, lang } = config;
  return specOf(manifest, granted, config, {
    ...place,
    ...addresses,
    ...{ service, code: folder, program, beside: besideOf(program, folder), path, lang, tells },
    run: dirname(addresses.rpc),
    ...(uid === undefined ? {} : { uid }),
  });
}
