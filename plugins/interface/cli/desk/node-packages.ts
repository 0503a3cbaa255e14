/** Packages that the package.json of an app needs and that its node_modules does not hold: a clone holds none before `npm install`. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A name of npm, with its scope. */
const NAME = /^(@[a-z0-9~-][a-z0-9._~-]*\/)?[a-z0-9~-][a-z0-9._~-]*$/i;

export function missingPackages(folder: string): readonly string[] {
  let written: unknown;
  try {
    written = Object(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))).dependencies;
  } catch {
    return []; // an app that is no package of Node has none; what is wrong with the file Node says at the start
  }
  if (typeof written !== 'object' || written === null) return [];
  return Object.keys(written).filter(
    (name) => NAME.test(name) && !existsSync(join(folder, 'node_modules', name, 'package.json')),
  );
}
