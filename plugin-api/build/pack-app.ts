/** Builds the package that authors of apps install: JavaScript and types of plugin-api/app, packed into device-core-app-<version>.tgz. It needs no other package. */
import { copyFileSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { create } from 'tar';
import { compile, outputFolder } from './compile.ts';
import { API_FOLDER, ROOT, readPackageJson } from './package-json.ts';

const NAME = '@device-core/app';
const ENTRY = 'plugin-api/app/index';
/** The same library for Python goes with it, so that whoever has the package has both. */
const PYTHON = 'device_app.py';
/** The time that `npm pack` gives all files. */
const PACKED = new Date('1985-10-26T08:15:00.000Z');

/** Returns the path of the tarball, which is written into `folder`. No network is used; the same sources give the same bytes. */
export function packAppLibrary(folder: string): string {
  using output = outputFolder('app');
  const version = build(output.path);
  const file = join(folder, `device-core-app-${version}.tgz`);
  const files = globSync('**/*', { cwd: output.path, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(output.path, join(entry.parentPath, entry.name)))
    .sort();
  create({ file, cwd: output.path, gzip: true, portable: true, mtime: PACKED, prefix: 'package', sync: true }, files);
  return file;
}

/** Returns the version of the package. */
function build(dist: string): string {
  compile({ files: [`${ENTRY}.ts`], outDir: dist });
  for (const file of globSync('**/*.{js,d.ts}', { cwd: dist })) needsNothing(file, join(dist, file));
  const { version, license } = readPackageJson(API_FOLDER);
  const manifest = {
    name: NAME,
    version,
    description: 'A client library for apps of Device Core',
    license,
    type: 'module',
    engines: { node: '>=22' },
    exports: { '.': { types: `./${ENTRY}.d.ts`, default: `./${ENTRY}.js` }, [`./${PYTHON}`]: `./${PYTHON}` },
  };
  writeFileSync(join(dist, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  copyFileSync(join(ROOT, 'LICENSE'), join(dist, 'LICENSE'));
  copyFileSync(join(API_FOLDER, 'app', PYTHON), join(dist, PYTHON));
  return version;
}

/** The compiler rewrites the extensions of imports in the code, not in the types. */
function needsNothing(file: string, path: string): void {
  const text = readFileSync(path, 'utf8').replace(/((?:from |import\()['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2');
  const foreign = /(?:from |import\()['"]((?!node:)[^.'"][^'"]*)['"]/.exec(text)?.[1];
  if (foreign !== undefined) throw new Error(`cannot pack ${NAME}: ${file} imports ${foreign}`);
  writeFileSync(path, text);
}

if (import.meta.main) console.log(packAppLibrary(process.cwd()));
