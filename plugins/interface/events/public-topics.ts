/** Topics that apps open to every identified app: `events.public` of their manifests. */

import { CoreError, type Logger, parseFilter, reasonOf, type Scope } from '@device-core/plugin-api';
import type { Apps } from '@device-core/plugin-api/services/apps';
import type { Segments } from './filter-algebra.ts';

export class PublicTopics {
  readonly #log: Logger;
  readonly #apps = new Map<string, readonly Segments[]>();
  /** Called when something was opened or closed. */
  changed: () => void = () => undefined;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Every app that is known, with its open topics. */
  get apps(): ReadonlyMap<string, readonly Segments[]> {
    return this.#apps;
  }

  /** Resolves when the manifests that are there now were read. */
  async follow(apps: Apps, scope: Scope): Promise<void> {
    scope.use(
      'changes of apps',
      apps.onChange(({ id }) => void this.#read(apps, id)),
    );
    await Promise.all((await apps.list()).map(({ id }) => this.#read(apps, id)));
  }

  async #read(apps: Apps, id: string): Promise<void> {
    const before = this.#apps.get(id);
    let topics: readonly Segments[] | undefined;
    try {
      topics = ((await apps.manifest(id)).events?.public ?? []).map(parseFilter);
    } catch (thrown) {
      if (!(thrown instanceof CoreError && thrown.code === 'APP_NOT_FOUND'))
        this.#log.warn({ app: id, reason: reasonOf(thrown) }, 'cannot read the public topics of an app');
    }
    if (topics) this.#apps.set(id, topics);
    else this.#apps.delete(id);
    if (String(before) !== String(topics)) this.changed();
  }
}
