/** Builds the package that plugin authors install: JavaScript and types below dist/, packed into device-core-plugin-api-<version>.tgz. */
import { execFileSync } from 'node:child_process';
import { copyFileSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const HERE = import.meta.dirname;
const ROOT = dirname(HERE);
/** Of this process alone: two may pack at the same time. */
const DIST = join(HERE, 'dist', String(process.pid));
const OWN = '@device-core/plugin-api';
const SCHEMA = 'plugin.schema.json';
/** Modules of the kernel that the test kit starts by their paths; what they import comes with them. No export leads to it. */
const KIT = ['kernel/testing/check/main.ts', 'kernel/testing/check/start-stop.ts', 'kernel/isolation/entry.ts'];

interface PackageJson {
  readonly version: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly [member: string]: unknown;
}

/** Resolves with the path of the tarball, which is written into `folder`. No network is used. */
export function packPluginApi(folder: string): string {
  rmSync(DIST, { recursive: true, force: true });
  try {
    compile();
    const manifest = packageJson();
    writeFileSync(join(DIST, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    copyFileSync(join(ROOT, 'LICENSE'), join(DIST, 'LICENSE'));
    // Editors complete a plugin.yaml from it, and plugin-check checks by it.
    copyFileSync(join(ROOT, 'manifests/schema/plugin.json'), join(DIST, SCHEMA));
    const args = ['pack', '--json', '--ignore-scripts', '--offline', '--pack-destination', folder];
    const output = execFileSync('npm', args, { cwd: DIST, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
    const [packed] = JSON.parse(output) as { filename: string }[];
    if (!packed) throw new Error('cannot pack plugin-api: npm named no file');
    return join(folder, packed.filename);
  } finally {
    rmSync(DIST, { recursive: true, force: true });
  }
}

function compile(): void {
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      ...{ noEmit: false, declaration: true, rewriteRelativeImportExtensions: true, allowImportingTsExtensions: false },
      ...{ rootDir: ROOT, outDir: DIST, types: ['node'] },
    },
    include: [join(HERE, '**/*.ts')],
    files: KIT.map((file) => join(ROOT, file)),
    exclude: [join(HERE, 'dist'), join(HERE, 'pack.ts')],
  };
  mkdirSync(DIST, { recursive: true });
  writeFileSync(join(DIST, 'tsconfig.json'), JSON.stringify(config));
  execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', DIST], { stdio: 'inherit' });
  rmSync(join(DIST, 'tsconfig.json'));
  // The compiler rewrites the extensions of imports in the code, not in the types.
  for (const file of globSync('**/*.d.ts', { cwd: DIST })) {
    const path = join(DIST, file);
    writeFileSync(
      path,
      readFileSync(path, 'utf8').replace(/(from '\.[^']*|import\('\.[^']*|import\("\.[^"]*)\.ts(['"])/g, '$1.js$2'),
    );
  }
}

/** The published package.json: exports point to what was built, dependencies are exactly what the sources import. */
function packageJson(): PackageJson {
  const { devDependencies: _, exports, ...own } = read(join(HERE, 'package.json'));
  const versions = read(join(ROOT, 'package.json')).dependencies;
  const built = Object.entries(exports).map(([name, path]) => {
    const base = path.replace(/^\.\/(.*)\.ts$/, './plugin-api/$1');
    return [name, { types: `${base}.d.ts`, default: `${base}.js` }];
  });
  const dependencies = imported().map((name) => {
    const version = versions[name];
    if (!version) throw new Error(`cannot pack plugin-api: ${name} is imported, but no dependency of the root package`);
    return [name, version];
  });
  const all = [...built, [`./${SCHEMA}`, `./${SCHEMA}`]];
  return { ...own, exports: Object.fromEntries(all), dependencies: Object.fromEntries(dependencies) };
}

function imported(): readonly string[] {
  const names = new Set<string>();
  for (const file of globSync('**/*.{js,d.ts}', { cwd: DIST })) {
    const text = readFileSync(join(DIST, file), 'utf8');
    for (const [, name = ''] of text.matchAll(/^(?:import|export) (?:[^;'"]* from )?'([@a-z][^']*)';/gm)) {
      if (name.startsWith('node:') || name.startsWith(OWN)) continue;
      names.add(name.split('/', name.startsWith('@') ? 2 : 1).join('/'));
    }
  }
  return [...names].sort();
}

function read(file: string): PackageJson {
  return JSON.parse(readFileSync(file, 'utf8'));
}

if (import.meta.main) console.log(packPluginApi(process.cwd()));
