/**
 * Builds the package that authors of apps install: JavaScript and types of plugin-api/app, packed into
 * device-core-app-<version>.tgz. It needs no other package.
 */
import { copyFileSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packApp } from '../inside/packages/index.ts';
import { compile, outputFolder } from './compile.ts';
import { API_FOLDER, ROOT, readPackageJson } from './package-json.ts';

const NAME = '@device-core/app';
const ENTRY = 'plugin-api/app/index';
/** The same library for Python goes with it, so that whoever has the package has both. */
const PYTHON = 'device_app.py';
const LIMITS = { files: 1_000, bytes: 4 << 20 } as const;

/** Returns the path of the tarball, which is written into `folder`. No network is used; the same sources give the same bytes. */
export async function packAppLibrary(folder: string): Promise<string> {
  using output = outputFolder('app');
  const version = build(output.path);
  const file = join(folder, `device-core-app-${version}.tgz`);
  const { bytes } = await packApp(output.path, { top: 'package', limits: LIMITS });
  writeFileSync(file, bytes);
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

if (import.meta.main) console.log(await packAppLibrary(process.cwd()));
