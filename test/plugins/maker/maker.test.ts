import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { suite, test } from 'node:test';
import { parseYaml } from '@device-core/plugin-api/inside/yaml';
import { plugin } from '../../../plugins/life/maker/index.ts';

const SKUS = resolve(import.meta.dirname, '../../../manifests/skus');

suite('maker', () => {
  test('runs nothing and takes nothing of a device', () => {
    assert.deepEqual(Object.keys(plugin), ['setup']);
  });

  for (const name of readdirSync(SKUS).filter((file) => file.endsWith('.yaml')))
    test(`${name} does not list it, so no image holds it`, () => {
      const { value } = parseYaml(readFileSync(join(SKUS, name), 'utf8'));
      assert.ok(!('maker' in ((value as { plugins?: object }).plugins ?? {})));
    });
});
