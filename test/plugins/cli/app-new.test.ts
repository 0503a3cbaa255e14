import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { type AppLanguage, LANGUAGE_NAMES } from '../../../plugins/interface/cli/scaffold/app.ts';
import { without } from '../../fixtures/debian.ts';
import { devicectl } from './run-devicectl.ts';

const run = promisify(execFile);
const { NODE_TEST_CONTEXT: _, ...env } = process.env;
const SKIP: Readonly<Record<AppLanguage, string | false>> = {
  node: false,
  python: without('python3'),
  static: without('make', 'gcc'),
};
const TESTS: Readonly<Record<AppLanguage, readonly [string, ...string[]]>> = {
  node: [process.execPath, '--test'],
  python: ['python3', '-m', 'unittest'],
  static: ['make', 'test'],
};

let folder: string;
before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'an-'));
});
after(() => rm(folder, { recursive: true, force: true }));

const begin = (id: string, ...args: string[]) => devicectl(['app', 'new', id, ...args]);

describe('a new app', () => {
  for (const lang of LANGUAGE_NAMES)
    for (const voice of [false, true])
      test(`in ${lang}${voice ? ' with voice' : ''}: its own test passes`, { skip: SKIP[lang] }, async () => {
        const dir = join(folder, `${lang}-${voice}`);
        const ended = await begin(
          `org.example.my-${lang}`,
          ...['--lang', lang, '--dir', dir, '--json', ...(voice ? ['--voice'] : [])],
        );
        assert.equal(ended.code, 0, ended.stderr);
        const { files, next } = JSON.parse(ended.stdout);
        const made = await readdir(dir);
        assert.deepEqual(
          files.filter((file: string) => !made.includes(file)),
          [],
        );
        assert.deepEqual(next.at(-1), 'devicectl app check .');
        const texts: string[] = await Promise.all(files.map((name: string) => readFile(join(dir, name), 'utf8')));
        const own = texts.filter((_text, at) => files[at] !== 'device_app.py').join();
        assert.doesNotMatch(own, /app-id|appId|App Title|EXEC|FILES|TEST\b|#(voice|silent)|\*(voice|silent)/);
        const manifest = parse(await readFile(join(dir, 'app.yaml'), 'utf8'));
        if (lang === 'node') {
          const { dependencies } = JSON.parse(await readFile(join(dir, 'package.json'), 'utf8'));
          assert.ok(made.includes(dependencies['@device-core/app'].replace('file:./', '')));
        }
        assert.deepEqual([manifest.id, manifest.name], [`org.example.my-${lang}`, `my-${lang}`]);
        assert.equal(manifest.functions[0].utterances !== undefined, voice);
        assert.equal(/\bsay\b/.test(own), voice);
        const [program, ...args] = TESTS[lang];
        await run(program, args, { cwd: dir, env });
      });
});

describe('orders that cannot be begun', () => {
  const long = `org.${'a'.repeat(41)}`;
  const cases: readonly (readonly [string, readonly string[], RegExp])[] = [
    ['an id of one word', ['agenda', '--lang', 'node'], /"agenda" is not an app id/],
    ['an id that leaves the folder', ['../../etc', '--lang', 'node'], /is not an app id/],
    ['a name of 41 characters', [long, '--lang', 'node'], /cannot be the name of an app/],
    ['a name that begins with a digit', ['org.2nd', '--lang', 'node'], /cannot be the name of an app/],
    ['a language that there is not', ['org.x', '--lang', 'perl'], /perl/],
    ['a library that is not there', ['org.x', '--lang', 'node', '--library', '/no/such.tgz'], /there is no file/],
    ['a library for Python', ['org.x', '--lang', 'python', '--library', '/no/such.tgz'], /goes with --lang node/],
  ];
  for (const [title, args, message] of cases)
    test(title, async () => {
      const dir = join(folder, 'never');
      const ended = await begin(args[0]!, ...args.slice(1), '--dir', dir);
      assert.equal(ended.code, 2);
      assert.match(ended.stderr, message);
      assert.deepEqual(
        (await readdir(folder)).filter((name) => name === 'never'),
        [],
      );
    });

  test('a folder that has something in it stays as it is', async () => {
    const dir = join(folder, 'full');
    await mkdir(dir);
    await writeFile(join(dir, 'mine.txt'), 'mine');
    const ended = await begin('org.x', '--lang', 'python', '--dir', dir);
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, /exists and is not empty/);
    assert.deepEqual(await readdir(dir), ['mine.txt']);
  });

  test('a package that is another one is refused, and leaves nothing behind', async () => {
    const dir = join(folder, 'other');
    const other = join(folder, 'other-1.0.0.tgz');
    await mkdir(join(folder, 'package'));
    await writeFile(join(folder, 'package/package.json'), '{ "name": "other", "version": "1.0.0" }');
    await run('tar', ['czf', other, '-C', folder, 'package']);
    const ended = await begin('org.x', '--lang', 'node', '--dir', dir, '--library', other);
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, /is not a package of @device-core\/app/);
    assert.deepEqual(await readdir(dir), []);
  });

  test('a library that is no package leaves nothing behind', async () => {
    const dir = join(folder, 'half');
    const broken = join(folder, 'broken.tgz');
    await writeFile(broken, 'no archive');
    const ended = await begin('org.x', '--lang', 'node', '--dir', dir, '--library', broken);
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, /cannot read .*broken\.tgz/);
    assert.deepEqual(await readdir(dir), []);
  });
});
