/**
 * Apps that their author tries on this device: without a signature, over whatever is installed, until the trial is
 * ended or the Core starts again.
 */
import { chmod, mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, CoreError, newerForm } from '@device-core/plugin-api';
import { makeFolder, moveFolder, readState, replaceFile } from '@device-core/plugin-api/durable';
import { Serial } from '@device-core/plugin-api/inside/serial';
import type { Consent } from '@device-core/plugin-api/inside/services/consents';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import { MANIFEST } from './app-catalog.ts';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const RECORD = 'tried.json';
const FORM = 1;
const CODE = 'tried';
const STAGING = 'app-trial-';
export const TRIAL_LIMITS = { files: 20_000, bytes: 256 << 20 } as const;

interface Trial {
  /** Absent in records of Cores that had no number: form 1. */
  readonly format?: number;
  readonly hash: string;
  readonly grants: readonly string[];
  readonly version: string;
  readonly by: string;
  readonly at: number;
  readonly boot: string;
  /** Absent in records of Cores that kept a trial until the machine started again. */
  readonly run?: number;
}

/** A package that lies unpacked for a moment. */
interface Unpacked {
  readonly manifest: AppManifest;
  readonly code: string;
  readonly paths: readonly string[];
  readonly hash: string;
}

export interface TriedParts {
  /** `<var>`; the code lies in `apps/<id>/tried/<hash>` below it. */
  readonly state: string;
  /** `startedAt` of this run of the Core: a restart of the plugin alone keeps what is tried. */
  readonly run: number;
  readonly clock: Clock;
  readonly check: (file: string) => Promise<AppManifest>;
}

export class TriedApps {
  readonly #parts: TriedParts;
  readonly #boot: string;
  readonly #trials = new Map<string, Trial>();
  /** Apps whose records a newer Core wrote: they are left alone, and so is their code. */
  readonly #newer = new Map<string, CoreError>();
  /** One at a time: a save may come while the last one is still put in its place. */
  readonly #turns = new Serial();

  private constructor(parts: TriedParts, boot: string) {
    this.#parts = parts;
    this.#boot = boot;
  }

  /** Removes the trials of a former run of the Core: their command has ended. */
  static async open(parts: TriedParts): Promise<TriedApps> {
    const { state } = parts;
    const boot = (await readFile(BOOT_ID, 'utf8').catch(() => 'unknown')).trim(); // a system without /proc starts once
    const tried = new TriedApps(parts, boot);
    for (const name of await namesIn(state))
      if (name.startsWith(STAGING)) await rm(join(state, name), { recursive: true, force: true });
    for (const id of await namesIn(join(state, 'apps'))) await tried.#recall(id);
    return tried;
  }

  get apps(): readonly { readonly id: string; readonly folder: string }[] {
    return [...this.#trials].map(([id, { hash }]) => ({ id, folder: this.#folder(id, hash) }));
  }

  /** Errors of files written by a newer Core. */
  get newer(): readonly CoreError[] {
    return [...this.#newer.values()];
  }

  /** Grants of the author of a trial, as answers of the operator. */
  consentsOf(id: string): readonly Consent[] {
    const { grants = [], by = '', at = 0, version = '' } = this.#trials.get(id) ?? {};
    return grants.map((capability) => ({ capability, allowed: true, by, at, version }) as Consent);
  }

  /**
   * Checks a package and puts it in its place as a whole. Throws PACKAGE_INVALID, MANIFEST_INVALID, STATE_NEWER and the
   * codes of a disk.
   */
  take(
    archive: Uint8Array,
    grants: readonly string[],
    by: string,
  ): Promise<{ id: string; hash: string; same: boolean }> {
    return this.#turns.run(() => this.#take(archive, grants, by));
  }

  /** Throws APP_NOT_FOUND for an app that nobody tries. */
  forget(app: string): Promise<void> {
    return this.#turns.run(async () => {
      if (!this.#trials.delete(app)) throw new CoreError('APP_NOT_FOUND', { app });
      await this.#clear(app);
    });
  }

  /** Code that is no longer in force: called once nothing of it runs. */
  async sweep(id: string): Promise<void> {
    if (this.#newer.has(id)) return;
    const kept = this.#trials.get(id)?.hash;
    const folder = join(this.#home(id), CODE);
    for (const name of await namesIn(folder))
      if (name !== kept) await rm(join(folder, name), { recursive: true, force: true });
  }

  /** The manifest of a package; nothing of it is kept. Throws as take() does. */
  inspect(archive: Uint8Array): Promise<AppManifest> {
    return this.#turns.run(() => this.#unpacked(archive, async ({ manifest }) => manifest));
  }

  async #unpacked<T>(archive: Uint8Array, use: (found: Unpacked) => Promise<T>): Promise<T> {
    const staging = await mkdtemp(join(this.#parts.state, STAGING));
    try {
      const [file, code] = [join(staging, 'package.app'), join(staging, 'code')];
      await replaceFile(file, archive, { sync: false });
      await mkdir(code);
      const { APP_PACKAGE, filesOf, readTree, unpack } = await import('@device-core/plugin-api/inside/packages');
      await unpack(file, code, TRIAL_LIMITS, new AbortController().signal);
      const paths = await filesOf(code, TRIAL_LIMITS.files);
      const tree = await readTree(APP_PACKAGE, code, paths, TRIAL_LIMITS.bytes);
      return await use({ manifest: await this.#parts.check(join(code, MANIFEST)), code, paths, hash: tree.hash });
    } finally {
      await rm(staging, { recursive: true, force: true });
    }
  }

  #take(archive: Uint8Array, grants: readonly string[], by: string) {
    return this.#unpacked(archive, async ({ manifest: { id, version }, code, paths, hash: full }) => {
      const newer = this.#newer.get(id);
      if (newer) throw newer;
      const hash = full.slice('sha256:'.length, 'sha256:'.length + 12);
      const former = this.#trials.get(id);
      const same = former?.hash === hash && former.grants.join() === grants.join();
      if (same) return { id, hash, same };
      await makeFolder(join(this.#home(id), CODE), 0o711);
      await chmod(code, 0o755);
      if (former?.hash !== hash) await moveFolder(code, this.#folder(id, hash), paths);
      const at = this.#parts.clock.now();
      const trial: Trial = { format: FORM, hash, grants, version, by, at, boot: this.#boot, run: this.#parts.run };
      await replaceFile(join(this.#home(id), RECORD), JSON.stringify(trial));
      this.#trials.set(id, trial);
      return { id, hash, same };
    });
  }

  async #recall(id: string): Promise<void> {
    const file = join(this.#home(id), RECORD);
    const text = await readState(file);
    if (text === undefined) return;
    try {
      const trial = JSON.parse(text) as Trial;
      const newer = newerForm(file, trial.format, FORM);
      if (newer) {
        this.#newer.set(id, newer);
        return;
      }
      if (trial.boot === this.#boot && trial.run === this.#parts.run) {
        this.#trials.set(id, trial);
        return;
      }
    } catch {
      // A trial that cannot be read is over.
    }
    await this.#clear(id);
  }

  async #clear(id: string): Promise<void> {
    await rm(join(this.#home(id), RECORD), { force: true });
    await rm(join(this.#home(id), CODE), { recursive: true, force: true });
  }

  #home(id: string): string {
    return join(this.#parts.state, 'apps', id);
  }

  #folder(id: string, hash: string): string {
    return join(this.#home(id), CODE, hash);
  }
}

async function namesIn(folder: string): Promise<readonly string[]> {
  return readdir(folder).catch(() => []); // nothing was ever put there
}
