/**
 * Common course of every command of `devicectl repo`: alone, from the present set to the next one, checked as a
 * device does, then written in its order.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CoreError } from '@device-core/plugin-api';
import { EXIT, Failure, usage } from '@device-core/plugin-api/program';
import { Edition, type MetadataFile } from './edition.ts';
import { RepositoryFolder } from './folder.ts';
import { Keyring } from './keyring.ts';
import type { RootSigned } from './metadata.ts';
import { prove } from './proof.ts';

export interface RepositoryArgs {
  readonly repository: string;
  readonly keys: string;
  readonly passphraseFile?: string;
}

/** Params that all of them take. */
export const REPOSITORY = {
  repository: { type: 'string', description: 'folder of the repository' },
  keys: { type: 'string', description: 'folder of keys' },
  passphraseFile: {
    type: 'string',
    description: 'file whose first line opens the keys, - is standard input (default: the terminal is asked)',
  },
} as const;

export interface Step {
  readonly repository: RepositoryFolder;
  readonly keyring: Keyring;
  readonly edition: Edition;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
}

export interface CommandOptions {
  /** Keys and roles of a new repository. */
  readonly first?: (keyring: Keyring) => Pick<RootSigned, 'keys' | 'roles'>;
  readonly days?: number | undefined;
  /** A former key is gone: whoever reads while the set is written may be refused, and reads again. */
  readonly lost?: boolean | undefined;
  readonly now?: number;
}

/** Runs `work`, which changes the edition, and writes it. Throws a Failure; then the repository says what it said before. */
export async function newEdition<T>(
  args: RepositoryArgs,
  work: (step: Step) => Promise<T> | T,
  options: CommandOptions = {},
): Promise<T> {
  const { first, days, now = Date.now() } = options;
  const repository = new RepositoryFolder(args.repository);
  const keyring = new Keyring(args.keys, { passphraseFile: args.passphraseFile });
  if (first === undefined) repository.mustBeThere();
  else if (repository.isThere) throw usage(`there is a repository in ${repository.path} already`);
  using _lock = await repository.alone();
  try {
    const set = first === undefined ? repository.read() : { first: first(keyring) };
    const edition = new Edition(set, { keyring, now, days });
    const result = await work({ repository, keyring, edition, now });
    const files = await edition.files();
    await proveAll(repository, edition, files, options);
    await repository.write(files);
    return result;
  } catch (error) {
    if (error instanceof CoreError) throw new Failure(EXIT.answered, error.code, error.message);
    throw error;
  }
}

async function proveAll(
  repository: RepositoryFolder,
  { channels }: Edition,
  files: readonly MetadataFile[],
  { first, lost = false }: CommandOptions,
): Promise<void> {
  const folder = repository.metadata;
  if (first !== undefined) return prove({ folder, files, channels, root: files[0]!.bytes });
  const root = readFileSync(join(folder, `${repository.rootVersion()}.root.json`));
  await prove({ folder, files, channels, root });
  // Somebody reads between the timestamp and the root that comes after it.
  const middle = files.filter(({ name }) => !name.endsWith('.root.json'));
  if (middle.length === files.length || lost) return;
  await prove({ folder, files: middle, channels, root }).catch((error: Error) => {
    throw new Failure(EXIT.answered, 'REPOSITORY_UNTRUSTED', error.message, {
      hint: 'sign with the former key as well, or say --lost: then who reads meanwhile is refused, and reads again',
    });
  });
}
