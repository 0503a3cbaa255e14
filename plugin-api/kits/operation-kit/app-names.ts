import type { Scope } from '../../index.ts';
import type { Apps } from '../../services/apps.ts';

/** For operations that take an app: people write its short name, the registries know its id. */
export class AppNames {
  #apps: Pick<Apps, 'status'> | undefined;

  /** While the service is there: `host.when(apps, (service, scope) => names.follow(service, scope))`. */
  follow(apps: Pick<Apps, 'status'>, scope: Scope): void {
    this.#apps = apps;
    scope.defer('names of apps', () => {
      this.#apps = undefined;
    });
  }

  /**
   * The id of an app by its id or its name; what is not known stays as it is, for the one who asks to refuse. A name
   * has no dot, an id has one.
   */
  async idOf(app: string): Promise<string> {
    if (app.includes('.') || !this.#apps) return app;
    const known = await this.#apps.status(app).catch(() => undefined);
    return known?.id ?? app;
  }
}
