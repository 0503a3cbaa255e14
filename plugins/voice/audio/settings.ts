/** Volume and mute, which outlive the Core: one small file that is whole at any moment. */
import { mkdir, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CoreError, newerForm, reasonOf } from '@device-core/plugin-api';
import { replaceFile, syncName } from '@device-core/plugin-api/durable';

const FORM = 1;

export interface Kept {
  readonly volume: number;
  readonly muted: boolean;
}

export class KeptSettings {
  readonly #path: string;
  #value: Kept;
  #problem: string | undefined;
  /** A newer Core wrote the file: it is not written before that Core is back. */
  #newer: CoreError | undefined;
  #work: Promise<void> = Promise.resolve();
  #written: Kept | undefined;

  private constructor(path: string, value: Kept) {
    this.#path = path;
    this.#value = value;
  }

  /** A file that cannot be read is set aside, told as the problem, and the defaults hold. */
  static async open(path: string, defaults: Kept): Promise<KeptSettings> {
    const kept = new KeptSettings(path, defaults);
    await mkdir(dirname(path), { recursive: true });
    let text: string;
    try {
      text = await readFile(path, 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') kept.#problem = reasonOf(error);
      return kept;
    }
    const value = parsed(text, path);
    if (value instanceof CoreError) kept.#newer = value;
    else if (value) kept.#value = value;
    else {
      await rename(path, `${path}.corrupt`);
      kept.#problem = 'the file was corrupt, and the defaults hold';
    }
    return kept;
  }

  get value(): Kept {
    return this.#value;
  }

  /** What went wrong with the file last; it is good again after the next write. */
  get problem(): string | undefined {
    return this.#newer?.message ?? this.#problem;
  }

  /** The file is of a newer Core and stays as it is: what is set now is in force until the next start. */
  get newer(): boolean {
    return this.#newer !== undefined;
  }

  /** In force at once; resolves when it is durable, or known not to be: then `problem` tells. Of many changes at once the last is written. */
  set(change: Partial<Kept>): Promise<void> {
    this.#value = { ...this.#value, ...change };
    this.#work = this.#work.then(async () => {
      const value = this.#value;
      if (value === this.#written || this.#newer) return;
      try {
        await replaceFile(this.#path, `${JSON.stringify({ format: FORM, ...value })}\n`);
        await syncName(this.#path);
        this.#written = value;
        this.#problem = undefined;
      } catch (error) {
        this.#problem = reasonOf(error);
      }
    });
    return this.#work;
  }
}

function parsed(text: string, file: string): Kept | CoreError | undefined {
  try {
    const { format, volume, muted } = JSON.parse(text);
    const newer = newerForm(file, format, FORM);
    if (newer) return newer;
    const good = typeof volume === 'number' && volume >= 0 && volume <= 1 && typeof muted === 'boolean';
    return good ? { volume, muted } : undefined;
  } catch {
    return undefined; // told by whoever asked: a file of ours is JSON
  }
}
