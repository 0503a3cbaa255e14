/** Feature flags: values by name with a schema in the SKU or in the manifest of a plugin, over the three layers of the configuration. */
import type { FlagDeclaration } from '../contract/flag-declaration.ts';
import type { JsonSchema } from '../contract/json-schema.ts';
import { serviceRef } from '../contract/service-ref.ts';
import type { ConfigScope } from './config.ts';

export type { FlagDeclaration };

export interface FlagTold {
  readonly name: string;
  readonly value: unknown;
  /** `app` in the view of an app only. */
  readonly source: 'app' | 'device' | 'default';
  readonly description: string;
  /** JSON Schema of its values; with its default. */
  readonly schema: JsonSchema;
  /** `sku` or `plugin.<id>`. */
  readonly declaredBy: string;
  readonly setBy?: string;
  /** Milliseconds since the Unix epoch. */
  readonly setAt?: number;
}

/** Without a scope: as the device sees them. Of an app: its overrides over the rest. */
export interface Flags {
  /** Throws FLAG_UNKNOWN for one that nobody declared. */
  get(name: string, scope?: ConfigScope): Promise<unknown>;
  list(scope?: ConfigScope): Promise<readonly FlagTold[]>;
  /** Called with the value now, and after each change of what the device sees. Throws FLAG_UNKNOWN. */
  watch(name: string, listener: (value: unknown) => void): Promise<Disposable>;
}

export const flags = serviceRef<Flags>('flags', '1.0.0', 'open');
