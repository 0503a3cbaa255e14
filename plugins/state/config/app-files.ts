/** Files of overrides, one for each installed app, which are opened with their first use. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { checkApp, isAppId } from './keys.ts';
import type { StateFile } from './state-file.ts';

export const CONFIG_FILE = 'config.yaml';

export class AppFiles {
  /** Files that are open, by app. */
  readonly opened = new Map<string, StateFile>();
  readonly #opening = new Map<string, Promise<StateFile>>();
  readonly #folder: string;
  readonly #open: (path: string, app: string) => Promise<StateFile>;
  readonly #came: (app: string, file: StateFile) => void;

  constructor(
    folder: string,
    open: (path: string, app: string) => Promise<StateFile>,
    came: (app: string, file: StateFile) => void,
  ) {
    this.#folder = folder;
    this.#open = open;
    this.#came = came;
  }

  pathOf(app: string): string {
    return join(this.#folder, app, CONFIG_FILE);
  }

  open(app: string): Promise<StateFile> {
    const known = this.#opening.get(app);
    if (known) return known;
    checkApp(app);
    const opening = this.#open(this.pathOf(app), app);
    this.#opening.set(app, opening);
    opening.then(
      (file) => {
        this.opened.set(app, file);
        this.#came(app, file);
      },
      () => this.#opening.delete(app),
    );
    return opening;
  }

  /** Has the app a folder? */
  has(app: string): Promise<boolean> {
    return stat(join(this.#folder, app)).then(
      (found) => found.isDirectory(),
      () => false,
    );
  }

  /** Apps that have a folder. */
  async installed(): Promise<readonly string[]> {
    try {
      const entries = await readdir(this.#folder, { withFileTypes: true });
      return entries.filter((entry) => entry.isDirectory() && isAppId(entry.name)).map((entry) => entry.name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw error;
    }
  }
}
