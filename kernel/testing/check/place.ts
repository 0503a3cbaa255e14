import { existsSync, globSync, statSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';

/** Places of the parts of a plugin. */
export interface Place {
  readonly folder: string;
  readonly manifest: string;
  /** Module with `services` and `config` to start it with, where there is one. */
  readonly fakes: string | undefined;
  readonly tests: readonly string[];
  /** Root of the checkout, for a plugin of the tree. */
  readonly checkout: string | undefined;
}

/** A folder with a plugin.yaml, or `plugins/<wing>/<id>` of a checkout. Undefined where there is neither. */
export function placeOf(path: string): Place | undefined {
  const folder = resolve(path);
  const own = join(folder, 'plugin.yaml');
  if (existsSync(own)) return { folder, manifest: own, checkout: undefined, ...testsIn(folder) };
  const id = basename(folder);
  const checkout = dirname(dirname(dirname(folder)));
  const manifest = join(checkout, 'manifests/plugins', basename(dirname(folder)), `${id}.yaml`);
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory() || !existsSync(manifest)) return undefined;
  return { folder, manifest, checkout, ...testsIn(join(checkout, 'test/plugins', id)) };
}

/** A file for people: relative to where they stand, unless that is further away. */
export function shown(file: string): string {
  const near = relative(process.cwd(), file);
  return near.startsWith('..') ? file : near;
}

function testsIn(folder: string): Pick<Place, 'tests' | 'fakes'> {
  const found = globSync('**/*.test.{ts,js,mjs}', { cwd: folder, exclude: (name) => name === 'node_modules' });
  const fakes = join(folder, 'fakes.ts');
  return { tests: found.sort().map((name) => join(folder, name)), fakes: existsSync(fakes) ? fakes : undefined };
}
