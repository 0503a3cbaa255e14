/** A SKU that extends others is installed as one file: its bases are not on the device. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, test } from 'node:test';
import { readSkuFamily } from '@device-core/plugin-api/inside/sku-family';
import { skuForService } from '../../../plugins/life/systemd/program/sku.ts';

const CHECKOUT = resolve(import.meta.dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'dc-service-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('a family is installed flat, with the name of its service', async () => {
  const file = join(CHECKOUT, 'manifests/skus/speaker.yaml');
  const { sku, text } = await skuForService(file, 'shop', CHECKOUT);
  assert.deepEqual(sku, readSkuFamily(file).value);
  const flat = join(folder, 'flat.yaml');
  writeFileSync(flat, text);
  const { value, files } = readSkuFamily(flat);
  assert.deepEqual(files, [flat]);
  assert.equal(value.service, 'shop');
  assert.deepEqual(Object.keys(value.plugins), Object.keys(sku.plugins).sort());
  assert.ok(!text.includes(CHECKOUT));
});
