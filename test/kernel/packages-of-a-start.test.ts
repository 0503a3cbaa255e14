/** A start loads the code of every plugin, but not the packages that only some calls of it need. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { resolveSku } from '../../kernel/boot/check.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const LATER = ['ajv', 'fastify', 'jayson', 'semver', 'yaml'];

test('the code of the kernel and of the whole simulated device loads no package that a start goes without', () => {
  const { plugins } = resolveSku(join(ROOT, 'manifests/skus/simulator.yaml'));
  assert.ok(plugins.length > 30);
  const modules = plugins.map(({ main }) => main);
  const script = `
    import { registerHooks } from 'node:module';
    const found = new Set();
    registerHooks({ load: (url, context, next) => {
      const name = /\\/node_modules\\/([^/]+)\\//.exec(url)?.[1];
      if (${JSON.stringify(LATER)}.includes(name)) found.add(name);
      return next(url, context);
    } });
    for (const module of ${JSON.stringify([join(ROOT, 'kernel/boot/run.ts'), ...modules])}) await import(module);
    console.log(JSON.stringify([...found]));
    process.exit();`;
  const out = execFileSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  assert.deepEqual(JSON.parse(out), []);
});
