/** The answers that the REST pages show are those that a device gives. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { askAll, changes } from '../../docs/reference/generator/examples/record.ts';
import { readExamples } from '../../docs/reference/generator/examples/recorded.ts';
import { ENDPOINTS } from './endpoints.ts';

test('every request of the REST reference is answered as it is printed (node docs/reference/generate.ts --examples)', async () => {
  const printed = readExamples();
  const real = await askAll();
  assert.deepEqual(Object.keys(printed).toSorted(), Object.keys(ENDPOINTS).toSorted());
  assert.deepEqual(
    Object.keys(real).flatMap((name) => changes(name, printed, real)),
    [],
  );
});
