/** Service `secrets` as each plugin sees it: its own scope, and what its own configuration names. */
import {
  CoreError,
  FOR_USER,
  isSecretRef,
  type Logger,
  Secret,
  type SecretRef,
  type ServesEachUser,
  type ServiceUser,
} from '@device-core/plugin-api';
import type { Secrets, SecretTold } from '@device-core/plugin-api/services/secrets';
import { checkName, notFound, partsOf, type SecretKey, SHARED } from './names.ts';
import type { References } from './references.ts';
import type { Kept, SecretStore } from './store.ts';

/** Listeners of one plugin. Nobody says when a plugin ended: the oldest gives way, which is that of an earlier run. */
const MOST_LISTENERS = 64;

export class SecretViews implements ServesEachUser<Secrets> {
  readonly #store: SecretStore;
  readonly #references: References;
  readonly #log: Logger;
  readonly #listeners = new Map<string, Set<Disposable>>();

  constructor(store: SecretStore, references: References, log: Logger) {
    this.#log = log;
    this.#store = store;
    this.#references = references;
  }

  [FOR_USER](user: ServiceUser): Secrets {
    const store = this.#store;
    const own = `plugin.${user.plugin}`;
    this.#references.forget();
    return {
      get: (name) => this.#get(user.plugin, name),
      set: async (name, text) => void (await store.set(own, name, text, own)),
      delete: (name) => store.delete(own, name, own),
      list: () => this.#list(user.plugin),
      onChange: async (listener) => {
        const told = user.measured('event', listener);
        const failed = () => user.failed('event');
        return this.#listens(user.plugin, (key) => {
          const { scope, name } = partsOf(key);
          const tell = () => Promise.resolve(told(name) as unknown).catch(failed); // one in a process answers later
          if (scope === own) void tell();
          else if (scope === SHARED)
            void this.#references.of(user.plugin).then((names) => (names.has(name) ? tell() : undefined), failed);
        });
      },
    };
  }

  #listens(plugin: string, listener: (key: SecretKey) => void): Disposable {
    const own = this.#listeners.get(plugin) ?? new Set();
    this.#listeners.set(plugin, own);
    const [oldest] = own;
    if (oldest && own.size >= MOST_LISTENERS) {
      oldest[Symbol.dispose]();
      this.#log.warn({ plugin }, `it has ${MOST_LISTENERS} listeners of secrets: the oldest is dropped`);
    }
    const listening = this.#store.onChange(listener);
    const one: Disposable = {
      [Symbol.dispose]: () => {
        listening[Symbol.dispose]();
        own.delete(one);
        if (own.size === 0 && this.#listeners.get(plugin) === own) this.#listeners.delete(plugin);
      },
    };
    own.add(one);
    this.#listeners.set(plugin, own);
    return one;
  }

  async #get(plugin: string, asked: string | SecretRef): Promise<Secret> {
    const store = this.#store;
    const own = `plugin.${plugin}`;
    const name = isSecretRef(asked) ? asked.secret : asked;
    checkName(name);
    await store.open();
    if (asked !== name) {
      if (!(await this.#references.of(plugin)).has(name)) {
        const reason = 'its configuration does not refer to it';
        throw new CoreError('SECRET_DENIED', { caller: own, name, reason });
      }
      if (!store.has(own, name)) {
        if (!store.has(SHARED, name)) throw notFound(SHARED, name);
        return new Secret(name, () => store.reveal(SHARED, name));
      }
    } else if (!store.has(own, name)) throw notFound(own, name);
    return new Secret(name, () => store.reveal(own, name));
  }

  async #list(plugin: string): Promise<readonly SecretTold[]> {
    const own = this.#store.list(`plugin.${plugin}`);
    const mine = new Set(own.map(({ name }) => name));
    const names = await this.#references.of(plugin);
    const shared = this.#store.list(SHARED).filter(({ name }) => names.has(name) && !mine.has(name));
    return [...own, ...shared].map(told);
  }
}

function told({ scope: _scope, ...rest }: Kept): SecretTold {
  return rest;
}
