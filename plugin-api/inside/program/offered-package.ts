/** Packages that a repository offers: where each is a target, and what its channel says of it. The tools write it, devices read it. */
import { textFault } from '../schema-words.ts';
import { isVersion } from '../versions.ts';

/** The role that speaks for each kind, and for no other: `apps/<id>/<version>/<platforms>.app`. */
export const PACKAGE_OFFERS = {
  app: { channel: 'apps', suffix: '.app', id: /^[A-Za-z][A-Za-z0-9-]*(\.[A-Za-z0-9][A-Za-z0-9_-]*){1,7}$/ },
  plugin: { channel: 'plugins', suffix: '.tgz', id: /^[a-z][a-z0-9-]{0,39}$/ },
} as const;
export type PackageNoun = keyof typeof PACKAGE_OFFERS;

const LONGEST_ID = 100;
const LONGEST_TEXT = 200;
const PLATFORM = /^[a-z0-9]+-[a-z0-9]+$/;
/** As much of a version as may be part of an address. */
const VERSION = /^[0-9][A-Za-z0-9.+-]{0,63}$/;

/** As much as is signed by whoever takes a package into its channel. */
export interface PackageOffer {
  readonly id: string;
  readonly version: string;
  /** For people. */
  readonly title: string;
  readonly platforms: 'any' | readonly string[];
  /** `sha256:<hex>` over the list of its files: what its author signed. */
  readonly package: string;
  /** Seconds since the Unix epoch. */
  readonly publishedAt: number;
  /** Why nobody is to take it any more. */
  readonly withdrawn?: string;
}

/** The target of a package. */
export function packageTarget(noun: PackageNoun, { id, version, platforms }: PackageOffer): string {
  const { channel, suffix } = PACKAGE_OFFERS[noun];
  const name = platforms === 'any' ? platforms : [...platforms].sort().join('+');
  return `${channel}/${id}/${version}/${name}${suffix}`;
}

/** Package by the custom data of a target; undefined where that is no package, or not the one that lies there. */
export function packageOffer(noun: PackageNoun, path: string, custom: unknown): PackageOffer | undefined {
  const { id, version, title, platforms, package: hash, publishedAt, withdrawn } = Object(custom);
  const fits =
    isPackageId(noun, id) &&
    isPackageVersion(version) &&
    typeof title === 'string' &&
    textFault(title, 'line') === undefined &&
    isPlatforms(platforms) &&
    typeof hash === 'string' &&
    /^sha256:[0-9a-f]{64}$/.test(hash) &&
    Number.isSafeInteger(publishedAt) &&
    (withdrawn === undefined || (typeof withdrawn === 'string' && textFault(withdrawn, 'lines') === undefined));
  if (!fits) return undefined;
  const offer: PackageOffer = {
    id,
    version,
    platforms,
    package: hash,
    publishedAt,
    title: title.slice(0, LONGEST_TEXT),
    ...(withdrawn === undefined ? {} : { withdrawn: withdrawn.slice(0, LONGEST_TEXT) }),
  };
  return packageTarget(noun, offer) === path ? offer : undefined;
}

export const isPackageId = (noun: PackageNoun, id: unknown): id is string =>
  typeof id === 'string' && id.length <= LONGEST_ID && PACKAGE_OFFERS[noun].id.test(id);

export const isPackageVersion = (version: unknown): version is string =>
  typeof version === 'string' && VERSION.test(version) && isVersion(version);

/** Does it run there? `platform`: `linux-x64`. */
export const runsOn = ({ platforms }: Pick<PackageOffer, 'platforms'>, platform: string): boolean =>
  platforms === 'any' || platforms.includes(platform);

/** `com.example.agenda` or `com.example.agenda@1.4.0`; undefined for what is neither. */
export function packageNamed(
  noun: PackageNoun,
  text: string,
): { readonly id: string; readonly version?: string } | undefined {
  const [id, version, ...more] = text.split('@');
  if (more.length > 0 || !isPackageId(noun, id)) return undefined;
  if (version === undefined) return { id };
  return isPackageVersion(version) ? { id, version } : undefined;
}

function isPlatforms(value: unknown): value is PackageOffer['platforms'] {
  if (value === 'any') return true;
  return Array.isArray(value) && value.length > 0 && value.length <= 8 && value.every((one) => PLATFORM.test(one));
}
