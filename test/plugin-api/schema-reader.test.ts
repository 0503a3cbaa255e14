/** The reader that forms, commands, settings and pages of the reference share. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  choicesOf,
  isSecret,
  isWord,
  itemsOf,
  kindOf,
  memberAt,
  membersOf,
  propertiesOf,
  requiredOf,
  resolved,
  type Schema,
} from '../../plugin-api/inside/schema-reader.ts';

const ROOT: Schema = {
  type: 'object',
  required: ['a'],
  properties: {
    a: { type: 'string', description: 'first' },
    b: true,
    c: { properties: { d: { enum: [1, 2] } } },
  },
  $defs: { 'x/y': { type: 'integer' }, loop: { $ref: '#/$defs/loop' } },
};

test('members come in the order of the schema, and one that may be anything has an empty schema', () => {
  assert.deepEqual(membersOf(ROOT), [
    { name: 'a', schema: { type: 'string', description: 'first' }, required: true },
    { name: 'b', schema: {}, required: false },
    { name: 'c', schema: { properties: { d: { enum: [1, 2] } } }, required: false },
  ]);
});

test('a member is found by its path, and names of prototypes are no members', () => {
  assert.deepEqual(memberAt(ROOT, ['c', 'd']), { enum: [1, 2] });
  assert.equal(memberAt(ROOT, []), ROOT);
  for (const path of [['z'], ['a', 'b'], ['constructor'], ['c', '__proto__']])
    assert.equal(memberAt(ROOT, path), undefined);
});

test('references are followed within the schema: words beside them stay, and a circle ends', () => {
  assert.deepEqual(resolved({ $ref: '#/$defs/x~1y', title: 'T' }, ROOT), { type: 'integer', title: 'T' });
  assert.deepEqual(resolved({ $ref: '#/$defs/none', title: 'T' }, ROOT), { title: 'T' });
  assert.deepEqual(resolved({ $ref: '#/%zz' }, ROOT), {});
  assert.equal(typeof resolved({ $ref: '#/$defs/loop' }, ROOT), 'object');
});

test('a schema that is none has no members, items, choices and kind', () => {
  for (const odd of [null, true, 7, 'x', []] as unknown[]) {
    assert.deepEqual(propertiesOf(odd), {});
    assert.deepEqual(propertiesOf({ properties: odd }), {});
    assert.deepEqual(itemsOf({ items: odd }), {});
  }
  assert.deepEqual(requiredOf({ required: 'a' }), []);
  assert.equal(choicesOf({ enum: 'a' }), undefined);
  assert.equal(kindOf({ type: 'null' }), 'json');
});

for (const [schema, kind, word] of [
  [{ enum: [1] }, 'choice', true],
  [{ const: null }, 'choice', true],
  [{ type: ['null', 'integer'] }, 'integer', true],
  [{ type: 'string' }, 'string', true],
  [{ type: 'string', contentEncoding: 'base64' }, 'bytes', false],
  [{ type: 'string', contentEncoding: 'base64', contentMediaType: 'text/plain' }, 'text', false],
  [{ type: 'array' }, 'array', false],
  [{}, 'json', false],
] as const)
  test(`${JSON.stringify(schema)} is of kind ${kind}`, () => {
    assert.equal(kindOf(schema), kind);
    assert.equal(isWord(schema), word);
  });

test('a secret is marked by one of three words', () => {
  for (const schema of [{ secret: true }, { writeOnly: true }, { format: 'password' }]) assert.ok(isSecret(schema));
  assert.ok(!isSecret({ secret: 'true', format: 'uri' }));
});
