/** The generator of forms, against Ajv as the Core uses it. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { Ajv, type ErrorObject } from 'ajv';
import fc from 'fast-check';
import { errorsOf, share } from '../../../plugins/interface/web/ui/form/errors.ts';
import {
  controlOf,
  isObject,
  type Schema,
  shownAs,
  startOf,
  typed,
  withItem,
  withMember,
} from '../../../plugins/interface/web/ui/form/schema.ts';
import { runs } from '../../fixtures/runs.ts';

/** What only a judge can know: a form may yield values that break these, and no others. */
const JUDGED = new Set([
  'minimum',
  'maximum',
  'minLength',
  'maxLength',
  'pattern',
  'required',
  'minItems',
  'maxItems',
  'enum',
]);

const name = fc.constantFrom('a', 'b', 'a.b', 'long name', '__proto', 'x/y', '0', 'tilde~');
const leaf: fc.Arbitrary<Schema> = fc.oneof(
  fc.record({ type: fc.constant('string'), maxLength: fc.constantFrom(3, 500) }, { requiredKeys: ['type'] }),
  fc.constant({ type: 'string', pattern: '^[a-z]+$', default: 'abc' }),
  fc.record(
    {
      type: fc.constantFrom('integer', 'number'),
      minimum: fc.integer({ min: -5, max: 5 }),
      maximum: fc.integer({ min: 6, max: 9 }),
    },
    { requiredKeys: ['type'] },
  ),
  fc.constant({ type: 'boolean' }),
  fc.constantFrom(
    { enum: ['x', 'y', 3, null] },
    { const: 7 },
    { $ref: '#/$defs/shared' },
    { oneOf: [{ const: 1, title: 'One' }, { const: 2 }] },
  ),
);
const schemas: fc.Arbitrary<Schema> = fc
  .letrec<{ any: Schema }>((tie) => ({
    any: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      fc.record({ type: fc.constant('array'), items: tie('any') }),
      fc
        .uniqueArray(fc.tuple(name, tie('any'), fc.boolean()), { minLength: 1, maxLength: 4, selector: ([one]) => one })
        .map((members) => ({
          type: 'object',
          additionalProperties: false,
          required: members.filter(([, , must]) => must).map(([one]) => one),
          properties: Object.fromEntries(members.map(([one, schema]) => [one, schema])),
        })),
    ),
  }))
  .any.map((schema) => ({ ...schema, $defs: { shared: { type: 'integer', minimum: 1 } } }));

const ajv = () => new Ajv({ strict: false, allErrors: true, validateFormats: false });

/** Somebody who fills the form in, field by field, with whatever comes to their mind. */
function filled(
  schema: Schema,
  root: Schema,
  value: unknown,
  required: boolean,
  next: () => number,
  text: () => string,
  depth = 0,
): unknown {
  const control = controlOf(schema, root, value, depth);
  switch (control.kind) {
    case 'choice':
      return control.options[next() % control.options.length]?.value;
    case 'switch':
      return next() % 2 === 0;
    case 'group': {
      let group = value;
      for (const { name: member, schema: inner, required: must } of control.members) {
        if (next() % 3 === 0) continue;
        const held = isObject(group) ? group[member] : undefined;
        group = withMember(group, member, filled(inner, root, held, must, next, text, depth + 1), required);
      }
      return group ?? (required ? {} : undefined);
    }
    case 'list': {
      let list = value;
      for (let turn = next() % 4; turn > 0; turn--) {
        const length = Array.isArray(list) ? list.length : 0;
        list = withItem(list, length, startOf(control.items, root, depth + 1), required);
        const item = (list as unknown[])[length];
        const now = filled(control.items, root, item, true, next, text, depth + 1);
        if (now !== undefined) list = withItem(list, length, now, required);
      }
      return list;
    }
    default: {
      const read = typed(control, text(), required);
      return read === 'no value' ? value : read.value;
    }
  }
}

/** Everything that a control of the form would show at this pointer, or the group above where none is drawn. */
function reaches(schema: Schema, root: Schema, value: unknown, pointer: string, depth = 0): boolean {
  if (pointer === '') return true;
  const control = controlOf(schema, root, value, depth);
  if (control.kind === 'group') {
    const { own, of } = share(
      [{ at: pointer, message: '' }],
      control.members.map((one) => one.name),
    );
    const [found] = [...of];
    if (found === undefined) return own.length === 1;
    const inner = control.members.find((one) => one.name === found[0])!;
    return reaches(inner.schema, root, isObject(value) ? value[inner.name] : undefined, found[1][0]!.at, depth + 1);
  }
  if (control.kind === 'list' && Array.isArray(value)) {
    const [found] = [
      ...share(
        [{ at: pointer, message: '' }],
        value.map((_, index) => index),
      ).of,
    ];
    return found !== undefined && reaches(control.items, root, value[found[0]], found[1][0]!.at, depth + 1);
  }
  return control.kind === 'json';
}

