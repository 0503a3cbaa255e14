/**
 * What is known of a repository, from look to look: `known/`. A look works on a copy, `next/`, which takes its place when all of it was found good; so a look
 * that fails, or is cut off by a loss of power, leaves what was known before.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { makeFolder, moveFolder, replaceFile, storageError } from '@device-core/plugin-api/durable';

export type Files = ReadonlyMap<string, Buffer>;

export class KeptMetadata {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get #known(): string {
    return join(this.#folder, 'known');
  }

  /** Where a look works. */
  get next(): string {
    return join(this.#folder, 'next');
  }

  /** What is known. Rejects with the codes of a disk. */
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

  /** A look that failed may have met a newer root, signed as it must be: whoever was put out of it stays out. */
  async keepRoot(before: Files): Promise<void> {
    const root = filesIn(this.next).get('root.json');
    if (root === undefined || before.get('root.json')?.equals(root)) return;
    await makeFolder(this.#known);
    await replaceFile(join(this.#known, 'root.json'), root);
  }
}

function filesIn(folder: string): Files {
  return new Map(namesIn(folder).map((name) => [name, readFileSync(join(folder, name))]));
}

function namesIn(folder: string): readonly string[] {
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.json')) : [];
}
