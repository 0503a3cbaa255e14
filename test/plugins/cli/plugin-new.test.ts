/** Costs processes: it runs the tests of each scaffold, as an author does. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { KIND_NAMES, KINDS } from '../../../plugins/interface/cli/scaffold/kinds.ts';
import { devicectlProcess as devicectl } from './run-devicectl.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const run = promisify(execFile);
const { NODE_TEST_CONTEXT: _, ...environment } = process.env;

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'dc-new-'));
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'));
});
after(() => rm(folder, { recursive: true, force: true }));

const begin = (id: string, ...args: string[]) =>
  devicectl(['plugin', 'new', id, ...(args.includes('--dir') ? [] : ['--dir', join(folder, id)]), ...args]);

describe('a plugin of every kind', () => {
  for (const kind of KIND_NAMES)
    test(kind, async () => {
      const id = `a-new-${kind}`;
      const ended = await begin(id, '--kind', kind, '--author', 'Ada', '--json');
      assert.equal(ended.code, 0, ended.stderr);
      const { files, next } = JSON.parse(ended.stdout);
      const home = join(folder, id);
      assert.deepEqual(files.toSorted(), (await readdir(home)).sort());
      for (const name of [
        '.gitignore',
        '.npmrc',
        'README.md',
        'index.ts',
        'package.json',
        'plugin.yaml',
        'tsconfig.json',
      ])
        assert.ok(files.includes(name), name);
      assert.deepEqual(next, [`cd ${home}`, 'npm test', 'devicectl plugin check .']);
      const texts = await Promise.all(files.map((name: string) => readFile(join(home, name), 'utf8')));
      assert.doesNotMatch(`${files.join()}${texts.join()}`, /plugin-id|pluginId|PluginId/);
      assert.equal(JSON.parse(await readFile(join(home, 'package.json'), 'utf8')).author, 'Ada');
      assert.equal(parse(await readFile(join(home, 'plugin.yaml'), 'utf8')).id, id);
      const readme = await readFile(join(home, 'README.md'), 'utf8');
      assert.equal(/`devicectl a-new-operation greet Ada`/.test(readme), kind === 'operation');
      await run(process.execPath, ['--test', join(home, `${id}.test.ts`)], { env: environment });
      const { problems } = await checkSku(join(home, 'sku.yaml'));
      assert.equal(problems, 'no problems found\n');
    });
});

/** What the Core says of a SKU without running it. */
async function checkSku(file: string): Promise<{ problems: string }> {
  const ended = await run(process.execPath, [join(ROOT, 'kernel/main.ts'), 'check', file]).catch((error) => error);
  return { problems: ended.code ? `${ended.stdout}${ended.stderr}` : 'no problems found\n' };
}

describe('refused orders', () => {
  const cases: readonly (readonly [args: readonly string[], stderr: RegExp])[] = [
    [['x', '--kind', 'ears'], /--kind must be one of service, driver, operation, events, stt, tts, stream, not "ears"/],
    [['x'], /--kind is missing: service, driver/],
    [['Big', '--kind', 'service'], /"Big" is not a plugin id: 1 to 40 small letters/],
    [['1st', '--kind', 'service'], /"1st" is not a plugin id/],
    [['a'.repeat(41), '--kind', 'service'], /is not a plugin id/],
    [['spi', '--kind', 'driver'], /there is a plugin spi in the Core already/],
    [['kernel', '--kind', 'service'], /kernel is a name that the Core uses itself/],
    [['device', '--kind', 'service'], /device is the id of a service of plugin-api/],
    [['x', '--kind', 'service', '--author', 'a\nb'], /--author must be one line of text/],
    [['x', '--kind', 'service', '--api', '/nonexistent.tgz'], /there is no file \/nonexistent.tgz/],
    [['x', '--kind', 'service', '--in-tree', '--author', 'Ada'], /--in-tree goes without --dir, --author and --api/],
  ];
  for (const [args, stderr] of cases)
    test(args.join(' '), async () => {
      const ended = await devicectl(['plugin', 'new', ...args]);
      assert.match(ended.stderr, stderr);
      assert.equal(ended.code, 2);
      assert.ok(!existsSync('x'));
    });

  test('a folder that is not empty', async () => {
    const taken = join(folder, 'taken');
    await mkdir(taken);
    await writeFile(join(taken, 'precious'), '');
    const ended = await begin('fresh', '--kind', 'service', '--dir', taken);
    assert.match(ended.stderr, /taken exists and is not empty/);
    assert.deepEqual(await readdir(taken), ['precious']);
  });

  test('a file where the folder should be', async () => {
    await writeFile(join(folder, 'file'), '');
    const ended = await begin('fresh', '--kind', 'service', '--dir', join(folder, 'file'));
    assert.match(ended.stderr, /file exists and is not empty/);
    assert.equal(ended.code, 2);
  });
});

