/** The one way to write settings: changes of plugins' sections are tried with the Core first. */
import type { Caller } from '@device-core/plugin-api';
import { callerName } from '@device-core/plugin-api';
import type { Sessions } from '@device-core/plugin-api/inside/services/sessions';
import type { Config, ConfigEntry, ConfigScope } from '@device-core/plugin-api/services/config';
import { isBelow } from './keys.ts';
import { PLUGINS, type PluginSections } from './plugin-sections.ts';
import type { Held } from './state-file.ts';
import type { ConfigStore } from './store.ts';

interface Options {
  readonly by: string;
  readonly ifRevision?: number;
}

export class Writer {
  readonly #store: ConfigStore;
  readonly #sections: PluginSections;
  #sessions: Pick<Sessions, 'list'> | undefined;

  constructor(store: ConfigStore, sections: PluginSections) {
    this.#store = store;
    this.#sections = sections;
  }

  /** While the service is there: then browsers have names. */
  name(sessions: Pick<Sessions, 'list'> | undefined): void {
    this.#sessions = sessions;
  }

  /** `operator (Firefox on Linux)` for a browser: the brackets keep its name from passing for another caller. */
  async who(caller: Caller): Promise<string> {
    const { signedIn } = caller;
    if (signedIn === undefined) return callerName(caller);
    const known = (await this.#sessions?.list().catch(() => []))?.find(({ id }) => id === signedIn.id);
    return `operator (${known?.name ?? 'a browser'})`;
  }

  readonly set: Config['set'] = (scope, key, value, options) =>
    this.#write(scope, key, value, () => this.#store.set(scope, key, value, options));

  reset(scope: ConfigScope, key: string, options: Options): Promise<Held | undefined> {
    return this.#write(scope, key, null, () => this.#store.reset(scope, key, options));
  }

  #write<T>(scope: ConfigScope, key: string, value: unknown, write: () => Promise<T>): Promise<T> {
    if (scope.app !== undefined || typeof key !== 'string' || !isBelow(key, PLUGINS)) return write();
    const { lock, layers } = this.#store.layersOf(undefined, key);
    // The store reports the reason; a trial with the Core is not needed.
    if (lock || (value !== null && this.#sections.fault(key, value) !== undefined)) return write();
    const former = layers.find(({ writable }) => writable);
    // A removed value uncovers the one of the layer below.
    const below = layers.find(({ writable }) => !writable);
    const wanted = (entries: readonly ConfigEntry[]) => {
      const others = entries.filter((entry) => entry.key !== key);
      if (value !== null) return [...others, { key, value }];
      return below === undefined ? others : [...others, { key, value: below.value }];
    };
    const undo = () => this.#store.set({}, key, former?.value ?? null, { by: former?.setBy ?? 'operator' });
    return this.#sections.change(key, wanted, write, undo);
  }
}
