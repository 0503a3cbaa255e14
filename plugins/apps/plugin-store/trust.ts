/** Files on the disk equal those that were installed, and their signature is as the SKU asks. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, type Isolation, type PluginManifest } from '@device-core/plugin-api';
import { type InstalledPlugin, liveVersion, versionFolder, versionsOf } from '@device-core/plugin-api/inside/installed';
import type { TreeLimits } from '@device-core/plugin-api/inside/packages';
import { listFile } from '../shared/package-store/version-files.ts';
import { checkUnsignedLevel, checkUnsignedPower, claimsOf, type PowerfulUnsigned } from './claims.ts';

export interface TrustPolicy {
  readonly signatures: 'off' | 'warn' | 'require';
  readonly trustedKeys: readonly string[];
  /** The least isolation of what no trusted key signed. */
  readonly unsignedIsolation: Isolation;
  /** May it have powerful services and hooks? */
  readonly powerfulUnsigned: PowerfulUnsigned;
}

/**
 * Fingerprint of the trusted key that signed the tree in the folder; undefined where it is unsigned and may be. Throws
 * SIGNATURE_INVALID.
 */
export async function signerOf(
  id: string,
  folder: string,
  hash: string,
  { signatures, trustedKeys }: TrustPolicy,
): Promise<string | undefined> {
  if (signatures === 'off') return undefined;
  const { PLUGIN_PACKAGE, readSignature, verifyTree } = await import('@device-core/plugin-api/inside/packages');
  try {
    return verifyTree(PLUGIN_PACKAGE, id, hash, await readSignature(PLUGIN_PACKAGE, id, folder), trustedKeys);
  } catch (error) {
    if (signatures === 'warn') return undefined;
    throw error;
  }
}

/** Facts against which an installed plugin is checked. */
export interface Verification {
  /** Folder of all installed plugins. */
  readonly place: string;
  /** Its line in the list of installed plugins, if it has one. */
  readonly plugin: InstalledPlugin | undefined;
  readonly limits: TreeLimits;
  readonly policy: TrustPolicy;
}

/**
 * The tap of plugin.verify: reads every file again before any of them is imported. Plugins that were not installed are
 * none of its business. Throws PLUGIN_CHANGED, which names the first file that differs, SIGNATURE_INVALID and
 * ISOLATION_UNSUPPORTED.
 */
export async function verifyInstalled(
  manifest: PluginManifest,
  directory: string,
  { place, plugin, limits, policy }: Verification,
): Promise<void> {
  const { id } = manifest;
  const below = join(place, id, '/');
  if (!directory.startsWith(below)) return;
  const refuse = (reason: string) => new CoreError('PLUGIN_CHANGED', { plugin: id, reason });
  const name = directory.slice(below.length).split('/')[0] ?? '';
  const version = (plugin ? versionsOf(plugin) : []).find((one) => versionFolder(one) === name);
  if (!version) throw refuse(`${name} is not in the list of installed plugins`);
  const folder = join(below, name);
  const { hash } = version;
  const list = () => readFile(listFile(folder), 'utf8');
  const { changeOf, PLUGIN_PACKAGE } = await import('@device-core/plugin-api/inside/packages');
  const change = await changeOf(PLUGIN_PACKAGE, folder, hash, list, limits);
  if (change !== undefined) throw refuse(change);
  const signer = await signerOf(id, folder, hash, policy);
  // Two entries may share the files and differ in the level.
  const live = plugin && liveVersion(plugin);
  const { isolation } = live && versionFolder(live) === name ? live : version;
  if (signer !== undefined) return;
  checkUnsignedLevel(id, isolation, policy.unsignedIsolation);
  checkUnsignedPower(id, claimsOf(manifest, isolation), policy.powerfulUnsigned);
}
