/** The walls of design/architecture.md: what may import what, how large things may grow, and what belongs where. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { dirname, join, relative, resolve } from 'node:path';
import { test } from 'node:test';
import { HOOKS, type PluginManifest } from '@device-core/plugin-api';
import { manifestProblems } from '@device-core/plugin-api/inside/manifest-check';
import { WINGS } from '@device-core/plugin-api/inside/tree';
import { checkManifest } from '@device-core/plugin-api/testing';
import { Ajv } from 'ajv';
import { parse } from 'yaml';
import { STRICT } from '../../kernel/testing/check/manifest-file.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8');
const sources = (pattern: string) =>
  globSync(pattern, { cwd: ROOT })
    .filter((file) => !/node_modules|\/dist\//.test(file))
    .sort();
const lines = (file: string) => read(file).split('\n').length - 1;
const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: ROOT,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file !== '' && existsSync(join(ROOT, file)));
const manifests = sources('manifests/plugins/*/*.yaml').map((file) => ({
  file,
  manifest: parse(read(file)) as PluginManifest,
}));

/** `manifests/plugins/<wing>/<id>.yaml` -> `plugins/<wing>/<id>`. */
const folderOf = (file: string) => file.replace(/^manifests\/(.*)\.yaml$/, '$1');

/** Specifiers of every import and export of a module, dynamic ones included. */
function imports(file: string): string[] {
  const text = read(file).replace(/\/\*[\s\S]*?\*\/|`[^`]*`/g, '');
  return [...text.matchAll(/(?:\bfrom|^import|\bimport\()\s*'([^'\\]+)'/gm)].map(([, name = '']) => name);
}

function checkImports(pattern: string, allowed: (name: string, file: string) => boolean): void {
  const refused = sources(pattern).flatMap((file) =>
    imports(file)
      .filter((name) => !allowed(name, file))
      .map((name) => `${file} imports ${name}`),
  );
  assert.deepEqual(refused, []);
}

const { dependencies, optionalDependencies } = JSON.parse(read('package.json'));
const packages = Object.keys({ ...dependencies, ...optionalDependencies });
const npm = (name: string) => packages.some((one) => name === one || name.startsWith(`${one}/`));
const builtin = (name: string) =>
  name.startsWith('node:') &&
  (builtinModules.includes(name.slice(5).split('/')[0] ?? '') || builtinModules.includes(name));
const api = (name: string) => /^@device-core\/plugin-api(\/|$)/.test(name);
const inside = (folder: string, name: string, file: string) =>
  name.startsWith('.') && !relative(join(ROOT, folder), resolve(ROOT, dirname(file), name)).startsWith('..');

interface Doors {
  readonly exports: Readonly<Record<string, string>>;
  readonly inside: readonly string[];
}

/** Of contract, services, kits, scene, app and doors; tools below `build/` are for the release alone. */
const MOST_AUTHOR_LINES = 14_000;
const UI = 'plugins/interface/web/ui';
const PAGE_LIBRARIES = new Set(['preact', 'preact/hooks', 'htm/preact', '@preact/signals']);

test('a plugin imports plugin-api, its own files, node and packages; never the kernel, another plugin or test parts', () => {
  checkImports('plugins/**/*.ts', (name, file) => {
    const own = file.split('/').slice(0, 3).join('/');
    // What the scaffold writes has its tests beside it.
    if (file.startsWith(`${UI}/`)) return true;
    const template = /^plugins\/interface\/cli\/templates\/.*(\.test|\/fakes)\.ts$/.test(file);
    if (template && /^(@device-core\/plugin-api\/testing|node:test)$/.test(name)) return true;
    if (api(name)) return !/\/(testing|plugin-check)$/.test(name);
    const shared = `${file.split('/').slice(0, 2).join('/')}/shared`;
    return builtin(name) || npm(name) || inside(own, name, file) || inside(shared, name, file);
  });
});

test('a common room of a wing imports plugin-api, itself and packages; its wing alone imports it', () => {
  checkImports('plugins/*/shared/**/*.ts', (name, file) => {
    const own = file.split('/').slice(0, 3).join('/');
    return (
      builtin(name) || npm(name) || (api(name) && !/\/(testing|plugin-check)$/.test(name)) || inside(own, name, file)
    );
  });
});

test('no contract, kit or door of authors imports plugin-api/inside', () => {
  const INSIDE = /(^|\/)inside(\/|$)/;
  checkImports('plugin-api/!(inside|build)/**/*.ts', (name) => !INSIDE.test(name));
  checkImports('plugin-api/*.ts', (name) => !INSIDE.test(name));
  const { exports, inside: doors } = JSON.parse(read('plugin-api/package.json')) as Doors;
  for (const [door, module] of Object.entries(exports))
    if (module.startsWith('./inside/')) assert.ok(doors.includes(door), `${door} is a door of authors`);
});

test('each contract of a service names its access, those of the tree lie inside, and none is a name of the index', () => {
  const index = read('plugin-api/index.ts');
  assert.doesNotMatch(index, /\.\/services\//);
  const names = [...index.matchAll(/\{([^}]*)\}/g)].flatMap(([, list = '']) =>
    list.split(',').filter((name) => name.trim()),
  );
  assert.ok(names.length <= 150, `the index of plugin-api has ${names.length} names`);
  for (const file of sources('plugin-api/{services,inside/services}/*.ts')) {
    const access = file.startsWith('plugin-api/inside/')
      ? /,\s*'tree',?\s*\);$/
      : /,\s*('open'|'powerful',\s*('[a-z][^']+'|"[a-z][^"]+")),?\s*\);$/;
    for (const [ref] of read(file).matchAll(/serviceRef<[^;]*;/g)) assert.match(ref, access, `${file}: ${ref}`);
  }
});

test('plugin-api shows its plan: at most 12 files lie at its top, and authors read a bounded contract', () => {
  assert.ok(sources('plugin-api/*').filter((file) => file.includes('.')).length <= 12);
  const authors = sources('plugin-api/**/*.ts').filter((file) => !/^plugin-api\/(inside|build)\//.test(file));
  const total = authors.reduce((sum, file) => sum + lines(file), 0);
  assert.ok(total <= MOST_AUTHOR_LINES, `plugin-api outside of inside/ has ${total} lines`);
});

test('a module of a browser imports its own files and what the import map names; of the rest of plugin-api types alone', () => {
  const shared = [...read('plugins/interface/web/files.ts').matchAll(/^ {2}'((?:kits|inside)\/[a-z-]+)',$/gm)];
  const names = new Set(shared.map(([, name]) => `@device-core/plugin-api/${name}`));
  assert.equal(names.size, 5);
  checkImports(`${UI}/**/*.ts`, (name, file) => {
    if (names.has(name)) return true;
    if (api(name)) return new RegExp(`import type [^;]*'${name}'`).test(read(file));
    return PAGE_LIBRARIES.has(name) || inside(UI, name, file);
  });
  const { exports } = JSON.parse(read('plugin-api/package.json')) as Doors;
  // Browsers have no plugin-api: a module that they share imports nothing.
  for (const name of names)
    checkImports(exports[name.replace('@device-core/plugin-api', '.')]!.replace('.', 'plugin-api'), () => false);
});

test('the bridge simulator is a program of its own: it imports nothing of its plugin, and the plugin knows its door alone', () => {
  const plugin = 'plugins/hardware/port-sim';
  checkImports(
    `${plugin}/sim/**/*.ts`,
    (name, file) => builtin(name) || npm(name) || inside(`${plugin}/sim`, name, file),
  );
  checkImports(`${plugin}/*.ts`, (name, file) => !inside(`${plugin}/sim`, name, file) || name === './sim/index.ts');
});

/** The boot loader lies beside the image with a Node of its own: no package is there, and what it takes of plugin-api imports Node alone. */
const LOADER_IMPORTS = /^\.\.\/\.\.\/plugin-api\/inside\/(image|image-folder|boot-record|boot-report|record-file)\.ts$/;

test('the modules of plugin-api that the boot loader takes import Node alone', () => {
  checkImports(
    'plugin-api/inside/{image,image-folder,boot-record,boot-report,record-file}.ts',
    (name) => builtin(name) || /^\.\/(image|boot-record|record-file)\.ts$/.test(name),
  );
});

test('the modules of plugin-api that the root helper of the slots takes import Node and those of the boot loader', () => {
  checkImports(
    'plugin-api/inside/slot-files/*.ts',
    (name, file) =>
      builtin(name) ||
      inside('plugin-api/inside/slot-files', name, file) ||
      /^\.\.\/(image-folder|record-file|image|boot-record)\.ts$/.test(name),
  );
});

test('the kernel never imports a plugin, and only the packages that it is meant to', () => {
  checkImports('kernel/**/*.ts', (name, file) => {
    const mine = /^(tapable|semver|ajv|yaml|pino)(\/|$)/.test(name);
    // prctl and waitpid, before the first guest starts: the one native call of the kernel (docs/adr/0043).
    if (name === 'koffi') return file === 'kernel/walls/subreaper.ts';
    if (file.startsWith('kernel/init/'))
      return builtin(name) || inside('kernel/init', name, file) || LOADER_IMPORTS.test(name);
    return (
      builtin(name) || mine || (api(name) && !/\/(testing|plugin-check)$/.test(name)) || inside('kernel', name, file)
    );
  });
});

test('nothing in the kernel leans on its test kit', () => {
  checkImports('kernel/**/*.ts', (name, file) => {
    const kit = file.startsWith('kernel/testing/') || !name.startsWith('.');
    return kit || !inside('kernel/testing', name, file);
  });
});

test('plugin-api imports nothing of the rest, and its contract does no I/O', () => {
  checkImports('plugin-api/**/*.ts', (name, file) => {
    const node =
      builtin(name) &&
      /^plugin-api\/(app\/|build\/|kits\/(durable\/|(panel-driver\/backlight|pixels\/png)\.ts)|inside\/(own-(names|range)\.ts|dbus\/|packages\/|slot-files\/|program\/(pause|passphrase-file)|(boot-record|held-memory|http-answer|image|netlink|lazy-package|pending-state|boot-report|record-file|image-folder|installed|plugin-settings|sku-family|socket-file|time-limit|tree)\.ts))/.test(
        file,
      );
    // The two doors to the test kit, which is the kernel over one plugin.
    if (/^plugin-api\/(testing|plugin-check)\.ts$/.test(file)) return inside('kernel/testing', name, file);
    const archive = name === 'tar' && file.startsWith('plugin-api/inside/packages/');
    return node || archive || /^(tapable|semver|ajv|yaml)(\/|$)/.test(name) || inside('plugin-api', name, file);
  });
});

test('the kernel stays small', () => {
  const count = (pattern: string) => sources(pattern).reduce((sum, file) => sum + lines(file), 0);
  const rooms = ['boot', 'isolation', 'testing', 'usage', 'init', 'walls'].map((room) =>
    count(`kernel/${room}/**/*.ts`),
  );
  const core = count('kernel/**/*.ts') - rooms.reduce((sum, room) => sum + room, 0);
  assert.ok(core <= 3_050, `lifecycle, bus, hooks and scopes have ${core} lines`);
  assert.ok(count('kernel/isolation/**/*.ts') <= 3_325, 'kernel/isolation is too long');
  assert.ok(count('kernel/init/**/*.ts') <= 560, 'kernel/init is too long');
  assert.ok(count('kernel/walls/**/*.ts') <= 1_065, 'kernel/walls is too long');
});

test('no file has more than 500 lines', () => {
  const long = sources('{kernel,plugin-api,plugins,test,docs}/**/*.ts').filter((file) => lines(file) > 500);
  assert.deepEqual(long, []);
});

test('plugin manifests and plugin folders are one to one, and each plugin has tests', () => {
  const entries = (folder: string) =>
    readdirSync(join(ROOT, folder), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
  const wings = entries('plugins');
  const plugins = (wing: string) => entries(`plugins/${wing}`).filter((name) => name !== 'shared');
  assert.deepEqual(
    wings.filter((wing) => !WINGS.some((one) => one === wing)),
    [],
    'not a wing',
  );
  assert.deepEqual(
    manifests.map(({ file }) => file.replace('manifests/', '')).sort(),
    wings.flatMap((wing) => plugins(wing).map((id) => `plugins/${wing}/${id}.yaml`)).sort(),
  );
  const ids = manifests.map(({ manifest }) => manifest.id);
  assert.deepEqual(
    ids.filter((id, index) => ids.indexOf(id) !== index),
    [],
    'two wings have a plugin of this id',
  );
  for (const { file, manifest } of manifests) {
    assert.ok(file.endsWith(`/${manifest.id}.yaml`), file);
    assert.equal(manifest.main, `../../../${folderOf(file)}/index.ts`);
    assert.ok(sources(`test/plugins/${manifest.id}/*.test.ts`).length > 0, `${manifest.id} has no tests`);
    assert.deepEqual(manifestProblems(manifest), [], file);
  }
});

test('every manifest agrees with its plugin', async () => {
  for (const { file, manifest } of manifests) {
    const { plugin } = await import(`../../${folderOf(file)}/index.ts`);
    assert.deepEqual(checkManifest(manifest, plugin), [], manifest.id);
  }
});

test('the configuration schema of every manifest is one, to the last member', () => {
  // An unquoted comma in a description of a flow map ends it, and makes a member of the rest: strict mode finds that.
  const ajv = new Ajv(STRICT);
  for (const { file, manifest } of manifests) {
    assert.doesNotThrow(() => ajv.compile(manifest.config ?? {}), file);
  }
});

test('every hook has its owner, and every hook of a manifest is used in its plugin', () => {
  for (const [hook, { owner }] of Object.entries(HOOKS)) {
    if (owner === 'kernel') continue;
    const manifest = manifests.find((one) => one.manifest.id === owner)?.manifest;
    assert.ok(manifest?.hooks?.includes(hook), `${owner} does not own ${hook}`);
  }
  for (const { file, manifest } of manifests) {
    const code = sources(`${folderOf(file)}/**/*.ts`)
      .map(read)
      .join('\n');
    for (const hook of manifest.hooks ?? [])
      assert.match(code, new RegExp(`hook\\(\\s*'${hook}'`), `${manifest.id} never asks for ${hook}`);
    for (const hook of manifest.taps ?? [])
      assert.match(code, new RegExp(`tap\\(\\s*'${hook}'`), `${manifest.id} never taps ${hook}`);
  }
});

test('plugins wait on the clock of their host: no timer of Node, no race of promises', () => {
  // Processes of their own: the simulated bridge, the command-line client and the commands that plugins give it; and what runs in a browser.
  const programs =
    /^plugins\/(hardware\/port-sim\/sim|interface\/cli|interface\/web\/ui|life\/maker|[^/]+\/[^/]+\/program)\//;
  const raw = new RegExp(
    [
      /(?<![.\w])set(Timeout|Interval)\(/, // the timeout of a socket is its own
      /\bPromise\.race\(/,
      /\bAbortSignal\.timeout\(/,
      /\bset(Timeout|Interval)\b[^}]*\} from 'node:timers/,
    ]
      .map(({ source }) => source)
      .join('|'),
  );
  const waiting = sources('plugins/**/*.ts').filter((file) => {
    const code = read(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
    return !programs.test(file) && raw.test(code);
  });
  assert.deepEqual(waiting, [], 'use scope.timeout, scope.interval, scope.within, scope.until or host.clock');
});

test('state is written by the one durable writer', () => {
  const raw = new RegExp(
    [
      /\b(writeFile|writeFileSync|appendFileSync|createWriteStream|rename|renameSync|fsync|fsyncSync|copyFile|copyFileSync|writeSync|truncate)\(/,
      /\bopen(Sync)?\([^)]*['"](w|a|wx|ax|r\+|w\+|a\+)['"]/,
    ]
      .map(({ source }) => source)
      .join('|'),
  );
  const reasons: readonly (readonly [RegExp, string])[] = [
    [/^plugin-api\/kits\/durable\//, 'the writer itself'],
    [/^(kernel\/testing|plugin-api\/build|docs)\//, 'it runs on the desk of a developer'],
    [/^kernel\/init\//, 'the boot loader writes its record in place, in turn, and is on its own (docs/adr/0122)'],
    [
      /^plugin-api\/inside\/((record-file|boot-report|image-folder)\.ts|slot-files\/)/,
      'root writes slots and their record, in its own order (docs/adr/0126)',
    ],
    [/^kernel\/boot\/log-(file|archive)\.ts$/, 'the log is written at once and never throws'],
    [/^kernel\/boot\/instance\.ts$/, 'core.pid is for people, and written before anything is loaded'],
    [
      /^plugins\/(interface\/cli|life\/maker|[^/]+\/[^/]+\/program)\//,
      'a command writes what its user asks for where he asks for it',
    ],
    [
      /^plugins\/hardware\/port-sim\/sim\/flash\.ts$/,
      'the memory of a simulated chip is written in place, as the chip does',
    ],
    [
      /^plugins\/hardware\/port-sim\/sim\/kept-board\.ts$/,
      'a copy that may be lost, told by its hash; the simulator imports nothing of the Core',
    ],
    [
      /^plugins\/apps\/plugin-store\/staging\.ts$/,
      'files of a package that is not yet there: moveFolder() makes them durable',
    ],
    [
      /^plugins\/interface\/http\/raw-body\.ts$/,
      'what a client sends, until its operation takes it or the request is over',
    ],
    [
      /^plugins\/apps\/app-store\/(code|data)\.ts$/,
      'folders of an app are sealed, or copied by their handles, and on the disk before they get their name',
    ],
    [
      /^plugins\/life\/updater\/(copy-part|download)\.ts$/,
      'a blob on its way: it is synced, and gets its name when it holds what its name says',
    ],
    [
      /^plugins\/life\/updater\/uploads\.ts$/,
      'an archive on its way: nothing goes by it before it is handed over, and then it is synced',
    ],
    [
      /^plugins\/voice\/(stt-pocketsphinx\/decoder|sherpa\/wake)\.ts$/,
      'a list for an engine, in a temporary folder that is gone after the call',
    ],
    [
      /^plugin-api\/kits\/panel-driver\/backlight\.ts$|^plugins\/display\/panel-(fbdev|drm)\/node\.ts$/,
      'nodes of the kernel: what is written is light',
    ],
    [/^plugins\/hardware\/shared\/host\/(native|poll-thread)\.ts$/, 'descriptors of the kernel: a frame, a wake'],
    [
      /^plugin-api\/inside\/pending-state\.ts$/,
      'what is thrown away or put in its place at a start, before anything of it is open',
    ],
    [
      /^plugins\/life\/backup\/(archive|backups|restoring|writer)\.ts$/,
      'a backup on its way out, or laid out until it is checked whole',
    ],
    [
      /^plugins\/life\/backup\/program\/backup\.ts$/,
      'the file of somebody at a terminal: synced, and named when it is whole',
    ],
    [/^plugins\/state\/outbox\/database\.ts$/, 'SQLite writes its own file; a new one is synced, and then named'],
    [/^plugins\/life\/systemd\/ready-descriptor\.ts$/, 'the pipe of a boot loader that runs the Core'],
    [/^plugins\/apps\/supervisor-process\/task-group\.ts$/, 'control groups are in the memory of the system'],
    [/^plugin-api\/inside\/netlink\.ts$/, 'a pipe in the place of the kernel, which is read and never written'],
  ];
  const writing = sources('{kernel,plugin-api,plugins}/**/*.ts').filter((file) => {
    const code = read(file).replace(/\/\*[\s\S]*?\*\/|\/\/.*/g, '');
    return raw.test(code) && !reasons.some(([pattern]) => pattern.test(file));
  });
  assert.deepEqual(
    writing,
    [],
    'use replaceFile, appendFile, moveFolder or setAside of @device-core/plugin-api/durable',
  );
  // The launcher below <run> belongs to the Core, whatever wing it is in.
  assert.doesNotMatch(read('plugins/interface/cli/launcher.ts'), raw);
});

test('plugins read no environment of their own', () => {
  // The command-line client is a program of its own beside its plugin. What systemd and the boot loader say to a service they say in the environment alone.
  const reading = sources('plugins/**/*.ts').filter(
    (file) =>
      !/^plugins\/(interface\/cli\/|life\/maker\/|life\/(boot|systemd)\/index|state\/secrets\/index)/.test(file) &&
      /process\.env\b/.test(read(file)),
  );
  assert.deepEqual(reading, []);
});

test('nothing stands outside the layout', () => {
  const allowed =
    /^(\.changes|\.ci|\.github|docs|kernel|manifests|plugin-api|plugins|systemd|test)\/|^(\.[^/]+|(README|CHANGELOG|CONTRIBUTING|SECURITY|VERSIONING)\.md|LICENSE|(package|package-lock|tsconfig|biome)\.json)$/;
  assert.deepEqual(
    tracked.filter((file) => !allowed.test(file)),
    [],
  );
});

test('no file names a place of the machine it was made on, and no lock file names where packages were fetched', () => {
  const places = [process.env.HOME, '/work/', '/home/'].filter(
    (one): one is string => one !== undefined && one.length > 2,
  );
  const texts = tracked.filter(
    (file) => /\.(ts|json|ya?ml|md|py|js|sh)$/.test(file) && file !== relative(ROOT, import.meta.filename),
  );
  // A folder of the repository may be called like one of the machine: plugins/display/home.
  const naming = texts.filter((file) =>
    places.some((place) => new RegExp(`(?<![\\w.])${place.replace(/\/$/, '')}/`).test(read(file))),
  );
  assert.deepEqual(naming, []);
  for (const file of tracked.filter((one) => one.endsWith('package-lock.json'))) {
    assert.doesNotMatch(read(file), /"resolved": "http/, file);
  }
});

test('no loose ends are left in the code', () => {
  const marks = new RegExp(['TO' + 'DO', 'FIX' + 'ME', 'XX' + 'X'].map((mark) => `\\b${mark}\\b`).join('|'));
  assert.deepEqual(
    sources('{kernel,plugin-api,plugins,test,docs}/**/*.ts').filter((file) => marks.test(read(file))),
    [],
  );
});

test('no limit and no deadline counts the time of day: it jumps when a person sets it', () => {
  const sums = /deadline[^\n]*\bDate\.now|\bDate\.now\(\) \+|-\s*Date\.now\(\) *[<>]/i;
  const found = sources('{kernel,plugin-api,plugins}/**/*.ts')
    .filter((file) => !/\/program\/|\/testing\//.test(file))
    .flatMap((file) =>
      read(file)
        .split('\n')
        .flatMap((line, index) => (sums.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [])),
    );
  // For people alone: until when a plugin is on probation.
  assert.deepEqual(
    found.filter((line) => !line.includes('endsAt: Date.now() + this.#ms')),
    [],
  );
});
