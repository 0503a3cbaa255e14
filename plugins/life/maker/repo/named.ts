/** Files that a repository names, and files in it without a name. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';
import { LONGEST_LIST, parseImage } from '@device-core/plugin-api/inside/image';
import { EXIT, Failure } from '@device-core/plugin-api/program';
import { LIST_TARGET } from './content.ts';
import type { RepositoryFolder } from './folder.ts';
import { parseSigned, type SnapshotSigned, sha256, type TargetEntry, type TargetsSigned } from './metadata.ts';

export interface Unnamed {
  readonly kind: 'metadata' | 'targets' | 'blobs';
  /** Below the repository. */
  readonly path: string;
  readonly bytes: number;
}

/** Files that a sweep may remove: all others are not the repository's, or stay for good. */
const OURS: Readonly<Record<Unnamed['kind'], RegExp>> = {
  metadata: /^metadata\/\d+\.(?!root\.json$)[a-z0-9][a-z0-9-]*\.json$/,
  targets: /^targets\/(?:[^/]+\/)*[0-9a-f]{64}\.[^/]+$/,
  blobs: /^blobs\/[0-9a-f]{64}\.zst$/,
};

/**
 * Files that neither the set that counts names, nor one that counted after `since` (milliseconds since the Unix epoch),
 * and that were written before: a device may be in the middle of what it named, and a copy of the repository may be in
 * the middle of the next set. Metadata come first. Throws a Failure where the set that counts is damaged: then nobody
 * can say what it names.
 */
export function unnamed(repository: RepositoryFolder, since: number): readonly Unnamed[] {
  const { snapshot } = repository.read();
  const kept = new Set<string>();
  for (const version of countedAfter(repository, snapshot.version, since))
    for (const path of namedBy(repository, version, version === snapshot.version)) kept.add(path);
  return (['metadata', 'targets', 'blobs'] as const).flatMap((kind) =>
    filesBelow(repository.path, kind).flatMap((path) => {
      if (kept.has(path) || !OURS[kind].test(path)) return [];
      const { mtimeMs, size } = statSync(join(repository.path, path));
      return mtimeMs < since ? [{ kind, path, bytes: size }] : [];
    }),
  );
}

/** A set counts until the next one is written. */
function countedAfter({ metadata }: RepositoryFolder, current: number, since: number): readonly number[] {
  const versions = readdirSync(metadata)
    .flatMap((name) => /^(\d+)\.snapshot\.json$/.exec(name)?.[1] ?? [])
    .map(Number)
    .filter((version) => version <= current)
    .sort((one, other) => one - other);
  const endOf = (nth: number) => statSync(join(metadata, `${versions[nth + 1]}.snapshot.json`)).mtimeMs;
  return versions.filter((version, nth) => version === current || endOf(nth) >= since);
}

/** Files named by a set; a file missing in a former set names nothing: a sweep may have been cut off in it. */
function namedBy(repository: RepositoryFolder, version: number, current: boolean): readonly string[] {
  const paths: string[] = [];
  const read = (file: string): Buffer | undefined => {
    paths.push(relative(repository.path, file));
    try {
      return readFileSync(file);
    } catch (error) {
      if (current) throw damaged(repository, error);
      return undefined;
    }
  };
  // A package may be large, and names nothing.
  const see = (file: string): readonly string[] => {
    if (current && !existsSync(file)) throw damaged(repository, new Error(`there is no ${file}`));
    return [relative(repository.path, file)];
  };
  const attempt = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      if (current) throw error instanceof Failure ? error : damaged(repository, error);
    }
  };
  attempt(() => {
    const snapshot = read(join(repository.metadata, `${version}.snapshot.json`));
    if (!snapshot) return;
    for (const [file, { version: of }] of Object.entries(parseSigned<SnapshotSigned>('snapshot', snapshot).meta))
      attempt(() => {
        const role = read(join(repository.metadata, `${of}.${file}`));
        if (!role) return;
        for (const [path, entry] of Object.entries(parseSigned<TargetsSigned>('targets', role).targets))
          attempt(() => paths.push(...namedByTarget(repository, path, entry, { read, see })));
      });
  });
  return paths;
}

interface Looking {
  read(file: string): Buffer | undefined;
  see(file: string): readonly string[];
}

function namedByTarget(
  repository: RepositoryFolder,
  path: string,
  entry: TargetEntry,
  { read, see }: Looking,
): readonly string[] {
  const file = repository.target(path, entry);
  if (!path.endsWith(`/${LIST_TARGET}`)) return see(file);
  const bytes = read(file);
  if (!bytes) return [];
  if (sha256(bytes) !== entry.hashes.sha256) throw new Error(`${path} is not what its channel names`);
  const { files } = parseImage(zstdDecompressSync(bytes, { maxOutputLength: LONGEST_LIST }));
  return files.map(({ sha256: hex }) => relative(repository.path, repository.blob(hex)));
}

function filesBelow(folder: string, kind: string): readonly string[] {
  try {
    return readdirSync(join(folder, kind), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(folder, join(entry.parentPath, entry.name)))
      .sort();
  } catch {
    return []; // it has none yet
  }
}

const damaged = ({ path }: RepositoryFolder, error: unknown): Failure =>
  new Failure(EXIT.answered, 'STATE_CORRUPT', `the repository in ${path} is damaged: ${(error as Error).message}`);
