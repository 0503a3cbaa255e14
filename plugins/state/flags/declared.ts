/** Declarers of flags. Pure. */

import { flagFault, flagSchema, MOST_FLAGS } from '@device-core/plugin-api/flag-declaration';
import type { PluginSettings } from '@device-core/plugin-api/inside/services/plugin-manager';
import type { FlagDeclaration } from '@device-core/plugin-api/services/flags';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';

export interface Declared {
  readonly declaredBy: string;
  readonly description: string;
  readonly default: FlagDeclaration['default'];
  readonly schema: JsonSchema;
}

type Declarations = Readonly<Record<string, FlagDeclaration>>;

/**
 * The SKU comes first, then plugins by their id. The check of a SKU refuses most faults before: a flag that was declared twice all the same
 * keeps its first declarer, and a flag over the limit is left out.
 */
export function collect(
  sku: Declarations,
  plugins: readonly Pick<PluginSettings, 'flags' | 'id'>[],
): { readonly flags: ReadonlyMap<string, Declared>; readonly problems: readonly string[] } {
  const flags = new Map<string, Declared>();
  const problems: string[] = [];
  const sources: readonly (readonly [string, Declarations])[] = [
    ['sku', sku],
    ...plugins.map((one) => [`plugin.${one.id}`, one.flags ?? {}] as const),
  ];
  for (const [declaredBy, declarations] of sources)
    for (const [name, declared] of Object.entries(declarations)) {
      const fault = flagFault(name, declared);
      const first = flags.get(name);
      if (fault) problems.push(`${declaredBy}: ${fault.message}; it is left out`);
      else if (first) problems.push(`flag ${name} is of ${first.declaredBy}; ${declaredBy} declares it as well`);
      else if (flags.size >= MOST_FLAGS)
        problems.push(`flag ${name} of ${declaredBy} is left out: a device has at most ${MOST_FLAGS}`);
      else {
        const { description, default: value } = declared;
        flags.set(name, { declaredBy, description, default: value, schema: flagSchema(declared) as JsonSchema });
      }
    }
  return { flags, problems };
}
