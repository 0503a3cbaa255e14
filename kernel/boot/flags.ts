/** Check of the feature flags of a SKU and of its plugins: a name has one declarer, and a default fits its declaration. */

import type { SkuManifest } from '@device-core/plugin-api';
import { flagFault } from '@device-core/plugin-api/flag-declaration';
import { isObject } from '@device-core/plugin-api/inside/schema-reader';
import type { SkuPlace } from '@device-core/plugin-api/inside/sku-family';
import type { YamlPath } from '@device-core/plugin-api/inside/yaml';
import type { FlagDeclaration } from '@device-core/plugin-api/services/flags';
import type { PluginEntry } from '../resolved.ts';
import { shown } from './manifests.ts';

type Report = (place: SkuPlace, path: YamlPath, message: string, plugin: string) => void;
type Declarations = Readonly<Record<string, FlagDeclaration>>;

/** The plugin that has the SKU's flags in its configuration. */
const FLAGS = 'flags';
const IN_SKU: YamlPath = ['plugins', FLAGS, 'config', 'flags'];

/** A plugin that is switched on. */
interface Declarer {
  readonly entry: PluginEntry;
  /** Its manifest. */
  readonly place: SkuPlace;
  readonly installed: boolean;
}

export function checkFlags(
  sku: SkuPlace & { readonly value: Pick<SkuManifest, 'plugins'> },
  declarers: readonly Declarer[],
  report: Report,
): void {
  // Line numbers are looked up only for a fault: they need the parser of YAML, which most starts do not load.
  const first = new Map<string, () => string>();
  const line = sku.value.plugins[FLAGS];
  const own: unknown = typeof line === 'object' ? line.config?.flags : undefined;
  for (const [name, declared] of Object.entries(isObject(own) ? own : {})) {
    const path = [...IN_SKU, name];
    // The schema of the plugin checks the rest.
    const fault = isObject(declared) ? flagFault(name, declared as unknown as FlagDeclaration) : undefined;
    const at = [...path, ...(fault?.path ?? [])];
    if (fault) report(sku, at, fault.message, FLAGS);
    first.set(name, () => `the SKU (${placed(sku, path)})`);
  }
  // Installed plugins come after those of the SKU.
  for (const { entry, place } of declarers.toSorted((a, b) => Number(a.installed) - Number(b.installed)))
    for (const name of Object.keys((entry.manifest.flags ?? {}) as Declarations)) {
      const path = [FLAGS, name];
      const other = first.get(name);
      if (other === undefined) first.set(name, () => `plugin ${entry.id} (${placed(place, path)})`);
      else report(place, path, `plugin ${entry.id} declares flag ${name}, and so does ${other()}`, entry.id);
    }
}

function placed(place: SkuPlace, path: YamlPath): string {
  const { file, line } = place.at(path);
  return `${shown(file)}:${line}`;
}
