/** The YAML files of a folder that the Core reads and never writes: `<etc>/*.yaml`, and those of `<var>` beside `config.yaml`. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Logger, reasonOf } from '@device-core/plugin-api';
import { ConfigDocument } from './document.ts';
import type { Problems } from './problems.ts';
import type { Held } from './state-file.ts';

/** The member that makes a file of YAML a SKU. */
const SKU_MARK = 'skuVersion';

interface Part {
  readonly document: ConfigDocument;
  readonly modifiedAt: number;
}

export interface FolderOptions {
  /** Names that are not read. */
  readonly skip: readonly string[];
  /** `none`: revision 0 (defaults). `time`: the file's modification time in ms, which grows with each change and needs no memory. */
  readonly revisions: 'none' | 'time';
  readonly problems: Problems;
  readonly log: Logger;
}

/** Several files are merged in the order of their names: the later name wins. */
export class Folder {
  readonly path: string;
  readonly #options: FolderOptions;
  readonly #parts = new Map<string, Part>();
  #values = new Map<string, Held>();

  constructor(path: string, options: FolderOptions) {
    this.path = path;
    this.#options = options;
  }

  get(key: string): Held | undefined {
    return this.#values.get(key);
  }

  keys(): Iterable<string> {
    return this.#values.keys();
  }

  /** Reads what changed; resolves with the keys whose value is another one now. A file that cannot be read keeps its former values. */
  async load(): Promise<readonly string[]> {
    const names = (await this.#list()).toSorted();
    for (const name of this.#parts.keys()) {
      if (names.includes(name)) continue;
      this.#parts.delete(name);
      this.#options.problems.mended(join(this.path, name));
    }
    for (const name of names) await this.#read(name);
    return this.#merge(names);
  }

  async #list(): Promise<readonly string[]> {
    try {
      const names = await readdir(this.path);
      return names.filter(
        (name) => name.endsWith('.yaml') && !name.startsWith('.') && !this.#options.skip.includes(name),
      );
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  }

  async #read(name: string): Promise<void> {
    const path = join(this.path, name);
    const { problems, log } = this.#options;
    try {
      const [text, { mtimeMs }] = [await readFile(path, 'utf8'), await stat(path)];
      const document = ConfigDocument.parse(text, path);
      // A device that is installed has its SKU here: what it says of plugins is no setting of theirs.
      if ([...document.keys()].includes(SKU_MARK)) this.#parts.delete(name);
      else this.#parts.set(name, { document, modifiedAt: Math.floor(mtimeMs) });
      problems.mended(path);
    } catch (error) {
      const kept = this.#parts.has(name) ? 'its former values stay' : 'its values are missing';
      const message = `${reasonOf(error)}; ${kept}`;
      if (problems.fault(path, 'STATE_CORRUPT', message)) log.error({ file: path }, message);
    }
  }

  #merge(names: readonly string[]): readonly string[] {
    const former = this.#values;
    this.#values = new Map();
    for (const name of names) {
      const part = this.#parts.get(name);
      if (!part) continue;
      for (const key of part.document.keys()) {
        const value = part.document.value(key);
        const held =
          this.#options.revisions === 'none'
            ? { value, revision: 0 }
            : { value, revision: part.modifiedAt, setBy: 'file', setAt: part.modifiedAt };
        this.#values.set(key, held);
      }
    }
    const keys = new Set([...former.keys(), ...this.#values.keys()]);
    return [...keys].filter((key) => !same(former.get(key)?.value, this.#values.get(key)?.value));
  }
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
