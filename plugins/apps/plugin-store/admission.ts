/** May this package be installed, and what would be written? */
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { CoreError, type Logger, maybe, type PluginManifest, reasonOf } from '@device-core/plugin-api';
import {
  followedBy,
  formerOf,
  type Installed,
  type InstalledPlugin,
  type InstalledVersion,
  versionFolder,
} from '@device-core/plugin-api/inside/installed';
import type { TreeLimits } from '@device-core/plugin-api/inside/packages';
import type { PluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { type Candidate, checkConfig, readCandidate } from './candidate.ts';
import { checkClaimable, checkUnsignedLevel, checkUnsignedPower, claimsOf, digestOf, newsOf } from './claims.ts';
import { checkFit } from './fitness.ts';
import { type Admitted, type InstallRequest, type Outcome, type StoreConfig, versionOf } from './outcome.ts';
import { signerOf } from './trust.ts';

interface Surroundings {
  readonly installed: Installed;
  readonly manager: PluginManager;
  readonly config: StoreConfig;
  /** `<var>/plugins`. */
  readonly place: string;
  readonly limits: TreeLimits;
  readonly log: Logger;
}

/** Asks everything that can be asked before it runs; resolves with what would be written. */
export async function admit(candidate: Candidate, request: InstallRequest, about: Surroundings): Promise<Admitted> {
  const { manager, config } = about;
  const { manifest, tree, folder } = candidate;
  const { id, version, capabilities = [] } = manifest;
  const refuse = (reason: string) => new CoreError('PLUGIN_CONFLICT', { verb: 'install', plugin: id, reason });
  if (request.id !== undefined && request.id !== id) throw refuse(`it is another plugin than ${request.id}`);
  if (request.version !== undefined && request.version !== version)
    throw refuse(`it is version ${version}, not ${request.version}`);
  checkClaimable(manifest);
  const former = about.installed.plugins[id];
  const isolation = request.isolation ?? former?.isolation ?? 'process';
  const installed = new Set(Object.keys(about.installed.plugins));
  const { leastIsolation } = config;
  checkFit(manifest, isolation, { running: await manager.list(), installed, leastIsolation });
  const inherited = former?.config ?? about.installed.rolledBack[id]?.config;
  const members = Object.entries({ ...inherited, ...request.config }).filter(([, value]) => value !== null);
  const settings = Object.fromEntries(members);
  checkConfig(manifest, settings);
  const signer = await signerOf(id, folder, tree.hash, config);
  const claims = claimsOf(manifest, isolation);
  if (signer === undefined) {
    checkUnsignedLevel(id, isolation, config.unsignedIsolation);
    checkUnsignedPower(id, claims, config.powerfulUnsigned);
  }
  const before = former && (await manifestOf(id, former, about));
  const { granted: services = [] } = former ?? {};
  const news = newsOf(claims, before && { ...claimsOf(before, former.isolation), services });
  const digest = digestOf(id, version, tree.hash, claims);
  const granted = claims.services.length > 0 && { granted: claims.services };
  const now: InstalledVersion = { version, hash: tree.hash, isolation, config: settings, ...granted };
  // The same files with another configuration have to prove themselves again; the very same do not.
  const again = former && isDeepStrictEqual(versionOf(former), now) ? former : undefined;
  const by = maybe({ installedBy: request.by });
  const next = { ...now, enabled: true, installedAt: Date.now(), ...by, probation: { starts: 0 } };
  const ran = former && (await lastThatRan(id, former, manager));
  const fresh: InstalledPlugin = ran ? followedBy(ran, next) : next;
  const entry: InstalledPlugin = again ? { ...again, enabled: true } : fresh;
  const state = entry.probation ? 'probation' : 'good';
  const outcome: Outcome = {
    state: request.check ? 'checked' : state,
    id,
    version,
    hash: tree.hash,
    isolation,
    capabilities,
    claims,
    digest,
    added: news.map(({ does }) => does),
    ...(former ? { former: former.version } : {}),
    ...(signer ? { signer } : {}),
  };
  if (!request.check) checkAccepted(outcome, request.accept);
  return { entry, outcome, news };
}

/** Manifest of a version that lies here; undefined where it cannot be read, and then nothing counts as granted. */
async function manifestOf(
  id: string,
  version: InstalledVersion,
  { place, limits, log }: Surroundings,
): Promise<PluginManifest | undefined> {
  const folder = join(place, id, versionFolder(version));
  try {
    const { manifest, tree } = await readCandidate(folder, folder, limits);
    return tree.hash === version.hash ? manifest : undefined;
  } catch (thrown) {
    log.warn({ plugin: id, reason: reasonOf(thrown) }, 'cannot tell what was granted before');
    return undefined;
  }
}

/** The version that runs, or ran: one on probation that has failed just now is on its way out, and never comes back. */
async function lastThatRan(
  id: string,
  plugin: InstalledPlugin,
  manager: PluginManager,
): Promise<InstalledPlugin | undefined> {
  if (!plugin.probation || !plugin.enabled) return plugin;
  const state = (await manager.list()).find((one) => one.id === id)?.state;
  return state === 'failed' || state === 'quarantined' ? formerOf(plugin) : plugin;
}

/** Throws CLAIMS_UNACCEPTED with what would be granted; also for a package that is another one than what was accepted. */
function checkAccepted({ id, version, claims, digest, added }: Outcome, accept: string | undefined): void {
  if (accept === digest || (added.length === 0 && accept === undefined)) return;
  const what = added.join(', it ') || 'is another package than the accepted one';
  throw new CoreError('CLAIMS_UNACCEPTED', { plugin: id, version, what, digest, claims, added });
}
