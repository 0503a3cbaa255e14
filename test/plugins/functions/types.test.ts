import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { functions } from '@device-core/plugin-api/services/functions';
import fc from 'fast-check';
import { codeOf, OPERATOR } from '../../fixtures/operation-calls.ts';
import { runs } from '../../fixtures/runs.ts';
import { start } from './start.ts';

const APP = 'com.example.echo';
const TYPES = ['string', 'int', 'number', 'bool', 'object', 'array', 'bytes', 'any'] as const;
type TypeName = (typeof TYPES)[number];

const base64 = fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('base64'));
const json = fc.jsonValue({ maxDepth: 2 });

const FITTING: Record<TypeName, fc.Arbitrary<unknown>> = {
  string: fc.string(),
  int: fc.maxSafeInteger(),
  number: fc.double({ noNaN: true, noDefaultInfinity: true }),
  bool: fc.boolean(),
  object: fc.dictionary(fc.string(), json),
  array: fc.array(json),
  bytes: base64,
  any: json,
};

/** An independent statement of what each type means. */
function fits(type: TypeName, value: unknown): boolean {
  switch (type) {
    case 'any':
      return value !== undefined;
    case 'int':
      return typeof value === 'number' && Number.isInteger(value) && Math.abs(value) <= 2 ** 53 - 1;
    case 'bool':
      return value === true || value === false;
    case 'array':
      return Array.isArray(value);
    case 'object':
      return Object.prototype.toString.call(value) === '[object Object]';
    case 'bytes':
      return typeof value === 'string' && Buffer.from(value, 'base64').toString('base64') === value;
    default:
      return typeof value === type && !Number.isNaN(value) && Math.abs(value as number) !== Number.POSITIVE_INFINITY;
  }
}

async function echo() {
  const started = await start();
  const service = started.host.service(functions);
  const sent: { result: unknown } = { result: {} };
  started.sockets.join(APP, () => sent.result);
  for (const type of TYPES) {
    for (const [optional, mark] of [
      ['', ''],
      ['_optional', '?'],
    ]) {
      const types = { v: `${type}${mark}` };
      await service.register({
        app: APP,
        functions: [
          { name: `in_${type}${optional}`, version: '1.0.0', inputs: types },
          { name: `out_${type}${optional}`, version: '1.0.0', returns: types },
        ].map((entry) => ({ ...entry, name: entry.name.toLowerCase() })),
      });
    }
  }
  const pass = (name: string, inputs: Record<string, unknown>) =>
    codeOf(service.call({ app: APP, name, inputs, caller: OPERATOR }));
  const answer = (name: string, result: unknown) => {
    sent.result = result;
    return codeOf(service.call({ app: APP, name, caller: OPERATOR }));
  };
  return { started, pass, answer };
}

suite('type strings', () => {
  test('a value that fits a type passes on the way in and on the way back', async () => {
    const { started, pass, answer } = await echo();
    await using _ = started;
    const typed = fc.constantFrom(...TYPES).chain((type) => fc.tuple(fc.constant(type), FITTING[type]));
    await fc.assert(
      fc.asyncProperty(typed, async ([type, v]) => {
        assert.equal(await pass(`in_${type}`, { v }), 'no error');
        assert.equal(await answer(`out_${type}`, { v }), 'no error');
      }),
      { numRuns: runs(300) },
    );
  });

  test('any value passes exactly where it fits, and optional members may be absent, but not wrong', async () => {
    const { started, pass, answer } = await echo();
    await using _ = started;
    const value = fc.oneof(
      json,
      fc.double(),
      fc.string(),
      base64,
      fc.constantFrom(undefined, 'AB==', 'AA=', 'A===', 'AAA-', ' ', 'QUI=\n', 2 ** 53, -0),
    );
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...TYPES), value, async (type, v) => {
        const good = fits(type, v);
        assert.equal(await pass(`in_${type}`, { v }), good ? 'no error' : 'PARAMS_INVALID');
        assert.equal(await answer(`out_${type}`, { v }), good ? 'no error' : 'RESULT_INVALID');
        const absent = v === undefined;
        assert.equal(await pass(`in_${type}_optional`, { v }), good || absent ? 'no error' : 'PARAMS_INVALID');
      }),
      { numRuns: runs(500) },
    );
    for (const type of TYPES) {
      assert.equal(await pass(`in_${type}`, {}), 'PARAMS_INVALID');
      assert.equal(await pass(`in_${type}_optional`, {}), 'no error');
      assert.equal(await answer(`out_${type}`, {}), 'RESULT_INVALID');
      assert.equal(await answer(`out_${type}_optional`, {}), 'no error');
    }
  });

  test('only the eight names, each with at most one "?", are types', async () => {
    const { started } = await echo();
    await using _ = started;
    const service = started.host.service(functions);
    const text = fc.oneof(
      fc.string({ maxLength: 10 }),
      fc.constantFrom(...TYPES),
      fc.constantFrom('String', 'int??', '?', ' int', 'toString', 'constructor?', 'float', 'int ?', ''),
    );
    let number = 0;
    await fc.assert(
      fc.asyncProperty(text, async (type) => {
        number += 1;
        const valid = (TYPES as readonly string[]).includes(type.endsWith('?') ? type.slice(0, -1) : type);
        const entry = { name: `t${number}`, version: '1.0.0', inputs: { v: type } };
        assert.equal(
          await codeOf(service.register({ app: `com.example.a${number % 7}`, functions: [entry] })),
          valid ? 'no error' : 'FUNCTION_INVALID',
        );
      }),
      { numRuns: runs(400) },
    );
  });

  test('members that were not declared are refused both ways, under any name', async () => {
    const { started, pass, answer } = await echo();
    await using _ = started;
    for (const extra of ['w', 'constructor', 'toString', '']) {
      assert.equal(await pass('in_any', { v: 1, [extra]: 1 }), 'PARAMS_INVALID', extra);
      assert.equal(await answer('out_any', { v: 1, [extra]: 1 }), 'RESULT_INVALID', extra);
    }
    assert.equal(await pass('in_any', JSON.parse('{"v":1,"__proto__":1}')), 'PARAMS_INVALID');
    for (const result of ['text', 5, true, [1]])
      assert.equal(await answer('in_any_optional', result), 'RESULT_INVALID');
    for (const result of [null, undefined, {}, { free: 1 }])
      assert.equal(await answer('in_any_optional', result), 'no error');
  });
});
