/**
 * Metadata of a repository, kept from look to look: `known/`. A look works on a copy, `next/`, which takes its place
 * when all of it was found good; so a look that fails, or is cut off by a loss of power, leaves the former metadata,
 * and the newest root, timestamp and snapshot as a floor.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, moveFolder, replaceFile, storageError } from '@device-core/plugin-api/durable';

export type Files = ReadonlyMap<string, Buffer>;

/** In the order in which TUF finds them valid. */
const FLOORS = ['root.json', 'timestamp.json', 'snapshot.json'] as const;

export class KeptMetadata {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get #known(): string {
    return join(this.#folder, 'known');
  }

  /** Folder in which a look works. */
  get next(): string {
    return join(this.#folder, 'next');
  }

  /** Reads the known metadata. Rejects with the codes of a disk. */
  async read(): Promise<Files> {
    // Cut off between taking the former away and putting the new one in its place: it was whole by then.
    if (!existsSync(this.#known) && existsSync(join(this.next, 'root.json')))
      await moveFolder(this.next, this.#known, namesIn(this.next));
    return filesIn(this.#known);
  }

  /** Begins a look that knows these. */
  async begin(files: Files): Promise<void> {
    try {
      await rm(this.next, { recursive: true, force: true });
    } catch (error) {
      throw storageError(this.next, error);
    }
    await makeFolder(this.next);
    // The root last: with it the folder could be taken for one that was whole.
    const names = [...files.keys()].sort((a, b) => Number(a === 'root.json') - Number(b === 'root.json'));
    for (const name of names) await replaceFile(join(this.next, name), files.get(name)!, { sync: false });
  }

  /** All of it was good. */
  async keep(before: Files): Promise<void> {
    const found = filesIn(this.next);
    const same = found.size === before.size && [...found].every(([name, bytes]) => before.get(name)?.equals(bytes));
    if (same && existsSync(this.#known)) return;
    await moveFolder(this.next, this.#known, found.keys());
  }

  /**
   * A look that failed may have met newer metadata, signed as they must be. TUF keeps each as soon as it is valid
   * (specification 5.3 to 5.5): a key that was put out of the root stays out, and a timestamp or a snapshot of a lower
   * version is a rollback from then on.
   */
  async keepValid(before: Files): Promise<void> {
    const found = filesIn(this.next);
    const newer = FLOORS.filter((name) => found.has(name) && !before.get(name)?.equals(found.get(name)!));
    if (newer.length === 0) return;
    const known = filesIn(this.#known);
    await makeFolder(this.#known);
    // The root first: without it nothing else there counts.
    for (const name of FLOORS) {
      const bytes = found.get(name);
      if (bytes && !known.get(name)?.equals(bytes)) await replaceFile(join(this.#known, name), bytes);
    }
  }
}

function filesIn(folder: string): Files {
  return new Map(namesIn(folder).map((name) => [name, readFileSync(join(folder, name))]));
}

function namesIn(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
}
