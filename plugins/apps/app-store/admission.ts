/** May this package be installed, and what would be written? */
import { CoreError, maybe } from '@device-core/plugin-api';
import { compare } from '@device-core/plugin-api/inside/versions';
import type { AppData } from './data.ts';
import { NO_DATA } from './data.ts';
import { checkPlatform, checkRuntime, checkSpace } from './fitness.ts';
import { type AppEntry, type AppVersion, type Installed, versionOf } from './installed.ts';
import type { Admitted, Candidate, InstallRequest, Outcome, StoreConfig } from './outcome.ts';
import { checkSigner, signerName, signerOf } from './trust.ts';

interface Surroundings {
  readonly installed: Installed;
  readonly config: StoreConfig;
  /** `<var>/app-store`. */
  readonly place: string;
  readonly data: AppData;
  /** Every app of the device, by id: its name, and its version. */
  readonly others: ReadonlyMap<string, { readonly name: string; readonly version: string }>;
}

/** Asks everything that can be asked before it runs; resolves with what would be written. */
export async function admit(candidate: Candidate, request: InstallRequest, about: Surroundings): Promise<Admitted> {
  const { manifest, tree, folder } = candidate;
  const { id, name, version, title } = manifest;
  const { installed, config } = about;
  const former = installed.apps[id];
  const refuse = (reason: string) =>
    new CoreError('APP_CONFLICT', { verb: former ? 'update' : 'install', app: id, reason });
  if (request.id !== undefined && request.id !== id) throw refuse(`it is another app than ${request.id}`);
  if (request.version !== undefined && request.version !== version)
    throw refuse(`it is version ${version}, not ${request.version}`);
  checkPlatform(manifest);
  await checkRuntime(manifest, config.path);
  const signer = await signerOf(manifest, folder, tree.hash, config);
  const kept = installed.retained[id];
  await checkSigner(id, former?.signer, signer, folder);
  if (kept?.signer !== undefined) await checkSigner(id, kept.signer, signer, folder);
  for (const [other, { name: taken }] of about.others)
    if (other !== id && taken === name) throw refuse(`app ${other} has the name ${name} already`);
  const there = former?.version ?? about.others.get(id)?.version;
  if (there !== undefined && compare(version, there) < 0 && !request.downgrade)
    throw refuse(`${there} is there, which is newer; with downgrade: true the older one is taken`);
  const now: AppVersion = versionOf({
    version,
    name,
    hash: tree.hash,
    dataVersion: manifest.data?.version ?? 0,
    ...maybe({ signer }),
  });
  const { entry, migration } = await entryOf(id, now, request, about);
  const copied = migration === 'copy' ? await about.data.bytes(id) : 0;
  await checkSpace(about.place, tree.bytes, copied);
  const outcome: Outcome = {
    state: 'checked',
    id,
    version,
    name,
    title,
    hash: tree.hash,
    capabilities: manifest.capabilities.map((one) => one.id),
    ...maybe({ former: there }),
    ...(signer === undefined ? {} : { signer, signedBy: signerName(id, signer, config.trust) }),
  };
  return { entry, migration, outcome };
}

/** Line for the list, and the fate of the data. Throws APP_CONFLICT where they cannot be read by this version. */
async function entryOf(
  id: string,
  now: AppVersion,
  { discardData }: InstallRequest,
  { installed, data }: Surroundings,
): Promise<Pick<Admitted, 'entry' | 'migration'>> {
  const current = installed.apps[id];
  if (current && current.hash === now.hash && current.version === now.version)
    return { entry: { ...current, ...now }, migration: 'none' };
  const { former: before, restore: _, dataFrom: __, installedAt: ___, ...rest } = current ?? {};
  const entry: AppEntry = {
    ...now,
    installedAt: Date.now(),
    ...(current ? { former: { ...versionOf(rest as AppVersion), consents: [] } } : {}),
  };
  const there = current?.dataVersion ?? installed.retained[id]?.dataVersion;
  if (there === undefined || there === now.dataVersion || !(await data.exists(id))) return { entry, migration: 'none' };
  const migration = 'copy';
  if (now.dataVersion > there) return { entry: { ...entry, dataFrom: there }, migration };
  const copy = before?.copiedAt !== undefined && before.dataVersion <= now.dataVersion ? before.version : undefined;
  if (copy === undefined && !discardData) {
    const reason = `its data have form ${there}, and ${now.version} knows forms up to ${now.dataVersion}`;
    throw new CoreError('APP_CONFLICT', {
      verb: 'install',
      app: id,
      reason: `${reason}; with discardData: true it begins without data`,
    });
  }
  const older = copy !== undefined && before && before.dataVersion < now.dataVersion;
  return {
    entry: { ...entry, restore: copy ?? NO_DATA, ...(older ? { dataFrom: before.dataVersion } : {}) },
    migration,
  };
}
