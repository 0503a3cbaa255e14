/** `devicectl sku lock` and `sku check --locked`; an image is built of what was locked. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { parse, stringify } from 'yaml';
import { Checkout } from '../../../plugins/life/maker/image/build/checkout.ts';
import { buildImage } from '../../../plugins/life/maker/image/build/index.ts';
import { devicectl } from '../cli/run-devicectl.ts';

const CHECKOUT = resolve(import.meta.dirname, '../../..');

suite('the lock of a SKU', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dc-lock-'));
  const file = join(folder, 'small.yaml');
  const lockFile = join(folder, 'small.lock.yaml');
  let first = '';

  const base = (name: string, more = '') =>
    writeFileSync(
      join(folder, name),
      `skuVersion: 1\nid: base\ntitle: Base\nplugins:\n  operations: ^1.0.0\n  identity: ^1.0.0\n  http: ^1.0.0\n${more}`,
    );
  const small = (from: string) =>
    writeFileSync(
      file,
      `# a comment\nskuVersion: 1\nid: small\ntitle: Small\nextends: ${from}\nplugins:\n  system: ^1.0.0\n`,
    );
  const run = (...args: readonly string[]) => devicectl(['sku', ...args]);
  /** Puts the lock in its place as it was, with a change. */
  // biome-ignore lint/suspicious/noExplicitAny: a lock that may be wrong in any way
  const locked = (change: (lock: any) => void) => {
    const lock = parse(first);
    change(lock);
    writeFileSync(lockFile, stringify(lock));
  };

  before(async () => {
    base('base.yaml');
    small('base.yaml');
    const { code, stderr } = await run('lock', file);
    assert.equal(code, 0, stderr);
    first = readFileSync(lockFile, 'utf8');
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  test('names files, Node, plugins and packages, with no place of this machine, and is the same each time', async () => {
    const lock = parse(first);
    assert.deepEqual(Object.keys(lock), ['lock', 'sku', 'files', 'node', 'core', 'plugins', 'packages']);
    assert.deepEqual(Object.keys(lock.files), ['small.yaml', 'base.yaml']);
    assert.equal(lock.node, process.versions.node);
    // Those of safe mode are in every image.
    for (const id of ['http', 'system', 'plugin-store', 'logs'])
      assert.match(lock.plugins[id].hash, /^sha256:[0-9a-f]{64}$/, id);
    assert.equal(lock.plugins.voice, undefined);
    const { packages } = JSON.parse(readFileSync(join(CHECKOUT, 'package-lock.json'), 'utf8'));
    for (const [path, { version, integrity }] of Object.entries<{ version: string; integrity: string }>(lock.packages))
      assert.deepEqual([version, integrity], [packages[path].version, packages[path].integrity], path);
    assert.ok('node_modules/yaml' in lock.packages && !('node_modules/typescript' in lock.packages));
    assert.ok(!first.includes(folder) && !first.includes(CHECKOUT));
    // A comment more is no change.
    writeFileSync(file, `# another comment\n${readFileSync(file, 'utf8')}`);
    const { stdout } = await run('lock', file);
    assert.match(stdout, /; as before$/m);
    assert.equal(readFileSync(lockFile, 'utf8'), first);
    assert.equal((await run('check', '--locked', file)).code, 0);
  });

  test('everything that drifted is named, and no image is built of it', async () => {
    locked((lock) => {
      lock.node = '24.0.0';
      lock.plugins.http.version = '0.9.0';
      lock.plugins.system.hash = `sha256:${'0'.repeat(64)}`;
      lock.plugins.gone = lock.plugins.http;
      delete lock.plugins.logs;
      lock.packages['node_modules/yaml'].integrity = 'sha512-other';
      lock.packages['node_modules/ajv'].version = '1.0.0';
    });
    const { code, stdout } = await run('check', '--locked', file);
    assert.equal(code, 1);
    const lines = stdout.split('\n').slice(0, -2);
    assert.deepEqual(lines, [
      `Node was 24.0.0, and is ${process.versions.node}`,
      'plugin gone was locked, and is not in it',
      `plugin http was 0.9.0, and is ${parse(first).plugins.http.version}`,
      'plugin logs is in it, and was not locked',
      `plugin system is ${parse(first).plugins.system.version} as before, and has other files`,
      `package ajv was 1.0.0, and is ${parse(first).packages['node_modules/ajv'].version}`,
      `package yaml is ${parse(first).packages['node_modules/yaml'].version} as before, and has another integrity`,
    ]);
    assert.throws(
      () => buildImage(new Checkout(CHECKOUT), { sku: file, severity: 'normal' }),
      /not what small\.lock\.yaml locked: Node was 24\.0\.0.*; plugin gone was locked/,
    );
  });

  test('a lock of another base, and of one that says something else', async () => {
    writeFileSync(lockFile, first);
    base('other.yaml');
    small('other.yaml');
    const other = await run('check', '--locked', file);
    assert.deepEqual(
      [other.code, other.stdout.split('\n').slice(0, 3)],
      [
        1,
        [
          'file base.yaml was locked, and is not in it',
          'file other.yaml is in it, and was not locked',
          'file small.yaml says something else',
        ],
      ],
    );
    small('base.yaml');
    base('base.yaml', 'service: shop\n');
    const edited = await run('check', '--locked', file);
    assert.deepEqual([edited.code, edited.stdout.split('\n')[0]], [1, 'file base.yaml says something else']);
    base('base.yaml');
  });

  test('a lock that is none is named, not taken; a SKU without one is not locked', async () => {
    for (const [text, reason] of [
      ['{', /is no lock: line 1/],
      ['lock: 2', /is of form 2, newer than this checkout/],
      ['[]', /it has no form/],
      ['lock: 1\nsku: small\nnode: 24.0.0\nfiles: {}\ncore: {}\nplugins: 7\npackages: {}', /plugins is no map/],
    ] as const) {
      writeFileSync(lockFile, text);
      const { code, stderr } = await run('check', '--locked', file);
      assert.equal(code, 1, text);
      assert.match(stderr, reason);
    }
    rmSync(lockFile);
    const { code, stderr } = await run('check', '--locked', file);
    assert.equal(code, 2);
    assert.match(stderr, /not locked: there is no .*small\.lock\.yaml/);
  });
});
