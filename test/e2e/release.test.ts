/** A whole release in a copy of the checkout, which is compiled four times. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { ROOT } from '../../plugin-api/build/package-json.ts';

/** The checkout as it is now, with the packages of this one. */
function copyOfCheckout(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'release-'));
  const list = ['ls-files', '--cached', '--others', '--exclude-standard'];
  for (const file of execFileSync('git', list, { cwd: ROOT, encoding: 'utf8' }).split('\n')) {
    if (file === '' || /^(test|docs\/examples)\//.test(file) || !existsSync(join(ROOT, file))) continue;
    mkdirSync(dirname(join(path, file)), { recursive: true });
    cpSync(join(ROOT, file), join(path, file));
  }
  const modules = join(path, 'node_modules');
  mkdirSync(join(modules, '@device-core'), { recursive: true });
  symlinkSync('../../plugin-api', join(modules, '@device-core/plugin-api'));
  for (const name of readdirSync(join(ROOT, 'node_modules')))
    if (name !== '@device-core') symlinkSync(join(ROOT, 'node_modules', name), join(modules, name));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

describe('a release', () => {
  it('sets versions, changelog, base and packed file, and the next one must not break the API in secret', () => {
    using copy = copyOfCheckout();
    const at = (file: string) => join(copy.path, file);
    const read = (file: string) => readFileSync(at(file), 'utf8');
    const run = (...args: readonly string[]) => {
      const program = at('plugin-api/build/release.ts');
      return spawnSync(process.execPath, [program, ...args], { cwd: copy.path, encoding: 'utf8' });
    };
    for (const file of readdirSync(at('.changes'))) rmSync(at(`.changes/${file}`));
    writeFileSync(at('.changes/released.json'), '{ "core": "0.1.0", "plugin-api": null }\n');
    writeFileSync(at('.changes/a-kettle.md'), '---\nkind: minor\npackages: [core]\n---\nA kettle.\n');

    const dry = run('--dry-run');
    assert.equal(dry.status, 0, dry.stderr);
    assert.match(dry.stdout, /^device-core 0\.2\.0, plugin-api 1\.0\.0, of 1 change notes\n {2}minor core: /);
    assert.ok(existsSync(at('.changes/a-kettle.md')));

    const real = run('--out', copy.path, '--date', '2026-01-02');
    assert.equal(real.status, 0, real.stderr);
    assert.ok(existsSync(at('device-core-plugin-api-1.0.0.tgz')));
    assert.deepEqual(readdirSync(at('.changes')).sort(), ['released-plugin-api.md', 'released.json']);
    assert.match(
      read('CHANGELOG.md'),
      /^# Changelog\n\n## 0\.2\.0, plugin-api 1\.0\.0 \(2026-01-02\)\n\n### Added\n\n- core: A kettle\.\n/,
    );
    assert.equal(JSON.parse(read('package.json')).version, '0.2.0');
    const lock = JSON.parse(read('package-lock.json'));
    assert.deepEqual(
      [lock.version, lock.packages[''].version, lock.packages['plugin-api'].version],
      ['0.2.0', '0.2.0', '1.0.0'],
    );
    assert.match(read('kernel/composition.ts'), /CORE_VERSION = '0\.2\.0'/);

    const index = read('plugin-api/index.ts');
    assert.match(index, /^export \{ descriptorOf \} .*\n/m);
    writeFileSync(at('plugin-api/index.ts'), index.replace(/^export \{ descriptorOf \} .*\n/m, ''));
    writeFileSync(at('.changes/less.md'), '---\nkind: minor\npackages: [plugin-api]\n---\nLess.\n');
    const secret = run('--dry-run');
    assert.equal(secret.status, 1);
    assert.match(
      secret.stderr,
      /cannot release plugin-api 1\.1\.0: its API asks for 2\.0\.0 \(removed \. descriptorOf/,
    );
  });
});
