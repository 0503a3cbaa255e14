/** Packages of apps and plugins in a repository, each a separate target. */

import {
  isPackageId,
  isPackageVersion,
  PACKAGE_OFFERS,
  type PackageNoun,
  type PackageOffer,
  packageOffer,
  packageTarget,
  runsOn,
} from '@device-core/plugin-api/inside/packages';
import { usage } from '@device-core/plugin-api/program';
import type { RepositoryFolder } from './folder.ts';
import { sha256, type TargetsSigned } from './metadata.ts';
import { keysOf, readPackage } from './package-file.ts';

export interface NewPackage {
  readonly noun: PackageNoun;
  readonly file: string;
  /** Files of public keys, one of which signed it. */
  readonly signers: readonly string[];
  /** Seconds since the Unix epoch. */
  readonly publishedAt: number;
}

export interface AddedPackage {
  readonly offer: PackageOffer;
  readonly path: string;
  readonly signer: string;
  readonly bytes: number;
  readonly change: (role: TargetsSigned) => TargetsSigned;
}

/**
 * Puts a package in its place, where nobody sees it before the channel names it. Throws a Failure, and the codes of a
 * package that devices would refuse.
 */
export async function addPackage(
  repository: RepositoryFolder,
  role: TargetsSigned,
  { noun, file, signers, publishedAt }: NewPackage,
): Promise<AddedPackage> {
  const { channel } = PACKAGE_OFFERS[noun];
  const { bytes, manifest, tree, signer } = await readPackage(noun, file, await keysOf(signers));
  const { id, version, title, platforms } = manifest;
  if (!isPackageId(noun, id) || !isPackageVersion(version))
    throw usage(`"${id}" and "${version}" cannot be part of an address`);
  const fresh: PackageOffer = { id, version, title, platforms, package: tree.hash, publishedAt };
  const path = packageTarget(noun, fresh);
  const there = role.targets[path];
  if (there !== undefined && there.hashes.sha256 !== sha256(bytes))
    throw usage(`${channel} has another package ${id} ${version}`, 'an offered version stays; raise the version');
  const rival = packagesOf(noun, role).find(
    (one) => one.path !== path && one.id === id && one.version === version && overlap(one, fresh),
  );
  if (rival)
    throw usage(
      `${channel} has ${id} ${version} for ${forWhat(rival)} already`,
      'a device could not tell which of the two is meant; raise the version',
    );
  const before = there && packageOffer(noun, path, there.custom);
  const offer = { ...fresh, publishedAt: before?.publishedAt ?? publishedAt };
  const entry = await repository.addTarget(path, bytes, { ...offer });
  return {
    offer,
    path,
    signer,
    bytes: bytes.length,
    change: (one) => ({ ...one, targets: { ...one.targets, [path]: entry } }),
  };
}

/** Packages of a channel. */
export function packagesOf(
  noun: PackageNoun,
  role: TargetsSigned,
): readonly (PackageOffer & { readonly path: string })[] {
  return Object.entries(role.targets).flatMap(([path, { custom }]) => {
    const offer = packageOffer(noun, path, custom);
    return offer ? [{ ...offer, path }] : [];
  });
}

/** The kind whose channel it is; undefined for one of images. */
export const nounOf = (channel: string): PackageNoun | undefined =>
  (Object.keys(PACKAGE_OFFERS) as PackageNoun[]).find((noun) => PACKAGE_OFFERS[noun].channel === channel);

export const forWhat = ({ platforms }: Pick<PackageOffer, 'platforms'>): string =>
  platforms === 'any' ? 'any platform' : platforms.join(', ');

const overlap = (one: PackageOffer, other: PackageOffer): boolean =>
  other.platforms === 'any' || one.platforms === 'any' || other.platforms.some((platform) => runsOn(one, platform));
