/** Modules of an image are JavaScript: types off by Node itself, and every name of a module says `.js`. */
import { stripTypeScriptTypes } from 'node:module';
import { posix } from 'node:path';

const { dirname, join } = posix;

/** `from './x.ts'`, `import './x.ts'`, `import('./x.ts')`. */
const IMPORT = /((?:\bfrom|\bimport)\s*\(?\s*)(['"])(\.{1,2}\/[^'"\n]*)\2/g;
/** `new URL('x.ts', import.meta.url)`: a module that is started, or a file that is read. */
const ADDRESS = /(\bnew URL\(\s*)(['"])([^'"\n]+)\2(?=\s*,\s*import\.meta\.url\s*\))/g;
const COMMENT = /\/\*[\s\S]*?\*\/|(?<=^|\s)\/\/.*$/gm;

export const jsName = (path: string): string => path.replace(/\.ts$/, '.js');

/** Lines and columns stay where they are: an error of a device is found in the source. Throws SyntaxError. */
export function javascriptOf(source: string): string {
  return renamed(withoutTypes(source));
}

/** The names in a text that is JavaScript already. */
export function renamed(source: string): string {
  const rename = (_: string, before: string, quote: string, name: string): string =>
    `${before}${quote}${jsName(name)}${quote}`;
  return source.replace(IMPORT, rename).replace(ADDRESS, rename);
}

/** Files beside it that a module names, as paths from where `path` starts. */
export function namedBy(path: string, source: string): readonly string[] {
  const code = source.replace(COMMENT, '');
  const found = [...code.matchAll(IMPORT), ...code.matchAll(ADDRESS)].map(([, , , name]) => name!);
  // Folders may be made later.
  const files = found.filter((name) => !name.includes(':') && /[^/.]\.\w+$/.test(name));
  return files.map((name) => join(dirname(path), name));
}

/** Those of the packages that a module names in a string of its code, whatever it does with the name. */
export function packagesIn(source: string, packages: readonly string[]): readonly string[] {
  const named = new Set(source.replace(COMMENT, '').match(STRING)?.map(packageOf));
  return packages.filter((name) => named.has(name));
}

const STRING = /(['"`])[@\w][^'"`\s]*\1/g;
/** `'@scope/name/file'` -> `@scope/name` */
const packageOf = (text: string): string => /^(@[^/]+\/)?[^/]+/.exec(text.slice(1, -1))?.[0] ?? '';

function withoutTypes(source: string): string {
  // That it is experimental in this Node a test watches; who builds an image can do nothing about it.
  const warn = process.emitWarning;
  process.emitWarning = () => undefined;
  try {
    return stripTypeScriptTypes(source, { mode: 'strip' });
  } finally {
    process.emitWarning = warn;
  }
}
