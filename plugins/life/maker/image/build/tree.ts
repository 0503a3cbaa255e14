/** A small tree of modules that needs nothing else: the boot loader with the helpers of root, which lie beside the slots. */
import { existsSync } from 'node:fs';
import { EXIT, Failure } from '@device-core/plugin-api/program';
import type { Content } from '../list.ts';
import type { Checkout } from './checkout.ts';
import { API_FOLDER } from './contents.ts';
import { javascriptOf, jsName, namedBy, packagesIn } from './modules.ts';
import { runtime } from './runtime.ts';

/** Programs of the loader's tree. */
export const LOADER_ENTRIES = [
  'kernel/init/main.ts',
  'systemd/helpers/slots/main.ts',
  'systemd/helpers/warden/main.ts',
];

const DOOR = /(?:\bfrom|\bimport)\s*\(?\s*['"]@device-core\/plugin-api(\/[^'"\n]+)?['"]/g;

/** The entries with everything that they import, as JavaScript, and the runtime. Throws a Failure for a package: there is none. */
export function loaderTree(checkout: Checkout, entries: readonly string[] = LOADER_ENTRIES): Map<string, Content> {
  const { exports } = JSON.parse(checkout.text('plugin-api/package.json')) as { exports: Record<string, string> };
  const packages = Object.keys({ ...checkout.package.dependencies, ...checkout.package.optionalDependencies });
  const contents = new Map<string, Content>();
  const doors: Record<string, string> = {};
  const put = (path: string, text: string): void => {
    const bytes = Buffer.from(text);
    contents.set(path, { mode: 0o644, bytes: () => bytes });
  };
  const add = (path: string): void => {
    if (contents.has(path)) return;
    const code = javascriptOf(checkout.text(sourceOf(path, checkout)));
    put(path, code);
    for (const [, door = ''] of code.matchAll(DOOR)) {
      const file = exports[`.${door}`];
      if (file === undefined) throw refused(path, `plugin-api has no door ${door}`);
      doors[`.${door}`] = jsName(file);
      add(`${API_FOLDER}/${jsName(file.slice(2))}`);
    }
    const [needed] = packagesIn(code, packages).filter((name) => name !== '@device-core/plugin-api');
    if (needed !== undefined) throw refused(path, `it needs package ${needed}, and beside the slots there is none`);
    for (const name of namedBy(path, code)) add(name);
  };
  for (const entry of entries) add(jsName(entry));
  const { version } = checkout.package;
  put('package.json', `${JSON.stringify({ name: 'device-core-loader', version, private: true, type: 'module' })}\n`);
  if (Object.keys(doors).length > 0)
    put(
      `${API_FOLDER}/package.json`,
      `${JSON.stringify({ name: '@device-core/plugin-api', type: 'module', exports: doors })}\n`,
    );
  contents.set('bin/node', runtime(checkout.node));
  return contents;
}

function sourceOf(path: string, checkout: Checkout): string {
  const place = path.startsWith(`${API_FOLDER}/`) ? `plugin-api/${path.slice(API_FOLDER.length + 1)}` : path;
  const typed = place.replace(/\.js$/, '.ts');
  if (existsSync(checkout.path(typed))) return typed;
  if (existsSync(checkout.path(place))) return place;
  throw refused(path, 'there is no such module');
}

const refused = (path: string, reason: string): Failure =>
  new Failure(EXIT.answered, 'SYSTEM_IMAGE_INVALID', `the loader cannot be built: ${path}: ${reason}`);
