import { join } from 'node:path';
import { type Apps, CoreError } from '@device-core/plugin-api';

const NAME = /^[a-z][a-z0-9-]{0,39}$/;

/** Which files there are. The Core and the apps plugin put a full file aside as `<file>.1`. */
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
