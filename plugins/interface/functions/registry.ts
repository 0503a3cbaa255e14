/** Every version of every function of every app, and which of them a caller means. Pure, in memory. */
import { CoreError, didYouMean } from '@device-core/plugin-api';
import { packageLater } from '@device-core/plugin-api/inside/lazy-package';
import type { FunctionEntry } from '@device-core/plugin-api/services/functions';
import type { Registered } from './entry.ts';

/** Without apps there are no versions to choose from. */
const semver = packageLater<typeof import('semver')>('semver', import.meta.url);

/** Versions of one function of one app, newest first. */
type Versions = Registered[];

export class Registry {
  readonly #limit: number;
  /** App -> name -> versions. */
  readonly #apps = new Map<string, Map<string, Versions>>();
  /** Name -> apps that have it. */
  readonly #owners = new Map<string, Set<string>>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** All or nothing. True where something is new. Throws VERSION_CONFLICT, FUNCTION_INVALID (too many). */
  add(app: string, entries: readonly Registered[]): boolean {
    const fresh = entries.filter((one) => {
      const known = this.#find(app, one.entry.name, one.entry.version);
      if (!known) return true;
      if (known.fingerprint === one.fingerprint) return false;
      const { name, version } = one.entry;
      throw new CoreError('VERSION_CONFLICT', { name, version, app });
    });
    const count = this.count(app) + fresh.length;
    if (count > this.#limit) {
      const reason = `${app} would have ${count} functions, at most ${this.#limit} are allowed`;
      throw new CoreError('FUNCTION_INVALID', { name: fresh.at(-1)!.entry.name, reason });
    }
    for (const one of fresh) this.#insert(one);
    return fresh.length > 0;
  }

  /** Without `name` all of the app, without `version` all versions. */
  remove(app: string, name?: string, version?: string): number {
    const names = this.#apps.get(app);
    if (!names) return 0;
    let removed = 0;
    for (const [each, versions] of [...names]) {
      if (name !== undefined && each !== name) continue;
      const left = version === undefined ? [] : versions.filter((one) => one.entry.version !== version);
      removed += versions.length - left.length;
      if (left.length > 0) names.set(each, left);
      else this.#drop(app, each);
    }
    return removed;
  }

  list(filter: { readonly app?: string | undefined; readonly name?: string | undefined } = {}): readonly Registered[] {
    const apps = filter.app === undefined ? [...this.#apps.keys()].toSorted() : [filter.app];
    return apps.flatMap((app) => {
      const names = this.#apps.get(app);
      if (!names) return [];
      const wanted = filter.name === undefined ? [...names.keys()].toSorted() : [filter.name];
      return wanted.flatMap((name) => names.get(name) ?? []);
    });
  }

  count(app: string): number {
    let count = 0;
    for (const versions of this.#apps.get(app)?.values() ?? []) count += versions.length;
    return count;
  }

  get apps(): number {
    return this.#apps.size;
  }

  /** The one app that has a function of this name. Throws FUNCTION_NOT_FOUND, with the candidates where there are several. */
  owner(name: string): string {
    const owners = this.#owners.get(name);
    const [only] = owners ?? [];
    if (only !== undefined && owners?.size === 1) return only;
    const reason = owners
      ? `: ${[...owners].toSorted().join(' and ')} have one each, say which with "app"`
      : didYouMean(name, this.#owners.keys());
    throw new CoreError('FUNCTION_NOT_FOUND', { name, reason, ...(owners && { candidates: [...owners].toSorted() }) });
  }

  /** The newest version within a semver range, or of all without one. Throws FUNCTION_NOT_FOUND, PARAMS_INVALID. */
  resolve(app: string, name: string, range?: string): Registered {
    const names = this.#apps.get(app);
    const versions = names?.get(name);
    if (!versions)
      throw new CoreError('FUNCTION_NOT_FOUND', { name, reason: ` of ${app}${didYouMean(name, names?.keys() ?? [])}` });
    if (range === undefined) return versions[0]!;
    if (range.length > 128 || semver().validRange(range) === null) {
      throw new CoreError('PARAMS_INVALID', {
        where: 'version',
        reason: `"${range.slice(0, 80)}" is not a semver range`,
      });
    }
    const found = versions.find((one) => semver().satisfies(one.entry.version, range));
    if (found) return found;
    const there = versions.map((one) => one.entry.version).join(', ');
    throw new CoreError('FUNCTION_NOT_FOUND', { name, reason: ` of ${app} within ${range}; there are ${there}` });
  }

  #find(app: string, name: string, version: FunctionEntry['version']): Registered | undefined {
    return this.#apps
      .get(app)
      ?.get(name)
      ?.find((one) => one.entry.version === version);
  }

  #insert(one: Registered): void {
    const { app, entry } = one;
    const names = this.#apps.get(app) ?? new Map<string, Versions>();
    this.#apps.set(app, names);
    const versions = [...(names.get(entry.name) ?? []), one];
    names.set(
      entry.name,
      versions.toSorted((a, b) => semver().rcompare(a.entry.version, b.entry.version)),
    );
    const owners = this.#owners.get(entry.name) ?? new Set<string>();
    this.#owners.set(entry.name, owners.add(app));
  }

  #drop(app: string, name: string): void {
    const names = this.#apps.get(app);
    names?.delete(name);
    if (names?.size === 0) this.#apps.delete(app);
    const owners = this.#owners.get(name);
    owners?.delete(app);
    if (owners?.size === 0) this.#owners.delete(name);
  }
}
