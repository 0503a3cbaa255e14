/** Keys described for the device and all apps at once, by prefix: their values are checked, and their defaults stand below every layer. */

import { CoreError, nearest, reasonOf } from '@device-core/plugin-api';
import type { Config } from '@device-core/plugin-api/services/config';
import { AppSchema } from './app-schema.ts';
import { checkKey, isBelow } from './keys.ts';
import { fitsPlainly } from './plain-schema.ts';
import type { SchemaKey } from './schema-keys.ts';

type Keys = Parameters<Config['describe']>[1];

interface Prefix {
  /** Compiled when a value is not plainly well. */
  readonly schema: () => AppSchema;
  readonly defaults: ReadonlyMap<string, unknown>;
  readonly keys: ReadonlyMap<string, SchemaKey>;
  /** Cached faults of values, for each look at a setting; emptied with the description. */
  readonly said: Map<string, string | undefined>;
}

const MOST_SAID = 1024;

export class Described {
  readonly #prefixes = new Map<string, Prefix>();

  /** Describes the keys of a prefix; returns the token for `delete`. Throws CONFIG_KEY_INVALID, PARAMS_INVALID. */
  set(prefix: string, given: Keys): object {
    checkKey(prefix);
    if (prefix.includes('.') || prefix === 'plugins')
      throw new CoreError('PARAMS_INVALID', { where: 'prefix', reason: 'it is one segment, and not plugins' });
    const keys = new Map<string, SchemaKey>();
    const defaults = new Map<string, unknown>();
    let plain = true;
    for (const [name, { schema, default: value }] of Object.entries(given)) {
      const key = `${prefix}.${name}`;
      checkKey(key);
      keys.set(key, { name: key, schema, secret: false });
      if (value !== undefined) defaults.set(key, value);
      plain &&= fitsPlainly(schema, value);
    }
    let compiled: AppSchema | undefined;
    const compile = (): AppSchema => {
      const properties = Object.fromEntries([...keys].map(([key, { schema }]) => [key, schema]));
      const whole = { type: 'object', additionalProperties: false, properties };
      return new AppSchema(prefix, { schema: whole, defaults: Object.fromEntries(defaults) }, prefix);
    };
    if (!plain) compiled = compile();
    const schema = () => {
      compiled ??= compile();
      return compiled;
    };
    const of = { schema, defaults: compiled?.defaults ?? defaults, keys, said: new Map() };
    this.#prefixes.set(prefix, of);
    return of;
  }

  /** Removes a description, unless a newer one has replaced it. */
  delete(prefix: string, token: object): void {
    if (this.#prefixes.get(prefix) === token) this.#prefixes.delete(prefix);
  }

  /** The description of one key, if there is one. */
  key(key: string): SchemaKey | undefined {
    return this.#of(key)?.keys.get(key);
  }

  /** All keys below the described prefixes. */
  keys(): readonly string[] {
    return [...this.#prefixes.values()].flatMap(({ keys }) => [...keys.keys()]);
  }

  /** The default of a described key. */
  default(key: string): { readonly value: unknown; readonly revision: 0 } | undefined {
    const defaults = this.#of(key)?.defaults;
    return defaults?.has(key) ? { value: defaults.get(key), revision: 0 } : undefined;
  }

  /** True if the key's prefix is described. */
  owns(key: string): boolean {
    return this.#of(key) !== undefined;
  }

  /** Reason why a value does not fit this key; undefined also for keys without a description. */
  fault(key: string, value: unknown): string | undefined {
    const of = this.#of(key);
    if (!of) return undefined;
    const described = of.keys.get(key);
    if (!described) {
      const near = nearest(key, of.keys.keys());
      return `there is no ${key}${near === undefined ? '' : `; did you mean ${near}?`}`;
    }
    if (fitsPlainly(described.schema, value)) return undefined;
    const asked = `${key}=${JSON.stringify(value)}`;
    if (of.said.has(asked)) return of.said.get(asked);
    const reason = this.#ask(of, key, value);
    if (of.said.size >= MOST_SAID) of.said.clear();
    of.said.set(asked, reason);
    return reason;
  }

  place(key: string, value: unknown): string {
    return this.#of(key)?.schema().place(key, value) ?? '';
  }

  #ask({ schema }: Prefix, key: string, value: unknown): string | undefined {
    try {
      return schema().fault(key, value);
    } catch (error) {
      return reasonOf(error);
    }
  }

  #of(key: string): Prefix | undefined {
    for (const [prefix, of] of this.#prefixes) if (isBelow(key, prefix)) return of;
    return undefined;
  }
}
