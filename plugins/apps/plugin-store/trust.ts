/** What is on the disk has to be what was installed, and what was installed signed as the SKU asks for. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, type Isolation, type PluginManifest, reasonOf } from '@device-core/plugin-api';
import { type InstalledPlugin, liveVersion, versionFolder, versionsOf } from '@device-core/plugin-api/installed';
import {
  filesOf,
  parseTree,
  readTree,
  SIGNATURE_FILE,
  type Tree,
  type TreeLimits,
  verifyTree,
} from '@device-core/plugin-api/package-tree';
import { checkUnsignedLevel } from './claims.ts';

export interface TrustPolicy {
  readonly signatures: 'off' | 'warn' | 'require';
  readonly trustedKeys: readonly string[];
  /** The least isolation of what no trusted key signed. */
  readonly unsignedIsolation: Isolation;
}

const MAX_SIGNATURE = 4096;

/** Fingerprint of the trusted key that signed the tree in the folder; undefined where it is unsigned and may be. Throws SIGNATURE_INVALID. */
export async function signerOf(
  id: string,
  folder: string,
  hash: string,
  { signatures, trustedKeys }: TrustPolicy,
): Promise<string | undefined> {
  if (signatures === 'off') return undefined;
  const file = join(folder, SIGNATURE_FILE);
  try {
    const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
      const reason = error.code === 'ENOENT' ? `it is not signed: there is no ${SIGNATURE_FILE}` : reasonOf(error);
      throw new CoreError('SIGNATURE_INVALID', { plugin: id, reason });
    });
    if (found.size > MAX_SIGNATURE)
      throw new CoreError('SIGNATURE_INVALID', { plugin: id, reason: `${SIGNATURE_FILE} is too large` });
    return verifyTree(id, hash, await readFile(file, 'utf8'), trustedKeys);
  } catch (error) {
    if (signatures === 'warn') return undefined;
    throw error;
  }
}

/** List of the files of a version, beside its folder. */
export function listFile(place: string, id: string, version: Pick<InstalledPlugin, 'version' | 'hash'>): string {
  return join(place, id, `${versionFolder(version)}.sha256`);
}

/** What an installed plugin is held against. */
export interface Verification {
  /** Folder of all installed plugins. */
  readonly place: string;
  /** Its line in the list of installed plugins, if it has one. */
  readonly plugin: InstalledPlugin | undefined;
  readonly limits: TreeLimits;
  readonly policy: TrustPolicy;
}

/**
 * The tap of plugin.verify: reads every file again before any of them is imported. Plugins that were not installed are none of its business.
 * Throws PLUGIN_CHANGED, which names the first file that differs, SIGNATURE_INVALID and ISOLATION_UNSUPPORTED.
 */
export async function verifyInstalled(
  { id }: Pick<PluginManifest, 'id'>,
  directory: string,
  { place, plugin, limits, policy }: Verification,
): Promise<void> {
  const below = join(place, id, '/');
  if (!directory.startsWith(below)) return;
  const refuse = (reason: string) => new CoreError('PLUGIN_CHANGED', { plugin: id, reason });
  const name = directory.slice(below.length).split('/')[0] ?? '';
  const version = (plugin ? versionsOf(plugin) : []).find((one) => versionFolder(one) === name);
  if (!version) throw refuse(`${name} is not in the list of installed plugins`);
  const folder = join(below, name);
  let tree: Tree;
  try {
    // One file more than allowed is let in to be named below.
    tree = await readTree(folder, await filesOf(folder, limits.files + 1), limits.bytes);
  } catch (error) {
    throw refuse(reasonOf(error));
  }
  if (tree.hash !== version.hash) throw refuse(await difference(tree, listFile(place, id, version), version.hash));
  const signer = await signerOf(id, folder, tree.hash, policy);
  // Two entries may share the files and differ in the level.
  const live = plugin && liveVersion(plugin);
  const { isolation } = live && versionFolder(live) === name ? live : version;
  if (signer === undefined) checkUnsignedLevel(id, isolation, policy.unsignedIsolation);
}

async function difference(now: Tree, list: string, hash: string): Promise<string> {
  const then = parseTree(await readFile(list, 'utf8').catch(() => ''));
  if (then.hash !== hash) return 'files differ, and the list that would name them was changed, too';
  for (const [path, hex] of now.files) {
    const was = then.files.get(path);
    if (was === undefined) return `${path} was added`;
    if (was !== hex) return `${path} has another content`;
  }
  const gone = [...then.files.keys()].find((path) => !now.files.has(path));
  return `${gone ?? 'a file'} is missing`;
}
