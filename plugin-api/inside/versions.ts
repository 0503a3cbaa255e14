/**
 * Versions and ranges as semver has them. Those of nearly every manifest, `1.2.3` and `^1.2.3`, are read without the
 * package: most starts never load it.
 */
import { packageLater } from './lazy-package.ts';

const semver = packageLater<typeof import('semver')>('semver', import.meta.url);

const NUMBER = '(0|[1-9]\\d{0,8})';
const VERSION = new RegExp(`^${NUMBER}\\.${NUMBER}\\.${NUMBER}$`);
/** Before 1.0.0 a caret means something else. */
const CARET = new RegExp(`^\\^([1-9]\\d{0,8})\\.${NUMBER}\\.${NUMBER}$`);

export function isVersion(text: string): boolean {
  return VERSION.test(text) || semver().valid(text) !== null;
}

export function isRange(text: string): boolean {
  return CARET.test(text) || semver().validRange(text) !== null;
}

/** As a comparison for sort: below 0 where the first is the older one. Throws where one is not valid. */
export function compare(a: string, b: string): number {
  const [one, other] = [VERSION.exec(a), VERSION.exec(b)];
  if (!one || !other) return semver().compare(a, b);
  const difference = (part: number): number => Number(one[part]) - Number(other[part]);
  return difference(1) || difference(2) || difference(3);
}

/** False where one of the two is not valid. */
export function satisfies(version: string, range: string): boolean {
  const [least, there] = [CARET.exec(range), VERSION.exec(version)];
  if (!least || !there) return semver().satisfies(version, range);
  const difference = (part: number): number => Number(there[part]) - Number(least[part]);
  return difference(1) === 0 && (difference(2) || difference(3)) >= 0;
}
