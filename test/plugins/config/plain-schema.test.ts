/** What is answered without the compiler is what the compiler would answer. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { fitsPlainly } from '../../../plugins/state/config/plain-schema.ts';
import { runs } from '../../fixtures/runs.ts';

after(leakCheck());

/** One compiler for all schemas: making one takes longer than a schema does. */
const ajv = new Ajv({ strict: false, logger: false });

test('a value that fits plainly fits its schema under Ajv, too', () => {
  const number = fc.oneof(fc.integer({ min: -3, max: 3 }), fc.constantFrom(0.5, -0, 1e300, Number.NaN));
  const text = fc.constantFrom('', 'a', 'ab', '😀', '😀😀', '1');
  const value = fc.oneof(number, text, fc.boolean(), fc.constantFrom(null, undefined, [], {}, [1]));
  const some = (type: fc.Arbitrary<unknown>, words: Record<string, fc.Arbitrary<unknown>>) =>
    fc.record({ type, ...words }, { requiredKeys: ['type'] });
  const bounds = { minimum: number, maximum: number };
  const schema = fc.oneof(
    some(fc.constant('boolean'), { default: fc.boolean(), description: text, not: fc.constant({}) }),
    some(fc.constantFrom('integer', 'number'), bounds),
    some(fc.constantFrom('integer', 'number'), { enum: fc.array(number, { minLength: 1, maxLength: 3 }) }),
    some(fc.constant('string'), { maxLength: fc.oneof(fc.nat(2), fc.constant(-1)) }),
    some(fc.constant('string'), { enum: fc.array(text, { maxLength: 3 }) }),
    some(fc.constantFrom('object', 'null', 'none', ['string', 'null']), { ...bounds, maxLength: fc.nat(2) }),
  );
  let [plain, whole] = [0, 0];
  fc.assert(
    fc.property(schema, value, (of, one) => {
      let fits = false;
      try {
        fits = ajv.validate(of, one) as boolean;
      } catch {
        // no schema at all
      }
      whole += Number(fits);
      plain += Number(fitsPlainly(of, one));
      if (fitsPlainly(of, one)) assert.ok(fits, JSON.stringify([of, one]));
    }),
    { numRuns: runs(1_000) },
  );
  assert.ok(plain > whole / 4, `${plain} of ${whole}`);
});

test('values of flags need no compiler', () => {
  const cases: readonly (readonly [schema: Record<string, unknown>, value: unknown, fits: boolean])[] = [
    [{ type: 'boolean', default: false, description: 'a' }, true, true],
    [{ type: 'integer', default: 3, description: 'a', minimum: 1, maximum: 9 }, 9, true],
    [{ type: 'integer', default: 3, description: 'a', minimum: 1, maximum: 9 }, 9.5, false],
    [{ type: 'string', default: 'a', description: 'a', enum: ['a', 'b'], maxLength: 1_024 }, 'b', true],
    [{ type: 'string', default: 'a', description: 'a', maxLength: 1 }, 'ab', false],
  ];
  for (const [schema, value, fits] of cases) assert.equal(fitsPlainly(schema, value), fits, JSON.stringify(schema));
});
