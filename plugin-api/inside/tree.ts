/** Places of a checkout's plugins: `manifests/plugins/<wing>/<id>.yaml` and `plugins/<wing>/<id>/`. */
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';

/** The wings of the house, in the order in which they are shown (design/architecture.md). */
export const WINGS = ['interface', 'state', 'apps', 'hardware', 'display', 'voice', 'life', 'cloud'] as const;
export type Wing = (typeof WINGS)[number];

/** Plugin id -> path of its manifest, for every plugin below `checkout`, sorted by id. Reads folder names only. */
export function treeManifests(checkout: string): ReadonlyMap<string, string> {
  const place = join(checkout, 'manifests/plugins');
  const files = WINGS.map((wing) => join(place, wing))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)));
  const found = files.filter((file) => file.endsWith('.yaml')).map((file) => [basename(file, '.yaml'), file] as const);
  return new Map(found.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Plugin of a SKU line that has another name: an earlier one, or one that stands for some of its settings (docs/adr/0181). */
export interface Alias {
  readonly plugin: string;
  /** Settings that the line brings; those that it writes go over them. */
  readonly config: Readonly<Record<string, unknown>>;
}

const known = new Map<string, ReadonlyMap<string, Alias>>();

/** Aliases of a checkout, by the id of the line. The plugin runs under this id: what was stored for it is found. */
export function treeAliases(checkout: string): ReadonlyMap<string, Alias> {
  let aliases = known.get(checkout);
  if (!aliases) {
    const file = join(checkout, 'manifests/aliases.json');
    const said = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
    aliases = new Map(Object.entries(said as Readonly<Record<string, Alias>>));
    known.set(checkout, aliases);
  }
  return aliases;
}

/** Path of the manifest of a plugin of the tree, by its id or an alias. */
export function manifestInTree(
  checkout: string,
  id: string,
  manifests: ReadonlyMap<string, string> = treeManifests(checkout),
): string | undefined {
  return manifests.get(id) ?? manifests.get(treeAliases(checkout).get(id)?.plugin ?? '');
}
