/** Programs come from manifests: those of the tree without a Core, those of the plugins that run with one. */
import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { PluginManifest } from '@device-core/plugin-api';
import { treeManifests } from '@device-core/plugin-api/inside/tree';
import { parse } from 'yaml';
import { kebab } from '../../../plugin-api/inside/command-words.ts';
import { GLOBALS } from '../../../plugins/interface/cli/program/globals.ts';
import { loadProgram, treePrograms } from '../../../plugins/interface/cli/program/programs.ts';
import { FakeCore, runningPlugins } from './fake-core.ts';
import { devicectl, devicectlProcess } from './run-devicectl.ts';
import { smallTable } from './small-table.ts';

const ROOT = join(import.meta.dirname, '../../..');
const AWAY = ['--run', '/nonexistent'];

describe('the programs of the tree', () => {
  test('are read without a parser of YAML as they stand in the manifests, and each can be loaded', async () => {
    const declared = [...treeManifests(ROOT).values()].flatMap(
      (file) => (parse(readFileSync(file, 'utf8')) as PluginManifest).programs ?? [],
    );
    const found = await treePrograms(ROOT);
    assert.ok(declared.length > 10);
    assert.deepEqual(
      found.map(({ plugin: _, main: __, ...one }) => one),
      declared.map(({ main: _, ...one }) => one),
    );
    for (const place of found) assert.equal(typeof (await loadProgram(place, false)).run, 'function', place.command);
  });

  test('take no option that devicectl takes itself: it would go to the wrong one', async () => {
    const taken = new Set(GLOBALS.map(({ flag }) => flag.slice(2)));
    const options: string[] = [];
    for (const place of await treePrograms(ROOT)) {
      const { params, cli } = await loadProgram(place, false);
      for (const name of Object.keys(params?.properties ?? {}))
        if (!cli?.fixed?.includes(name))
          for (const flag of cli?.flags?.[name] ?? [kebab(name)]) options.push(`${place.command} --${flag}`);
    }
    assert.ok(options.includes('repo init --first-root'));
    assert.deepEqual(
      options.filter((one) => taken.has(one.split(' --')[1]!)),
      [],
    );
  });

  test('are read in any other YAML, too', async () => {
    const tree = mkdtempSync(join(tmpdir(), 'dc-tree-'));
    try {
      const folder = join(tree, 'manifests/plugins/life');
      mkdirSync(folder, { recursive: true });
      const text = 'id: a\nprograms:\n  - command: a b\n    summary: "x, }"\n    main: ../x.ts\n';
      writeFileSync(join(folder, 'a.yaml'), text);
      const [one] = await treePrograms(tree);
      assert.deepEqual(one, {
        plugin: 'a',
        command: 'a b',
        summary: 'x, }',
        main: join(tree, 'manifests/plugins/x.ts'),
      });
    } finally {
      rmSync(tree, { recursive: true });
    }
  });
});

describe('without a Core', () => {
  test('help lists the programs and names the missing ones', async () => {
    const { stdout, code } = await devicectl(['--help', ...AWAY]);
    assert.equal(code, 0);
    assert.match(stdout, /^ {2}plugin +audit, check, .*new, sign$/m);
    assert.match(stdout, /^No Core is reached at unix:\/nonexistent\/core\.sock: its operations are not listed\.$/m);
  });

  test('a program without a Core works', async () => {
    const file = join(ROOT, 'manifests/skus/simulator.yaml');
    const right = await devicectlProcess(['sku', 'check', file, ...AWAY]);
    assert.equal(right.code, 0, right.stderr);
    const wrong = await devicectlProcess(['sku', 'check', '/nonexistent.yaml', ...AWAY]);
    assert.equal(wrong.code, 1);
    assert.match(wrong.stdout + wrong.stderr, /nonexistent\.yaml.*cannot be read/);
  });

  for (const args of [['status'], ['app', 'list'], ['nonsense'], ['plugin', 'list'], ['system', 'reboot'], ['keyring']])
    test(`${args.join(' ')} ends with 3: it cannot be known`, async () => {
      const ended = await devicectl([...args, ...AWAY]);
      assert.equal(ended.code, 3);
      assert.match(ended.stderr, /there is no socket/);
    });

  for (const [args, ...wanted] of [
    [['image'], /USAGE: image needs one of archive, build, .*verify$/m],
    [['image', 'bogus'], /USAGE: there is no command image bogus\n {2}there are archive, build, .*verify;/],
    [['sku', 'chek'], /USAGE: there is no command sku chek\n {2}did you mean sku check\?;/],
    [['sku', 'bogus'], /USAGE: there is no command sku bogus\n {2}there are check, .*lock;/],
    [
      ['repo', 'bogus'],
      /USAGE: there is no command repo bogus\n {2}there are add-app, add-channel, add-image, add-plugin, .*rotate-key, sweep;/,
    ],
    [['keys', 'bogus'], /USAGE: there is no command keys bogus\n {2}there are export, list, new, sign;/],
  ] as const)
    test(`${args.join(' ')} ends with 2 and what there is: a tool of the desk has no operations`, async () => {
      const { code, stderr } = await devicectl([...args, ...AWAY]);
      assert.equal(code, 2, stderr);
      for (const one of [...wanted, /no Core is reached, which may know more/]) assert.match(stderr, one);
    });

  test('a program that needs one still has its help', async () => {
    const { stdout } = await devicectl(['log', '--help', ...AWAY]);
    assert.match(
      stdout,
      /^ {2}-n, --lines <lines> +so many of the newest lines at most \(a whole number .* default 50\)$/m,
    );
    assert.match(stdout, /^A program of plugin logs\.$/m);
  });
});

