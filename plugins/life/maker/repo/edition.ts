/** A new set of metadata from the one before it: what changed is made and signed anew, and a new snapshot and timestamp name all of it. */
import { usage } from '@device-core/plugin-api/program';
import type { Keyring } from './keyring.ts';
import {
  type AnySigned,
  type MetaEntry,
  metaEntry,
  type RoleKeys,
  type RootSigned,
  type SnapshotSigned,
  SPEC_VERSION,
  signed,
  type TargetsSigned,
  type TimestampSigned,
  type TopRole,
  timeOf,
} from './metadata.ts';

const DAY = 86_400_000;
/**
 * Days that each kind is good for. A device that hears nothing new for so long takes nothing any more: a repository
 * that is frozen is found by that.
 */
export const GOOD_FOR = { root: 730, targets: 365, snapshot: 14, timestamp: 14 } as const;

/** Current metadata of a repository. */
export interface MetadataSet {
  readonly root: RootSigned;
  /** `targets` and the channels. */
  readonly roles: ReadonlyMap<string, TargetsSigned>;
  readonly snapshot: SnapshotSigned;
  readonly timestamp: TimestampSigned;
}

/** A file below `metadata/`. */
export interface MetadataFile {
  readonly name: string;
  readonly bytes: Buffer;
}

export interface EditionOptions {
  readonly keyring: Keyring;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
  /** Days that snapshot and timestamp are good for. */
  readonly days?: number | undefined;
}

export class Edition {
  readonly #before: MetadataSet | undefined;
  readonly #options: EditionOptions;
  #root: RootSigned;
  #rootChanged: boolean;
  readonly #roles: Map<string, TargetsSigned>;
  readonly #changed = new Set<string>();

  /** `first`: of a repository that is not yet there. */
  constructor(before: MetadataSet | { readonly first: Pick<RootSigned, 'keys' | 'roles'> }, options: EditionOptions) {
    this.#options = options;
    if ('first' in before) {
      this.#before = undefined;
      this.#root = { _type: 'root', ...this.#head(0, 'root'), consistent_snapshot: true, ...before.first };
      this.#roles = new Map();
    } else {
      this.#before = before;
      this.#root = before.root;
      this.#roles = new Map(before.roles);
    }
    this.#rootChanged = 'first' in before;
  }

  get root(): RootSigned {
    return this.#root;
  }

  get roles(): ReadonlyMap<string, TargetsSigned> {
    return this.#roles;
  }

  /** Version and expiry of the timestamp that will be written. */
  get next(): { readonly version: number; readonly expires: string } {
    const { version, expires } = this.#head(this.#before?.timestamp.version ?? 0, 'timestamp');
    return { version, expires };
  }

  get channels(): readonly string[] {
    return [...this.#roles.keys()].filter((name) => name !== 'targets');
  }

  role(name: string): TargetsSigned {
    const found = this.#roles.get(name);
    if (found === undefined) throw usage(`the repository has no channel ${name}; it has ${this.channels.join(', ')}`);
    return found;
  }

  editRoot(change: (root: RootSigned) => RootSigned): void {
    this.#root = change(this.#root);
    this.#rootChanged = true;
  }

  /** Makes a role or changes it. Without a change it is signed anew. */
  edit(name: string, change: (role: TargetsSigned) => TargetsSigned = (role) => role): void {
    const role: TargetsSigned = this.#roles.get(name) ?? {
      _type: 'targets',
      ...this.#head(-1, 'targets'),
      targets: {},
    };
    this.#roles.set(name, change(role));
    this.#changed.add(name);
  }

  /** The files in the order in which they are to be written: a reader in the middle sees the set before or this one. */
  async files(): Promise<readonly MetadataFile[]> {
    const files: MetadataFile[] = [];
    const meta: Record<string, MetaEntry> = { ...this.#before?.snapshot.meta };
    for (const name of this.#changed) {
      const { version, ...role } = this.#roles.get(name)!;
      const next: TargetsSigned = { ...role, ...this.#head(version, 'targets') };
      const bytes = signed(next, await this.#signersOf(name));
      meta[`${name}.json`] = metaEntry(next.version, bytes);
      files.push({ name: `${next.version}.${name}.json`, bytes });
    }
    const snapshot: SnapshotSigned = {
      _type: 'snapshot',
      ...this.#head(this.#before?.snapshot.version ?? 0, 'snapshot'),
      meta,
    };
    const snapshotBytes = signed(snapshot, await this.#signersOf('snapshot'));
    files.push({ name: `${snapshot.version}.snapshot.json`, bytes: snapshotBytes });
    const timestamp: TimestampSigned = {
      _type: 'timestamp',
      ...this.#head(this.#before?.timestamp.version ?? 0, 'timestamp'),
      meta: { 'snapshot.json': metaEntry(snapshot.version, snapshotBytes) },
    };
    const timestampBytes = signed(timestamp, await this.#signersOf('timestamp'));
    const root = this.#rootChanged ? [await this.#rootFile()] : [];
    // The first root has to be there before anything; a later one comes last, for all else is signed for both.
    if (this.#before === undefined) files.unshift(...root);
    files.push({ name: 'timestamp.json', bytes: timestampBytes });
    if (this.#before !== undefined) files.push(...root);
    return files;
  }

  async #rootFile(): Promise<MetadataFile> {
    const former = this.#before?.root;
    const root: RootSigned = { ...this.#root, ...this.#head(former?.version ?? 0, 'root') };
    const wanted = [...(former ? [former.roles.root] : []), root.roles.root];
    const bytes = signed(root, await this.#options.keyring.signersFor('root', wanted));
    return { name: `${root.version}.root.json`, bytes };
  }

  /** By the new list of keys; where the former one can sign as well, readers that have the former root understand it, too. */
  async #signersOf(name: string) {
    const { keyring } = this.#options;
    const now = keysOf(this.#root, this.#roles, name);
    // The keys of a channel stand in `targets`, which changes with it at once: there is nothing in the middle.
    const before = name in this.#root.roles ? this.#before?.root.roles[name as TopRole] : undefined;
    const both = before?.keyids.some((id) => !now.keyids.includes(id)) === true && canSign(keyring, before);
    return keyring.signersFor(name, both ? [now, before] : [now]);
  }

  #head(before: number, kind: keyof typeof GOOD_FOR): Pick<AnySigned, 'spec_version' | 'version' | 'expires'> {
    const { now, days } = this.#options;
    const short = kind === 'snapshot' || kind === 'timestamp';
    const good = (short ? days : undefined) ?? GOOD_FOR[kind];
    return { spec_version: SPEC_VERSION, version: before + 1, expires: timeOf(now + good * DAY) };
  }
}

export const canSign = (keyring: Keyring, { keyids, threshold }: RoleKeys): boolean =>
  keyids.filter((id) => keyring.has(id)).length >= threshold;

/** Keys that sign for a role. */
export function keysOf(root: RootSigned, roles: ReadonlyMap<string, TargetsSigned>, name: string): RoleKeys {
  if (name in root.roles) return root.roles[name as TopRole];
  const found = roles.get('targets')?.delegations?.roles.find((role) => role.name === name);
  if (found === undefined) throw usage(`the repository has no role ${name}`);
  return found;
}
