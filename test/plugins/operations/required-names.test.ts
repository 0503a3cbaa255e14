/** Every name that a schema demands is described in it. The documents of a whole device are looked at in `test/e2e/bad-input.test.ts`. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { describe, it } from 'node:test';
import { EVENTS } from '@device-core/plugin-api';
import { parseYaml } from '@device-core/plugin-api/inside/yaml';
import { requiredWithoutProperty } from '../../fixtures/required-names.ts';

const ROOT = resolve(import.meta.dirname, '../../..');

describe('a name that a schema demands', () => {
  for (const file of globSync('manifests/schema/*.json', { cwd: ROOT }))
    it(`is described in ${basename(file)}`, () => {
      assert.deepEqual(requiredWithoutProperty(JSON.parse(readFileSync(join(ROOT, file), 'utf8'))), []);
    });

  it('is described in the configuration of each plugin and in each event', () => {
    const manifests = globSync('manifests/plugins/*/*.yaml', { cwd: ROOT });
    assert.ok(manifests.length > 50);
    for (const file of manifests) {
      const { config } = Object(parseYaml(readFileSync(join(ROOT, file), 'utf8')).value) as {
        readonly config?: unknown;
      };
      assert.deepEqual(requiredWithoutProperty(config), [], file);
    }
    assert.deepEqual(requiredWithoutProperty(EVENTS), []);
  });

  it('is found where it is not described, at any depth, and not where the schema around describes it', () => {
    const properties = { a: {} };
    assert.deepEqual(
      requiredWithoutProperty({
        x: { items: { type: 'object', required: ['a', 'b'], properties } },
        y: { required: ['c'], oneOf: [{ properties: { c: {} } }] },
        z: { properties, oneOf: [{ required: ['a'] }, { required: ['d'] }], not: { required: ['a'] } },
        w: { properties, items: { required: ['a'] } },
      }),
      ['/x/items: b', '/y: c', '/z/oneOf/1: d', '/w/items: a'],
    );
  });
});