describe('a program from outside the tree', () => {
  let core: FakeCore;
  let home: string;
  let file: string;
  before(async () => {
    home = mkdtempSync(join(tmpdir(), 'dc-guest-'));
    file = join(home, 'hello.mjs');
    // What it imports is the plugin-api of this tree.
    writeFileSync(
      file,
      `import { defineProgram, usage } from '@device-core/plugin-api/program';
      export const program = defineProgram({
        params: { type: 'object', required: ['name'], properties: { name: { enum: ['Ada', 'Bob'] }, loud: { type: 'boolean', default: false } } },
        async run({ args, out }) {
          if (args.name === 'Bob') throw usage('not Bob');
          await out.line(JSON.stringify(args));
          return args.loud ? 1 : undefined;
        },
      });`,
      { mode: 0o644 },
    );
    const guest = { id: 'guest', programs: [{ command: 'guest hello', summary: 'greets', main: file }] };
    core = await FakeCore.start({
      'GET /plugins': { ok: true, plugins: [...(await runningPlugins()), guest] },
      'GET /openrpc.json': smallTable({ 'guests.list': { rest: 'GET /guests', summary: 'lists them' } }),
      'GET /guests': { ok: true, guests: [] },
    });
  });
  after(async () => {
    await core[Symbol.asyncDispose]();
    rmSync(home, { recursive: true });
  });
  const at = (...args: string[]) => devicectl([...args, '--run', core.root]);
  const completed = (...words: string[]) => devicectl(['--run', core.root, '__complete', '--', ...words]);

  test('is found beside the operations of its plugin, with flags, help, completion and its exit code', async () => {
    assert.equal((await at('guest', 'hello', 'Ada')).stdout, '{"name":"Ada","loud":false}\n');
    assert.equal((await at('guests', 'hello', 'Ada', '--loud')).code, 1);
    const refused = await at('guest', 'hello', 'Bob');
    assert.deepEqual([refused.code, refused.stderr], [2, 'devicectl: USAGE: not Bob\n']);
    assert.match((await at('guest', 'hello', 'Eve')).stderr, /<name> must be one of Ada, Bob, not "Eve"/);
    assert.match((await at('guest', 'hello', '--help')).stdout, /^Usage: devicectl guest hello <name> \[options\]$/m);
    assert.match((await at('guest', '--help')).stdout, /^ {2}guest hello \.\.\. +greets\n {2}guest list +lists them$/m);
    assert.equal((await completed('guest', '')).stdout, 'hello\nlist\n');
    assert.equal((await completed('guest', 'hello', '')).stdout, 'Ada\nBob\n');
  });

  test('is not loaded when others may write it, nor for a Core that is reached over TCP', async () => {
    chmodSync(file, 0o646);
    const open = await at('guest', 'hello', 'Ada');
    assert.match(
      open.stderr,
      /^devicectl: PROGRAM_REFUSED: guest hello of plugin guest is not run: .* may be written by others/,
    );
    assert.equal(open.code, 2);
    chmodSync(file, 0o644);
    const remote = await devicectl(['guest', 'hello', 'Ada', '--run', core.root, '--url', core.url]);
    assert.match(remote.stderr, /PROGRAM_REFUSED: .* need the Unix socket of the Core/);
  });

  test('goes before the operation of the same words', async () => {
    const programs = [{ command: 'guest list', summary: 'its own', main: file }];
    core.replies['GET /plugins'] = { ok: true, plugins: [{ id: 'guest', programs }] };
    assert.match((await at('guest', 'list', 'Ada')).stdout, /"Ada"/);
    assert.match((await at('plugin', 'new')).stderr, /<id> is missing/, 'what needs no Core is there all the same');
  });
});
