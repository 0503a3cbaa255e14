/** Every file that the Core keeps is named in the table of stores, with its form in a manifest: so none is forgotten when a Core meets another's. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { DESK, declaredStores, NO_STATE, STORES } from '../fixtures/stores.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const WRITES =
  /\b(?:replaceFile(?:Sync)?|appendFile(?:Sync)?|writeFile(?:Sync)?|createWriteStream|KeptFile\.open|new WantedFile|openForms|copyFile(?:Sync)?|moveFile|writePrivateFile|recoverFile|writeSync|new DatabaseSync)\s*[(<]|#out\.write\(buffer,/;

/** Modules of the Core that write files. */
function writers(): readonly string[] {
  return globSync('{kernel,plugins}/**/*.{ts,tsx}', { cwd: ROOT })
    .filter((file) => !/node_modules|^kernel\/(testing|init)\//.test(file) && !DESK.some((desk) => desk.test(file)))
    .filter((file) => WRITES.test(readFileSync(join(ROOT, file), 'utf8').replace(/\/\*[\s\S]*?\*\//g, '')))
    .sort();
}

test('a module that writes files is named in the table of stores, or it is said why it keeps no state', () => {
  const named = new Set([...STORES.flatMap((store) => store.writers), ...Object.keys(NO_STATE)]);
  const found = writers();
  const missing = found.filter((file) => !named.has(file));
  assert.deepEqual(missing, [], 'add a row to test/fixtures/stores.ts');
  assert.deepEqual(
    [...named].filter((file) => !found.includes(file)),
    [],
    'these write nothing any more',
  );
});

test('the table and the manifests agree on stores', () => {
  const declared = declaredStores();
  assert.deepEqual(
    STORES.map(({ store, plugin }) => `${store} ${plugin}`).sort(),
    [...declared].map(([store, { plugin }]) => `${store} ${plugin}`).sort(),
  );
});
