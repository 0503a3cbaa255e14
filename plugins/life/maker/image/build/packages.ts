/** Packages of an image: those that its modules name, and what these need. */
import { existsSync } from 'node:fs';
import { usage } from '@device-core/plugin-api/program';
import type { Checkout } from './checkout.ts';

/** For people and compilers. Never by a name that may be code: `doc/` of one package is. */
const LEFT_OUT = [
  /\.(d\.[cm]?ts|[cm]?ts|map|md|markdown|tsbuildinfo)$/i,
  /(^|\/)(tests?|__tests__|examples?|benchmarks?|\.github|\.bin|node_modules)$/,
  /(^|\/)\.(npmignore|gitignore|eslintrc(\.\w+)?|editorconfig|prettierrc|nycrc|travis\.yml|gitattributes)$/,
  // Sources and build files of an addon.
  /\.(h|hh|hpp|c|cc|cpp|gyp|gypi|mk|Makefile)$|(^|\/)(Makefile|obj\.target|\.deps)$/,
];

/** Paths below node_modules of what `names` need, in the order of the alphabet. */
export function packageClosure(checkout: Checkout, names: Iterable<string>): readonly string[] {
  const found = new Set<string>();
  const optional = new Set(Object.keys(checkout.package.optionalDependencies));
  for (const name of names) add(name, '', optional.has(name));
  return [...found].sort();

  function add(name: string, from: string, mayMiss: boolean): void {
    const path = placeOf(name, from);
    const entry = path === undefined ? undefined : checkout.locked[path];
    // A stand-in for a package of another machine, which nobody asks for here.
    const standsIn = mayMiss && from !== '' && entry?.name !== undefined;
    if (path === undefined || entry === undefined || standsIn) {
      if (mayMiss) return;
      throw usage(`package ${name} of ${from || 'the checkout'} is not installed`, 'run npm ci');
    }
    if (found.has(path)) return;
    found.add(path);
    const { dependencies = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = entry;
    for (const one of Object.keys({ ...dependencies, ...peerDependencies }))
      add(one, path, one in optionalDependencies || peerDependenciesMeta[one]?.optional === true);
    for (const one of Object.keys(optionalDependencies)) add(one, path, true);
  }

  /** As Node looks for it: beside whoever asks, then in every folder above. */
  function placeOf(name: string, from: string): string | undefined {
    for (let at = from; ; at = at.includes('/node_modules/') ? at.slice(0, at.lastIndexOf('/node_modules/')) : '') {
      const path = at === '' ? `node_modules/${name}` : `${at}/node_modules/${name}`;
      if (existsSync(checkout.path(path))) return path;
      if (at === '') return undefined;
    }
  }
}

/** Files of one package that a device runs; packages below it are packages of their own. */
export const packageFiles = (checkout: Checkout, path: string): readonly string[] =>
  checkout.files(path, (file) => LEFT_OUT.some((pattern) => pattern.test(file.slice(path.length))));
