/** What a file of the repository imports, itself and through others: enough to know which suites a change touches. */
import { readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';

const API = '@device-core/plugin-api';
const QUOTED = /['"`]([^'"`\s]+)['"`]/g;
const direct = new Map<string, readonly string[]>();
const closures = new Map<string, ReadonlySet<string>>();

/** The file and all that it imports, relative to the root; packages other than plugin-api are left out. */
export function closure(root: string, file: string): ReadonlySet<string> {
  const known = closures.get(file);
  if (known !== undefined) return known;
  const seen = new Set<string>([file]);
  for (const one of seen) for (const other of importsOf(root, one)) seen.add(other);
  closures.set(file, seen);
  return seen;
}

/** A file in any string counts, imported, started as a process or only named: rather a suite too many. */
function importsOf(root: string, file: string): readonly string[] {
  const known = direct.get(file);
  if (known !== undefined) return known;
  const source = file.endsWith('.ts') ? readFileSync(join(root, file), 'utf8') : '';
  const found = new Set<string>();
  for (const [, name] of source.matchAll(QUOTED))
    for (const target of targetsOf(root, file, name!))
      if (!target.startsWith('..') && isFile(join(root, target))) found.add(target);
  direct.set(file, [...found]);
  return direct.get(file)!;
}

function targetsOf(root: string, file: string, name: string): readonly string[] {
  const api = apiFile(root, name);
  if (api !== undefined) return [api];
  return name.endsWith('.ts') ? [normalize(join(dirname(file), name)), normalize(name)] : [];
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function apiFile(root: string, name: string): string | undefined {
  if (name !== API && !name.startsWith(`${API}/`)) return undefined;
  const { exports } = JSON.parse(readFileSync(join(root, 'plugin-api/package.json'), 'utf8'));
  const door = name === API ? '.' : `.${name.slice(API.length)}`;
  const path: unknown = exports[door] ?? exports[`${dirname(door)}/*`]?.replace('*', basename(door));
  return typeof path === 'string' ? normalize(join('plugin-api', path)) : undefined;
}
