/** Files of models: they are what the configuration says, or nobody opens them. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { CoreError, reasonOf } from '@device-core/plugin-api';

export interface ModelFile {
  readonly path: string;
  readonly sha256: string;
}

export type ModelFiles = Readonly<Record<string, ModelFile>>;

/** Nothing is wrong with it, it is just not there. */
export class Missing extends Error {}

/** Remembers what it has read: a model has a hundred megabytes, and is looked at again while another one is missing. */
export class ModelCheck {
  readonly #known = new Map<string, { readonly stamp: string; readonly sha256: string }>();

  /** Rejects with MODEL_INVALID, or Missing. */
  async check({ path, sha256 }: ModelFile): Promise<void> {
    const found = await this.#hash(path);
    if (found === sha256) return;
    const reason = `its sha256 is ${found}, but ${sha256} was expected`;
    throw new CoreError('MODEL_INVALID', { path, reason });
  }

  async checkAll(files: ModelFiles): Promise<void> {
    for (const file of Object.values(files)) await this.check(file);
  }

  async #hash(path: string): Promise<string> {
    const info = await stat(path).catch((cause: NodeJS.ErrnoException) => {
      if (cause.code === 'ENOENT' || cause.code === 'ENOTDIR')
        throw new Missing(`there is no model ${path}`, { cause });
      throw unreadable(path, cause);
    });
    if (!info.isFile()) throw new CoreError('MODEL_INVALID', { path, reason: 'it is no file' });
    const stamp = `${info.size} ${info.mtimeMs} ${info.ino}`;
    const known = this.#known.get(path);
    if (known?.stamp === stamp) return known.sha256;
    const hash = createHash('sha256');
    try {
      for await (const piece of createReadStream(path)) hash.update(piece as Uint8Array);
    } catch (cause) {
      throw unreadable(path, cause);
    }
    const sha256 = hash.digest('hex');
    this.#known.set(path, { stamp, sha256 });
    return sha256;
  }
}

/** Changes when one of the files does. */
export async function stampOf(paths: readonly string[]): Promise<string> {
  const stamps = paths.map(async (path) => {
    const info = await stat(path).catch(() => undefined);
    return info ? `${info.size} ${info.mtimeMs} ${info.ino}` : '';
  });
  return (await Promise.all(stamps)).join('|');
}

function unreadable(path: string, cause: unknown): CoreError {
  return new CoreError('MODEL_INVALID', { path, reason: `it cannot be read: ${reasonOf(cause)}` }, { cause });
}

/** Rejects with Missing. */
export async function folderThere(path: string): Promise<void> {
  const info = await stat(path).catch(() => undefined);
  if (!info?.isDirectory()) throw new Missing(`there is no folder ${path}`);
}
