/** Volume and mute, which outlive the Core: one small file that is whole at any moment. */
import { mkdir, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { reasonOf } from '@device-core/plugin-api';
import { replaceFile, syncName } from '@device-core/plugin-api/durable';

export interface Kept {
  readonly volume: number;
  readonly muted: boolean;
}

export class KeptSettings {
  readonly #path: string;
  #value: Kept;
  #problem: string | undefined;
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
    const value = parsed(text);
    if (value) kept.#value = value;
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
    return this.#problem;
  }

  /** In force at once; resolves when it is durable, or known not to be: then `problem` tells. Of many changes at once the last is written. */
  set(change: Partial<Kept>): Promise<void> {
    this.#value = { ...this.#value, ...change };
    this.#work = this.#work.then(async () => {
      const value = this.#value;
      if (value === this.#written) return;
      try {
        await replaceFile(this.#path, `${JSON.stringify(value)}\n`);
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

function parsed(text: string): Kept | undefined {
  try {
    const { volume, muted } = JSON.parse(text);
    const good = typeof volume === 'number' && volume >= 0 && volume <= 1 && typeof muted === 'boolean';
    return good ? { volume, muted } : undefined;
  } catch {
    return undefined; // told by whoever asked: a file of ours is JSON
  }
}
