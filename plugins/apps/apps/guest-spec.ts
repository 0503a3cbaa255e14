import { dirname } from 'node:path';
import { maybe } from '@device-core/plugin-api';
import { type AppSpec, type GuestPlace, specOf } from '@device-core/plugin-api/inside/app-spec';
import { userInSpan } from '@device-core/plugin-api/inside/user-range';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import type { AppContext } from './app-context.ts';
import { placeOf, usualAddresses } from './app-place.ts';
import { besideOf } from './app-sandbox.ts';
import { findProgram } from './find-program.ts';
import type { GrantDecision } from './grant-decision.ts';

/** Path of its own socket; the shared one; the address of REST by TCP. */
export type GuestAddresses = Pick<GuestPlace, 'rpc' | 'shared' | 'url'>;

/** One run of an app: what the pure `specOf` makes of it, with the places of this device. Rejects where its program is not there. */
export async function specOfRun(
  { manifest, folder }: { readonly manifest: AppManifest; readonly folder: string },
  { granted, claims }: GrantDecision,
  context: Pick<AppContext, 'appSupervisor' | 'config' | 'device' | 'stored'>,
  addresses: GuestAddresses = usualAddresses(manifest, context.device.paths),
): Promise<AppSpec> {
  const { config, device, stored } = context;
  const program = await findProgram(manifest.exec.command, folder, config.path);
  const uid = await userOf({ manifest, folder }, context);
  const { path, lang } = config;
  return specOf({ ...manifest, capabilities: claims }, granted, config, {
    ...placeOf(manifest, device.paths),
    ...addresses,
    service: device.service,
    code: folder,
    program,
    beside: besideOf(program, folder),
    path,
    lang,
    ...maybe({ uid }),
    run: dirname(addresses.rpc),
    tells: stored.environmentOf(folder),
  });
}

interface UserSource {
  readonly appSupervisor: Pick<AppContext['appSupervisor'], 'enforcement'>;
  readonly stored: Pick<AppContext['stored'], 'has' | 'uidOf'>;
}

/**
 * Its own user: that of an installed app, and of every app under systemd, which runs none without. The folder of a
 * developer may be closed to other users; elsewhere such an app has the Core's user, in a namespace of its own. A Core
 * with a range takes the user of the app's number from it.
 */
export async function userOf(
  { manifest, folder }: { readonly manifest: AppManifest; readonly folder: string },
  { appSupervisor, stored }: UserSource,
): Promise<number | undefined> {
  const { by, users } = await appSupervisor.enforcement();
  if (!stored.has(folder) && by !== 'systemd') return undefined;
  const number = await stored.uidOf(manifest.id);
  return number === undefined || users === undefined ? number : userInSpan(users, number);
}