suite('the form that is made from a schema', () => {
  test('with any input, its value has the shape of the schema, and each complaint finds a field', () => {
    fc.assert(
      fc.property(
        schemas,
        fc.infiniteStream(fc.nat(1000)),
        fc.infiniteStream(fc.oneof(fc.string(), fc.constantFrom('', '3', '-1.5', '1e400', 'abc'))),
        (schema, numbers, texts) => {
          const next = () => numbers.next().value as number;
          const text = () => texts.next().value as string;
          const value = filled(schema, schema, undefined, true, next, text);
          if (value === undefined) return;
          const validate = ajv().compile(schema);
          validate(value);
          for (const error of (validate.errors ?? []) as ErrorObject[]) {
            // Deeper than the form draws, JSON is typed, which may be of any type.
            if (error.instancePath.split('/').length <= 5)
              assert.ok(
                JUDGED.has(error.keyword),
                `${error.keyword} at ${error.instancePath}: ${JSON.stringify(value)}`,
              );
            assert.ok(reaches(schema, schema, value, error.instancePath), `nobody shows ${error.instancePath}`);
          }
        },
      ),
      { numRuns: runs(2000) },
    );
  });

  test('each value that fits is drawn by the control of its type, and comes back from its text as it was', () => {
    fc.assert(
      fc.property(leaf, fc.jsonValue(), (plain, value) => {
        const schema = { ...plain, $defs: { shared: { type: 'integer', minimum: 1 } } };
        const control = controlOf(schema, schema, value);
        if (control.kind === 'choice' || control.kind === 'switch') return;
        assert.deepEqual(typed(control, shownAs(control, value), true), { value: JSON.parse(JSON.stringify(value)) });
      }),
      { numRuns: runs(2000) },
    );
  });

  const cases: readonly (readonly [what: string, schema: Schema, value: unknown, kind: string])[] = [
    ['a text', { type: 'string' }, 'x', 'text'],
    ['a value of another type', { type: 'string' }, 7, 'json'],
    ['a text of two lines in a field of one', { type: 'string' }, 'a\nb', 'json'],
    ['a value that is not among the choices', { enum: ['a'] }, 'b', 'json'],
    ['no type', {}, 1, 'json'],
    ['two types', { type: ['string', 'null'] }, undefined, 'json'],
    ['a map of whatever', { type: 'object' }, {}, 'json'],
    ['keys by a pattern', { type: 'object', properties: { a: {} }, patternProperties: { '^x': {} } }, {}, 'json'],
    ['a reference to nowhere', { $ref: '#/$defs/none' }, 1, 'json'],
    ['a reference to itself', { $ref: '#' }, 1, 'json'],
    ['half an escape in a reference', { $ref: '#/%' }, 1, 'json'],
    ['members that are no schema', { type: 'object', properties: { a: true } }, {}, 'group'],
    ['a schema that is nonsense', { type: 'object', properties: [], required: 3 }, {}, 'json'],
    ['a secret', { type: 'string', secret: true }, undefined, 'text'],
  ];
  for (const [what, schema, value, kind] of cases) {
    test(`${what} is drawn as ${kind}`, () => {
      assert.equal(controlOf(schema, schema, value).kind, kind);
    });
  }

  test('a schema of depth 20 and one that holds itself are drawn to a depth, and as JSON below it', () => {
    let deep: Schema = { type: 'string' };
    for (let turn = 0; turn < 20; turn++) deep = { type: 'object', properties: { x: deep }, required: ['x'] };
    assert.ok(JSON.stringify(startOf(deep, deep)).length < 200);
    const self: Schema = { type: 'object', properties: { me: { $ref: '#' } }, required: ['me'] };
    assert.ok(JSON.stringify(startOf(self, self)).length < 200);
    assert.equal(controlOf(self, self, undefined, 5).kind, 'json');
  });

  test('the words of the Core name a member in its own way, and the field is found', () => {
    const at = (member: string) => errorsOf({ data: { reason: 'no', member } })[0]?.at;
    assert.equal(at('steps[0].name'), 'steps[0].name');
    assert.equal(at('params'), '');
    assert.equal(at('params.a'), 'a');
    assert.deepEqual(share([{ at: 'a.b.c', message: 'm' }], ['a', 'a.b']).of.get('a.b'), [{ at: 'c', message: 'm' }]);
    assert.equal(errorsOf(new Error('it broke'))[0]?.message, 'it broke');
    assert.deepEqual(errorsOf({ data: { reason: 'r', pointer: '/a/0' } }), [{ at: '/a/0', message: 'r' }]);
  });
});
