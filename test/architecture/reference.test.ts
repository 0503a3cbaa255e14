/** The generated pages of the documents. Costs a start of every plugin. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { describe, test } from 'node:test';
import { typeOf } from '../../docs/reference/generator/answers.ts';

const ROOT = resolve(import.meta.dirname, '../..');

test('the pages of docs/reference are what the tables say', () => {
  execFileSync(process.execPath, [join(ROOT, 'docs/reference/generate.ts'), '--check'], { cwd: ROOT, stdio: 'pipe' });
});

describe('a schema of an answer is the type of the page', () => {
  const cases = [
    [{ type: 'integer', minimum: 0 }, 'number'],
    [{ enum: ['a', null] }, '"a" | null'],
    [{ type: ['string', 'null'] }, 'string | null'],
    [{ anyOf: [{ const: true }, { type: 'string' }] }, 'true | string'],
    [{ type: 'array', items: { enum: [0, 1] } }, 'readonly (0 | 1)[]'],
    [{ type: 'object', additionalProperties: { type: 'number' } }, 'Readonly<Record<string, number>>'],
    [{ type: 'object' }, 'Readonly<Record<string, unknown>>'],
    [
      { type: 'object', required: ['id'], properties: { id: { type: 'string' }, 'a-b': {} } },
      '{ readonly id: string; readonly "a-b"?: unknown }',
    ],
  ] as const;
  for (const [schema, type] of cases) test(type, () => assert.equal(typeOf(schema), type));
});
