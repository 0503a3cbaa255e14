/** Builds the package that authors of apps install: JavaScript and types of plugin-api/app, packed into device-core-app-<version>.tgz. It needs no other package. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile, outputFolder } from './compile.ts';
import { API_FOLDER, ROOT, readPackageJson } from './package-json.ts';

const NAME = '@device-core/app';
const ENTRY = 'plugin-api/app/index';
/** The same library for Python goes with it, so that whoever has the package has both. */
const PYTHON = 'device_app.py';

/** Returns the path of the tarball, which is written into `folder`. No network is used; the same sources give the same bytes. */
export function packAppLibrary(folder: string): string {
  using output = outputFolder('app');
  build(output.path);
  const args = ['pack', '--json', '--ignore-scripts', '--offline', '--pack-destination', folder];
  const said = execFileSync('npm', args, { cwd: output.path, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const [packed] = JSON.parse(said) as { filename: string }[];
  if (!packed) throw new Error(`cannot pack ${NAME}: npm named no file`);
  return join(folder, packed.filename);
}

/** The package as a folder, for a new app. */
export function placeAppLibrary(folder: string): void {
  using output = outputFolder('app');
  build(output.path);
  cpSync(output.path, folder, { recursive: true });
}

function build(dist: string): void {
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
}

/** The compiler rewrites the extensions of imports in the code, not in the types. */
function needsNothing(file: string, path: string): void {
  const text = readFileSync(path, 'utf8').replace(/((?:from |import\()['"]\.[^'"]*)\.ts(['"])/g, '$1.js$2');
  const foreign = /(?:from |import\()['"]((?!node:)[^.'"][^'"]*)['"]/.exec(text)?.[1];
  if (foreign !== undefined) throw new Error(`cannot pack ${NAME}: ${file} imports ${foreign}`);
  writeFileSync(path, text);
}

if (import.meta.main) {
  const [verb, folder] = process.argv.slice(2);
  if (verb === 'place' && folder !== undefined) placeAppLibrary(folder);
  else console.log(packAppLibrary(process.cwd()));
}
