/** Flags as keys `flags.<name>` of the configuration: it holds the values, checks them and tells of changes. */

import { FOR_USER, type Logger, maybe, type ServesEachUser, type ServiceUser } from '@device-core/plugin-api';
import { unknownFlag } from '@device-core/plugin-api/flag-declaration';
import type { Config, ConfigEntry, ConfigScope } from '@device-core/plugin-api/services/config';
import type { Flags, FlagTold } from '@device-core/plugin-api/services/flags';
import type { Declared } from './declared.ts';

export const PREFIX = 'flags';

/** Watchers of one plugin: it cannot take those of others. */
const MOST_WATCHES = 64;

interface Watch {
  readonly plugin: string;
  readonly name: string;
  readonly listener: (value: unknown) => void;
}

export interface Parts {
  readonly config: Pick<Config, 'list' | 'set'>;
  readonly log: Logger;
  readonly changed: (flag: Pick<FlagTold, 'name' | 'value'> & { readonly source: 'device' | 'default' }) => void;
}

export class FlagValues implements Flags, ServesEachUser<Flags> {
  readonly #parts: Parts;
  readonly #watches = new Set<Watch>();
  #declared: ReadonlyMap<string, Declared> = new Map();
  /** Values that were reported last, by name. */
  #told = new Map<string, FlagTold>();
  #turn: Promise<void> = Promise.resolve();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  [FOR_USER]({ plugin }: Pick<ServiceUser, 'plugin'>): Flags {
    return {
      get: (name, scope) => this.get(name, scope),
      list: (scope) => this.list(scope),
      watch: (name, listener) => this.watch(name, listener, plugin),
    };
  }

  /** From now on these are the flags, and the configuration knows of them. */
  declare(declared: ReadonlyMap<string, Declared>): Promise<void> {
    this.#declared = declared;
    return this.refresh();
  }

  async get(name: string, scope: ConfigScope = {}): Promise<unknown> {
    return (await this.one(name, scope)).value;
  }

  async one(name: string, scope: ConfigScope = {}): Promise<FlagTold> {
    const declared = this.#of(name);
    const entries = await this.#parts.config.list(scope, `${PREFIX}.${name}`);
    return told(name, declared, entries);
  }

  async list(scope: ConfigScope = {}): Promise<readonly FlagTold[]> {
    const entries = await this.#parts.config.list(scope, PREFIX);
    const names = [...this.#declared.keys()].toSorted();
    const byKey = new Map(entries.map((entry) => [entry.key, [entry]]));
    return names.map((name) => told(name, this.#declared.get(name)!, byKey.get(`${PREFIX}.${name}`) ?? []));
  }

  /** `null` gives it back to the layers below. Throws FLAG_UNKNOWN, CONFIG_VALUE_INVALID, CONFIG_LOCKED and what else writing does. */
  async set(name: string, value: unknown, scope: ConfigScope, by: string): Promise<FlagTold> {
    this.#of(name);
    await this.#parts.config.set(scope, `${PREFIX}.${name}`, value, { by });
    return this.one(name, scope);
  }

  async watch(name: string, listener: (value: unknown) => void, plugin = ''): Promise<Disposable> {
    this.#of(name);
    const own = [...this.#watches].filter((one) => one.plugin === plugin);
    // The end of a plugin is not reported: the oldest watch gives way, which is one of an earlier run.
    if (own.length >= MOST_WATCHES) {
      this.#watches.delete(own[0]!);
      this.#parts.log.warn({ plugin }, `it has ${MOST_WATCHES} watchers of flags: the oldest is dropped`);
    }
    const watch = { plugin, name, listener };
    // The watch is listed before the read: a change in between is reported, at worst twice.
    this.#watches.add(watch);
    try {
      this.#tell(watch, await this.get(name));
    } catch (error) {
      this.#watches.delete(watch);
      throw error;
    }
    return { [Symbol.dispose]: () => void this.#watches.delete(watch) };
  }

  /** Something may be another value now: tells what is. One look at a time; what comes meanwhile is seen by the next. */
  refresh(): Promise<void> {
    const turn = this.#turn.then(() => this.#compare());
    this.#turn = turn.catch((error) => this.#parts.log.warn({ err: error }, 'cannot read the flags'));
    return turn;
  }

  async #compare(): Promise<void> {
    const former = this.#told;
    const now = new Map((await this.list()).map((flag) => [flag.name, flag]));
    this.#told = now;
    for (const { name, value, source } of now.values()) {
      const before = former.get(name);
      if (before && before.value === value && before.source === source) continue;
      // The first value of a flag is no change.
      if (before && source !== 'app') this.#parts.changed({ name, value, source });
      if (before?.value === value) continue;
      for (const watch of this.#watches) if (before && watch.name === name) this.#tell(watch, value);
    }
  }

  #of(name: string): Declared {
    const declared = typeof name === 'string' ? this.#declared.get(name) : undefined;
    if (declared) return declared;
    throw unknownFlag(String(name), this.#declared.keys());
  }

  #tell({ name, listener }: Watch, value: unknown): void {
    try {
      listener(value);
    } catch (error) {
      this.#parts.log.error({ flag: name, err: error }, 'a watcher of a flag failed');
    }
  }
}

/** Its own default stands in where the configuration does not answer for it. */
function told(
  name: string,
  { description, declaredBy, schema, default: value }: Declared,
  [entry]: readonly ConfigEntry[],
): FlagTold {
  const { setBy, setAt } = entry ?? {};
  return {
    name,
    value: entry ? entry.value : value,
    source: entry?.source ?? 'default',
    description,
    schema,
    declaredBy,
    ...maybe({ setBy, setAt }),
  };
}