test('where plugin-api is out of reach the next step says how to get it, and --api writes it down', async () => {
  const away = await mkdtemp(join(tmpdir(), 'dc-away-'));
  try {
    const plain = await begin('alpha', '--kind', 'service', '--dir', join(away, 'alpha'));
    assert.match(plain.stdout, /^ {2}npm install --save-dev <file that "npm run pack:api" wrote/m);
    await writeFile(join(away, 'api.tgz'), '');
    const pinned = await begin(
      'beta',
      '--kind',
      'service',
      '--dir',
      join(away, 'beta'),
      '--api',
      join(away, 'api.tgz'),
    );
    assert.match(pinned.stdout, /^ {2}npm install$/m);
    const { devDependencies } = JSON.parse(await readFile(join(away, 'beta/package.json'), 'utf8'));
    assert.equal(devDependencies['@device-core/plugin-api'], 'file:../api.tgz');
  } finally {
    await rm(away, { recursive: true });
  }
});

describe('in the tree', () => {
  let checkout: string;
  before(async () => {
    checkout = join(folder, 'checkout');
    for (const own of ['plugins', 'manifests/plugins', 'test/plugins'])
      await mkdir(join(checkout, own), { recursive: true });
    for (const link of ['node_modules', 'plugin-api', 'manifests/schema', 'tsconfig.json', 'biome.json'])
      await symlink(join(ROOT, link), join(checkout, link));
  });
  const inside = (...args: string[]) =>
    run(
      process.execPath,
      [join(ROOT, 'plugins/interface/cli/program/devicectl.ts'), 'plugin', 'new', ...args, '--in-tree'],
      {
        cwd: join(checkout, 'plugins'),
        env: environment,
      },
    );

  for (const kind of KIND_NAMES)
    test(`${kind}: each part has its place, the test passes, and the linter has nothing to say`, async () => {
      const id = `tree-${kind}`;
      const { wing } = KINDS[kind];
      const { stdout } = await inside(id, '--kind', kind);
      for (const file of [
        `manifests/plugins/${wing}/${id}.yaml`,
        `plugins/${wing}/${id}/index.ts`,
        `test/plugins/${id}/${id}.test.ts`,
      ])
        assert.match(stdout, new RegExp(`^ {2}${file}$`, 'm'));
      assert.match(stdout, new RegExp(`^ {2}add the line "${id}: \\^1.0.0" to a SKU`, 'm'));
      assert.deepEqual(
        (await readdir(join(checkout, 'plugins', wing, id))).filter((name) => !/\.ts$|\.test\./.test(name)),
        [],
      );
      const manifest = await readFile(join(checkout, `manifests/plugins/${wing}/${id}.yaml`), 'utf8');
      assert.match(manifest, new RegExp(`^main: ../../../plugins/${wing}/${id}/index.ts$`, 'm'));
      await run(process.execPath, ['--test', join(checkout, `test/plugins/${id}/${id}.test.ts`)], { env: environment });
      const biome = dirname(createPath('@biomejs/cli-linux-x64/package.json', '@biomejs/cli-linux-arm64/package.json'));
      const places = [`plugins/${wing}/${id}`, `test/plugins/${id}`];
      const options = ['check', '--vcs-enabled=false', '--error-on-warnings', ...places];
      await run(join(biome, 'biome'), options, { cwd: checkout });
    });

  test('a folder that exists is refused, and nothing is written', async () => {
    await inside('twice', '--kind', 'service');
    const ended = await inside('twice', '--kind', 'events').catch((error) => error);
    assert.match(ended.stderr, /there is a plugin twice in the tree already/);
    assert.ok(!existsSync(join(checkout, 'plugins/interface/twice/tally.ts')));
    await mkdir(join(checkout, 'test/plugins/halfway'));
    await writeFile(join(checkout, 'test/plugins/halfway/halfway.test.ts'), '');
    const halfway = await inside('halfway', '--kind', 'service').catch((error) => error);
    assert.match(halfway.stderr, /halfway.test.ts exists already/);
    assert.ok(!existsSync(join(checkout, 'manifests/plugins/interface/halfway.yaml')));
  });

  test('outside of a checkout it is refused', async () => {
    const ended = await run(
      process.execPath,
      [
        join(ROOT, 'plugins/interface/cli/program/devicectl.ts'),
        ...['plugin', 'new', 'lost', '--kind', 'service', '--in-tree'],
      ],
      { cwd: tmpdir() },
    ).catch((error) => error);
    assert.match(ended.stderr, /--in-tree works in a checkout of the Core, and here is none/);
  });
});

/** The first of the packages that is installed. */
function createPath(...packages: readonly string[]): string {
  const found = packages.map((name) => join(ROOT, 'node_modules', name)).find((path) => existsSync(path));
  assert.ok(found, 'no linter is installed');
  return found;
}
