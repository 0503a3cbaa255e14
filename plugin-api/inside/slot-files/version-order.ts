/** Which semantic version is older (semver.org, section 11). The helper of root has no packages. */
export function isOlder(one: string, two: string): boolean {
  const [left, right] = [partsOf(one), partsOf(two)];
  const release = compared(left.release, right.release);
  if (release !== 0) return release < 0;
  // Versions with a pre-release come before those without one.
  if (left.pre.length === 0 || right.pre.length === 0) return left.pre.length > right.pre.length;
  return compared(left.pre, right.pre) < 0;
}

function partsOf(version: string): { readonly release: readonly string[]; readonly pre: readonly string[] } {
  const [plain = ''] = version.split('+');
  const dash = plain.indexOf('-');
  const release = (dash < 0 ? plain : plain.slice(0, dash)).split('.');
  return { release, pre: dash < 0 ? [] : plain.slice(dash + 1).split('.') };
}

function compared(left: readonly string[], right: readonly string[]): number {
  for (const [at, one] of left.entries()) {
    const two = right[at];
    if (two === undefined) return 1;
    if (one === two) continue;
    const [first, second] = [/^\d+$/.test(one), /^\d+$/.test(two)];
    if (first !== second) return first ? -1 : 1;
    if (!first) return one < two ? -1 : 1;
    // Numbers have any length: no number of JavaScript holds them all.
    const [x, y] = [BigInt(one), BigInt(two)];
    if (x !== y) return x < y ? -1 : 1;
  }
  return left.length < right.length ? -1 : 0;
}
