/** Scopes that are still to be emptied, beside the vault: it may be locked when an app is removed for good. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CoreError, newerForm } from '@device-core/plugin-api';
import { makeFolder, readState, replaceFile } from '@device-core/plugin-api/durable';
import { isKey } from '../names.ts';
import type { Vault } from '../vault.ts';

const FORM = 1;
/** As many as apps are ever removed while a vault is locked. */
const MOST = 1_000;

type Purges = NonNullable<Vault['purges']>;

/** A disk that is full or read-only takes no list: the run folder, which is in memory, has it until the disk does. */
export class PurgeFiles implements Purges {
  readonly #folder: string;
  readonly #file: string;
  readonly #held: string;

  constructor(folder: string, run: string) {
    this.#folder = folder;
    this.#file = join(folder, 'purges.json');
    this.#held = join(run, 'secrets-purges.json');
  }

  async read(): ReturnType<Purges['read']> {
    // It is there only while the disk does not take it, and so the newer one.
    const held = await readList(this.#held).catch(() => undefined); // what it should have said is gone: the disk counts
    if (held) return { scopes: held, durable: false };
    try {
      return { scopes: (await readList(this.#file)) ?? [] };
    } catch (problem) {
      return { scopes: [], problem };
    }
  }

  async write(scopes: readonly string[]): Promise<void> {
    const text = `${JSON.stringify({ format: FORM, scopes: scopes.slice(0, MOST) })}\n`;
    try {
      await makeFolder(this.#folder);
      await replaceFile(this.#file, text, { mode: 0o600 });
    } catch (error) {
      await replaceFile(this.#held, text, { mode: 0o600, sync: false }).catch(() => undefined); // told as the disk's
      throw error;
    }
    await rm(this.#held, { force: true });
  }
}

/** Undefined where there is none. Throws STATE_CORRUPT, STATE_NEWER. */
async function readList(path: string): Promise<readonly string[] | undefined> {
  const text = await readState(path);
  if (text === undefined) return undefined;
  const corrupt = () => new CoreError('STATE_CORRUPT', { file: path, reason: 'it does not hold the written bytes' });
  let found: unknown;
  try {
    found = JSON.parse(text);
  } catch {
    throw corrupt();
  }
  const { format, scopes } = Object(found) as { readonly format?: unknown; readonly scopes?: unknown };
  const newer = newerForm(path, format, FORM);
  if (newer) throw newer;
  if (format !== FORM || !Array.isArray(scopes) || !scopes.every((one) => isKey(`${one}/x`))) throw corrupt();
  return scopes.slice(0, MOST);
}
