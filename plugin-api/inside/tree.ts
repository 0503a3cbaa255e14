/** Places of a checkout's plugins: `manifests/plugins/<wing>/<id>.yaml` and `plugins/<wing>/<id>/`. */
import { existsSync, readdirSync } from 'node:fs';
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
