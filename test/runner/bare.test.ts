/** The lane `bare`: nothing optional is found inside, the machine stays as it is, and where this cannot be done nothing is run. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { foundOf, HIDDEN, OPTIONAL } from '../fixtures/debian.ts';
import { ROOT } from './lanes.ts';

const BARE = join(ROOT, 'test/runner/bare.ts');
const FIXTURE = join(ROOT, 'test/fixtures/debian.ts');
const there = HIDDEN.flatMap((name) => foundOf(name));
const asRoot = process.geteuid?.() === 0;
const nothing = there.length === 0 && 'nothing optional is installed here, or all of it is hidden already';
const folder = mkdtempSync(join(tmpdir(), 'bare-'));
after(() => rmSync(folder, { recursive: true }));

function bare(words: readonly string[], env: NodeJS.ProcessEnv = process.env) {
  return spawnSync(process.execPath, [BARE, ...words], { cwd: ROOT, encoding: 'utf8', env });
}

/** A `mount` before that of the system. */
function withMount(script: string): NodeJS.ProcessEnv {
  const places = mkdtempSync(join(folder, 'bin-'));
  writeFileSync(join(places, 'mount'), `#!/bin/sh\n${script}\n`);
  chmodSync(join(places, 'mount'), 0o755);
  return { ...process.env, PATH: `${places}:${process.env.PATH}` };
}

describe('a command on a bare machine', () => {
  test('finds nothing optional, and what every lane has', {
    skip: nothing || (!asRoot && 'only root hides it'),
  }, () => {
    const code = `
      import { existsSync } from 'node:fs';
      import { HIDDEN, foundOf, without } from ${JSON.stringify(FIXTURE)};
      const found = HIDDEN.flatMap((name) => foundOf(name));
      const still = ${JSON.stringify(there)}.filter((path) => existsSync(path));
      console.log(JSON.stringify({ found, still, python: foundOf('python3').length > 0, reason: without('espeak-ng') }));
      process.exit(7);`;
    const { status, stdout } = bare([process.execPath, '--input-type=module-typescript', '-e', code]);
    assert.equal(status, 7, 'it ends as the command does');
    const { found, still, python, reason } = JSON.parse(stdout.split('\n').find((line) => line.startsWith('{'))!);
    assert.deepEqual([found, still], [[], []]);
    assert.equal(python, foundOf('python3').length > 0);
    assert.equal(reason, 'Debian package espeak-ng is not installed');
    assert.deepEqual(
      there.filter((path) => !existsSync(path)),
      [],
      'the machine has all of it as before',
    );
  });

  test('is told the signal that ended it', () => {
    const { status } = bare(['sh', '-c', 'kill -TERM $$']);
    assert.equal(status, 143);
  });

  const failures: readonly (readonly [what: string, script: string, reason: RegExp])[] = [
    ['the system refuses a mount', 'echo "permission denied" >&2; exit 32', /mount .*: permission denied/],
    ['a mount does nothing', 'exit 0', /can still be found/],
    [
      'there is no overlay',
      '[ "$2" = overlay ] && echo "unknown type" >&2 && exit 32\nexec /usr/bin/mount "$@"',
      /unknown type/,
    ],
  ];
  for (const [what, script, reason] of failures)
    test(`is not run where ${what}`, { skip: nothing || (!asRoot && 'only root gets so far') }, () => {
      const proof = join(folder, 'proof');
      const { status, stderr } = bare(['touch', proof], withMount(script));
      assert.equal(status, 3, stderr);
      assert.match(stderr, /^bare: cannot hide the optional packages: /m);
      assert.match(stderr, reason);
      assert.ok(!existsSync(proof), 'the command was not run');
      assert.deepEqual(
        there.filter((path) => !existsSync(path)),
        [],
        'nothing was removed',
      );
    });

  test('is not run by another user than root', { skip: nothing || (asRoot && 'this is root') }, () => {
    assert.equal(bare(['true']).status, 3);
  });

  test('is never taken for the inner one', () => {
    const { status, stderr } = bare([`--inside=${'mnt:[1]'}`]);
    assert.deepEqual([status, stderr.split('\n')[0]], [2, 'usage: node test/runner/bare.ts COMMAND [ARGS...]']);
  });
});

describe('the table of optional packages', () => {
  test('has every package that .ci/run installs', () => {
    const [, listed = ''] = /optional=\(([^)]*)\)/.exec(readFileSync(join(ROOT, '.ci/run'), 'utf8')) ?? [];
    const packages = listed.split(/\s+/).filter(Boolean);
    assert.ok(packages.length > 10, listed);
    assert.deepEqual(
      packages.filter((name) => !(name in OPTIONAL)),
      [],
    );
  });

  // A hash may ask for a version, to know when a cache is stale.
  test('is the one place that looks for their programs', () => {
    const programs = Object.values(OPTIONAL).flatMap((part) => ('programs' in part ? part.programs : []));
    const asks = new RegExp(
      `(?<!update\\()(spawnSync|execFileSync|there)\\('(${programs.join('|')})'(, \\['-?-?(version|V|\\?)'|\\))`,
    );
    const asking = globSync('test/**/*.ts', { cwd: ROOT })
      .filter((file) => !file.includes('node_modules') && file !== 'test/runner/bare.test.ts')
      .filter((file) => asks.test(readFileSync(join(ROOT, file), 'utf8')));
    assert.deepEqual(asking, []);
  });
});
