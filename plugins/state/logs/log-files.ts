import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CoreError } from '@device-core/plugin-api';
import type { Apps } from '@device-core/plugin-api/services/apps';

const NAME = /^[a-z][a-z0-9-]{0,39}$/;

/** A file of one log: the log itself or an old one, with its name after packing. */
export interface LogPart {
  readonly path: string;
  readonly packed?: string;
}

/** Old files of a log: `core.7.log`, packed `core.7.zst`; `<file>.1` of an app or an older Core. The newest first. */
export async function putAside(file: string): Promise<readonly LogPart[]> {
  const folder = dirname(file);
  const stem = basename(file).replace(/\.log$/, '');
  const names = await readdir(folder).catch(() => []);
  const numbers = new Set<number>();
  for (const name of names) {
    const [, digits] =
      (name.startsWith(`${stem}.`) && /^(\d{1,12})\.(?:log|zst)$/.exec(name.slice(stem.length + 1))) || [];
    if (digits !== undefined) numbers.add(Number(digits));
  }
  const part = (number: number): LogPart => ({
    path: join(folder, `${stem}.${number}.log`),
    packed: join(folder, `${stem}.${number}.zst`),
  });
  return [...[...numbers].sort((a, b) => b - a).map(part), { path: `${file}.1` }];
}

/** Finder of log files. */
export class LogFiles {
  readonly #core: string;
  readonly #folder: string;
  /** Set while the apps plugin runs: knows the name of an app by its id. */
  apps: Apps | undefined;

  constructor(folder: string, core = join(folder, 'core.log')) {
    this.#core = core;
    this.#folder = folder;
  }

  get core(): string {
    return this.#core;
  }

  get folder(): string {
    return this.#folder;
  }

  /** The log of the Core, or of an app by its id or its name. Throws APP_NOT_FOUND. */
  async of(app: string | undefined): Promise<string> {
    if (app === undefined) return this.#core;
    const known = await this.apps?.list();
    const name = known?.find(({ id, name }) => id === app || name === app)?.name ?? app;
    // Without the apps plugin, or after the app was removed, its name still finds the file.
    if (!NAME.test(name)) throw new CoreError('APP_NOT_FOUND', { app });
    return join(this.#folder, 'apps', `${name}.log`);
  }
}
