import assert from 'node:assert/strict';
import { globSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { checkManifest, readManifest } from '@device-core/plugin-api/testing';

const ROOT = join(import.meta.dirname, '../..');
const manifests = globSync('manifests/plugins/*/*.yaml', { cwd: ROOT }).sort();

describe('every plugin of the tree agrees with its manifest:', () => {
  for (const manifest of manifests)
    it(manifest, async () => {
      const { main } = readManifest(join(ROOT, manifest));
      const { plugin } = await import(join(ROOT, dirname(manifest), main));
      assert.deepEqual(checkManifest(join(ROOT, manifest), plugin), []);
    });
});
