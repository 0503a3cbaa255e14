/** The real titles of apps: what the Core knows of them, never what an event says. */

import type { Scope } from '@device-core/plugin-api';
import type { AppStatus, Apps } from '@device-core/plugin-api/services/apps';

/** States of an app without processes and without a start to come. */
const GONE: readonly AppStatus['state'][] = ['stopped', 'failed', 'quarantined'];

export class AppTitles {
  readonly #titles = new Map<string, string>();
  readonly #gone: (app: string) => void;

  constructor(gone: (app: string) => void) {
    this.#gone = gone;
  }

  async follow(apps: Apps, scope: Scope): Promise<void> {
    const learn = ({ id, title, state }: AppStatus) => {
      this.#titles.set(id, title);
      if (GONE.includes(state)) this.#gone(id);
    };
    scope.use('titles of apps', apps.onChange(learn));
    for (const { id, title } of await apps.list()) this.#titles.set(id, title);
  }

  /** Title of an app; an unknown app is called by its id. */
  of(app: string | undefined): string | undefined {
    return app === undefined ? undefined : (this.#titles.get(app) ?? app);
  }
}
