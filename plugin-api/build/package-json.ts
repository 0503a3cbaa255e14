/** Reads plugin-api/package.json: the one list of doors. */
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export const API_FOLDER = dirname(import.meta.dirname);
export const ROOT = dirname(API_FOLDER);
export const OWN_NAME = '@device-core/plugin-api';

export interface PackageJson {
  readonly version: string;
  /** Door -> module; no wildcards. */
  readonly exports: Readonly<Record<string, string>>;
  /** Doors for the Core's own plugins and its kernel. The packed file has none of them, and they may change in any version. */
  readonly inside: readonly string[];
  readonly dependencies: Readonly<Record<string, string>>;
  readonly [member: string]: unknown;
}

export function readPackageJson(folder: string): PackageJson {
  return JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
}

/** Doors of the packed file, with their modules relative to plugin-api. */
export function publicDoors({ exports, inside }: PackageJson): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(exports)
      .filter(([door]) => !inside.includes(door))
      .map(([door, path]) => [door, path.slice(2)]),
  );
}

/** The modules behind all doors, relative to the checkout: the compiler writes nothing for what it finds by the name of a package alone. */
export function modulesOf({ exports }: PackageJson): readonly string[] {
  return Object.values(exports).map((path) => `plugin-api/${path.slice(2)}`);
}
