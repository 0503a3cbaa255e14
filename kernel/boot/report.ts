/** The resolved SKU for tools that do not run it: `check FILE --json`. All paths are absolute. */
import { dirname, resolve } from 'node:path';
import { API_VERSION, type SkuManifest } from '@device-core/plugin-api';
import type { SkuFamily } from '@device-core/plugin-api/inside/sku-family';
import { manifestInTree, treeManifests } from '@device-core/plugin-api/inside/tree';
import type { YamlPath } from '@device-core/plugin-api/inside/yaml';
import { CORE_VERSION } from '../composition.ts';
import { KERNEL_SERVICES, type PluginEntry, type Resolved } from '../resolved.ts';
import { manifestOf } from './sku-line.ts';

const CHECKOUT = resolve(import.meta.dirname, '../..');

/** The report is empty if the SKU could not be read. */
export function reportOf({ source, plugins }: Resolved): { readonly resolved?: object } {
  if (!source) return {};
  const { value, files, removed } = source;
  const { plugins: lines, ...rest } = value;
  const manifests = treeManifests(CHECKOUT);
  return {
    resolved: {
      file: source.file,
      files,
      checkout: CHECKOUT,
      core: CORE_VERSION,
      api: API_VERSION,
      node: process.versions.node,
      services: KERNEL_SERVICES,
      sku: { ...rest, plugins: lines },
      set: placesOf(source, rest, []),
      removed: [...removed].map(([id, at]) => ({ id, ...at() })),
      plugins: plugins.map((entry) => pluginOf(entry, source, manifests)),
    },
  };
}

function pluginOf(entry: PluginEntry, source: SkuFamily, manifests: ReadonlyMap<string, string>): object {
  const { id, manifest, main, tree, isolation, share, budget, essential, enabled, config } = entry;
  const { version, summary, provides = {}, requires = {}, optional = {}, capabilities = [] } = manifest;
  const said = lineOf(source.value, id);
  const path = typeof said === 'object' ? said.path : undefined;
  const file =
    path === undefined ? manifestInTree(CHECKOUT, id, manifests) : manifestOf(resolve(dirname(source.file), path));
  return {
    id,
    version,
    summary,
    file,
    main,
    tree,
    isolation,
    ...(share && { share: share.name }),
    essential,
    enabled,
    provides,
    requires,
    optional,
    capabilities,
    budget,
    config,
    /** The line that lists it, and the line of each value that the family sets. */
    at: source.at(['plugins', id]),
    set: placesOf(source, said, ['plugins', id]),
  };
}

const lineOf = ({ plugins }: SkuManifest, id: string) => {
  const line = plugins[id] ?? '*';
  return typeof line === 'string' ? { version: line } : line;
};

/** File and line of each value below a map, by its path in the map; a list is one value. */
function placesOf(source: SkuFamily, map: object, above: YamlPath): readonly object[] {
  const walk = (value: unknown, path: YamlPath): readonly object[] => {
    const members = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.entries(value) : [];
    if (members.length === 0 && path.length > 0) return [{ path, ...source.at([...above, ...path]) }];
    return members.flatMap(([key, one]) => walk(one, [...path, key]));
  };
  return walk(map, []);
}
