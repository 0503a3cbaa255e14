/** Builds the package that plugin authors install: JavaScript and types below dist/, packed into device-core-plugin-api-<version>.tgz. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { compile, outputFolder } from './compile.ts';
import { API_FOLDER, OWN_NAME, type PackageJson, publicDoors, ROOT, readPackageJson } from './package-json.ts';

const SCHEMA = 'plugin.schema.json';
/** Modules of the kernel that the test kit starts by their paths; what they import comes with them. No export leads to it. */
const KIT = ['kernel/testing/check/main.ts', 'kernel/testing/check/start-stop.ts', 'kernel/isolation/entry.ts'];

/** Returns the path of the tarball, which is written into `folder`. No network is used. */
export function packPluginApi(folder: string): string {
  using output = outputFolder('package');
  const { path: dist } = output;
  const own = readPackageJson(API_FOLDER);
  const doors = publicDoors(own);
  compile({ files: [...[...doors.values()].map((module) => `plugin-api/${module}`), ...KIT], outDir: dist });
  connect(dist, own);
  const manifest = packageJson(dist, own, doors);
  writeFileSync(join(dist, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  copyFileSync(join(ROOT, 'LICENSE'), join(dist, 'LICENSE'));
  // Editors complete a plugin.yaml from it, and plugin-check checks by it.
  copyFileSync(join(ROOT, 'manifests/schema/plugin.json'), join(dist, SCHEMA));
  const args = ['pack', '--json', '--ignore-scripts', '--offline', '--pack-destination', folder];
  const said = execFileSync('npm', args, { cwd: dist, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  const [packed] = JSON.parse(said) as { filename: string }[];
  if (!packed) throw new Error('cannot pack plugin-api: npm named no file');
  return join(folder, packed.filename);
}

/**
 * Modules of the package find each other by path: the doors inside, which the package has not, are no names there. And
 * the compiler rewrites the extensions of imports in the code, not in the types.
 */
function connect(dist: string, { exports }: PackageJson): void {
  for (const file of globSync('**/*.{js,d.ts}', { cwd: dist })) {
    const path = join(dist, file);
    const text = readFileSync(path, 'utf8')
      .replace(/(from |import |import\()(['"])@device-core\/plugin-api(\/[^'"]*)?\2/g, (_, start, quote, door = '') => {
        const module = exports[`.${door}`];
        if (module === undefined) throw new Error(`cannot pack plugin-api: ${file} imports ${OWN_NAME}${door}`);
        const to = relative(dirname(file), join('plugin-api', module.replace(/\.ts$/, '.js')));
        return `${start}${quote}${to.startsWith('.') ? to : `./${to}`}${quote}`;
      })
      .replace(/(from '\.[^']*|import\('\.[^']*|import\("\.[^"]*)\.ts(['"])/g, '$1.js$2');
    writeFileSync(path, text);
  }
}

/** The published package.json: exports point to what was built, dependencies are exactly what the sources import. */
function packageJson(dist: string, own: PackageJson, doors: ReadonlyMap<string, string>): PackageJson {
  const { devDependencies: _, inside: __, ...members } = own;
  const versions = readPackageJson(ROOT).dependencies;
  const built = [...doors].map(([door, path]) => {
    const base = `./plugin-api/${path.replace(/\.ts$/, '')}`;
    return [door, { types: `${base}.d.ts`, default: `${base}.js` }];
  });
  const dependencies = imported(dist).map((name) => {
    const version = versions[name];
    if (!version) throw new Error(`cannot pack plugin-api: ${name} is imported, but no dependency of the root package`);
    return [name, version];
  });
  const exports = Object.fromEntries([...built, [`./${SCHEMA}`, `./${SCHEMA}`]]);
  return { ...members, exports, dependencies: Object.fromEntries(dependencies) } as unknown as PackageJson;
}

function imported(dist: string): readonly string[] {
  const names = new Set<string>();
  for (const file of globSync('**/*.{js,d.ts}', { cwd: dist })) {
    const text = readFileSync(join(dist, file), 'utf8');
    const found = /^(?:import|export) (?:[^;'"]* from )?'([@a-z][^']*)';|\bpackageLater\('([@a-z][^']*)'/gm;
    for (const [, now, later = ''] of text.matchAll(found)) {
      const name = now ?? later;
      if (name.startsWith('node:')) continue;
      names.add(name.split('/', name.startsWith('@') ? 2 : 1).join('/'));
    }
  }
  return [...names].sort();
}

if (import.meta.main) console.log(packPluginApi(process.cwd()));
