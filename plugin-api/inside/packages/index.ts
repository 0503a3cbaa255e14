/** Packages of plugins and of apps: which files they hold, what those hash to, who signed that, how they are read and written. */

export {
  isPackageId,
  isPackageVersion,
  PACKAGE_OFFERS,
  type PackageNoun,
  type PackageOffer,
  packageNamed,
  packageOffer,
  packageTarget,
  runsOn,
} from '../program/offered-package.ts';
export {
  archiveEnd,
  type MemberFields,
  type MemberHead,
  member,
  memberHeader,
  memberPadding,
  REPRODUCIBLE,
  readMember,
} from './archive.ts';
export { APP_PACKAGE, type PackageKind, PLUGIN_PACKAGE } from './kind.ts';
export { type NamedPackage, namedPackage } from './named.ts';
export { type Packed, type PackOptions, packApp } from './pack.ts';
export { appFilesOf, filesOf, packedFilesOf, pathProblem } from './paths.ts';
export { fingerprintOf, type KeyPair, newKeyPair, readSignature, signTree, verifyTree } from './signature.ts';
export { changeOf, parseTree, readTree, type Tree, type TreeLimits, treeOf } from './tree.ts';
export { unpack } from './unpack.ts';
