/** Listeners for changes of settings, each of which sees them as one app does, or as the device. */
import type { Logger } from '@device-core/plugin-api';
import type { ConfigChange, ConfigEntry, ConfigLayer, ConfigScope } from '@device-core/plugin-api/services/config';
import { rank } from './layers.ts';

interface Watch {
  readonly app: string | undefined;
  readonly listener: (change: ConfigChange) => void;
}

export class Watches {
  readonly #watches = new Set<Watch>();
  readonly #effective: (app: string | undefined, key: string) => ConfigEntry | undefined;
  readonly #log: Logger;

  constructor(effective: (app: string | undefined, key: string) => ConfigEntry | undefined, log: Logger) {
    this.#effective = effective;
    this.#log = log;
  }

  add(app: string | undefined, listener: (change: ConfigChange) => void): Disposable {
    const watch = { app, listener };
    this.#watches.add(watch);
    return { [Symbol.dispose]: () => void this.#watches.delete(watch) };
  }

  /** Tells everyone who sees a layer that keys of it changed, except where a higher layer hides them. */
  changed(keys: readonly string[], source: ConfigLayer, app: string | undefined): void {
    for (const watch of this.#watches) {
      if (app !== undefined && watch.app !== app) continue;
      for (const key of keys) {
        const entry = this.#effective(watch.app, key);
        if (entry && rank(entry.source) > rank(source)) continue;
        const { value, revision } = entry ?? { value: null, revision: 0 };
        this.#tell(watch, { scope: scopeOf(watch.app), key, value, source: entry?.source ?? source, revision });
      }
    }
  }

  #tell(watch: Watch, change: ConfigChange): void {
    try {
      watch.listener(change);
    } catch (error) {
      this.#log.error({ key: change.key, err: error }, 'a watcher of the configuration failed');
    }
  }
}

function scopeOf(app: string | undefined): ConfigScope {
  return app === undefined ? {} : { app };
}
