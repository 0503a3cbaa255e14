import type { JsonSchema } from '../contract/json-schema.ts';
import { serviceRef } from '../contract/service-ref.ts';

export type ConfigLayer = 'app' | 'device' | 'default';

export interface ConfigEntry {
  readonly key: string;
  readonly value: unknown;
  readonly source: ConfigLayer;
  /** Grows with each change of the layer file that the value comes from; 0 for defaults. */
  readonly revision: number;
  /** Writer of the value (`operator`, `app.<id>`, `file`) and time (milliseconds since the Unix epoch), where known. */
  readonly setBy?: string;
  readonly setAt?: number;
}

/** View of the values: an app sees its overrides over device state over defaults; without `app` the device's own two layers. */
export interface ConfigScope {
  readonly app?: string;
}

export interface ConfigChange {
  readonly scope: ConfigScope;
  readonly key: string;
  readonly value: unknown;
  readonly source: ConfigLayer;
  readonly revision: number;
}

/** Three layers of settings (decisions D7): app overrides, device state, system defaults. */
export interface Config {
  /** Throws CONFIG_KEY_INVALID, CONFIG_KEY_NOT_FOUND. */
  get(scope: ConfigScope, key: string): Promise<ConfigEntry>;
  /** Every effective entry of the scope, sorted by key; with `prefix` that key and those below it. Throws CONFIG_KEY_INVALID. */
  list(scope: ConfigScope, prefix?: string): Promise<readonly ConfigEntry[]>;
  /**
   * `null` unsets. Durable when it resolves. Throws CONFIG_KEY_INVALID, CONFIG_VALUE_INVALID, CONFIG_CONFLICT,
   * CONFIG_LOCKED, QUEUE_FULL (too many writes wait), STATE_UNWRITABLE.
   */
  set(
    scope: ConfigScope,
    key: string,
    value: unknown,
    options: { readonly by: string; readonly ifRevision?: number },
  ): Promise<ConfigEntry>;
  /** Calls `listener` after each change that the scope sees, files edited by hand included. */
  watch(scope: ConfigScope, listener: (change: ConfigChange) => void): Disposable;
  /** Takes the schema and defaults of an app's manifest: values are checked, defaults stand below every layer. Throws PARAMS_INVALID. */
  describeApp(app: string, described: { readonly schema?: JsonSchema; readonly defaults?: object }): Promise<void>;
  /**
   * Describes all keys below a prefix of one segment, in the device as well as in every app: values are checked, undescribed keys are
   * refused, and defaults stand below every layer. A later description replaces the former. Throws CONFIG_KEY_INVALID, PARAMS_INVALID.
   */
  describe(prefix: string, keys: Readonly<Record<string, DescribedKey>>): Promise<Disposable>;
}

/** A key below a prefix, by the rest of its name. */
export interface DescribedKey {
  readonly schema: JsonSchema;
  readonly default?: unknown;
}

export const config = serviceRef<Config>(
  'config',
  '1.1.0',
  'powerful',
  'reads and changes settings of the device and of apps',
);
