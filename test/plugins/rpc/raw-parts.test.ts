import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Cut, cutAnswer, cutCall, keepSources } from '../../../plugins/interface/rpc/raw-parts.ts';
import { ANY_CHARACTER } from '../../fixtures/any-text.ts';
import { runs } from '../../fixtures/runs.ts';

const LONG = 'x'.repeat(20_000);
const meta = { callId: 'a-1', deadlineMs: 5_000 };

const joined = ({ before, bytes, after }: Cut): string => `${before}${bytes}${after}`;

/** The call into the other app that a request makes, where its bytes were kept. */
function handed(line: string): { readonly text: string; readonly whole: object } | undefined {
  const message = JSON.parse(line);
  keepSources(message, Buffer.from(line));
  const whole = { jsonrpc: '2.0', id: 'core-1', method: 'a.b', params: message.params.inputs, meta };
  const cut = cutCall(whole);
  return cut && { text: joined(cut), whole };
}

const request = (inputs: string, more = ''): string =>
  `{"jsonrpc":"2.0","id":1,"method":"functions.call","params":{"app":"b","name":"a.b","inputs":${inputs}}${more}}`;

test('large parameters and results go on as the bytes that came', () => {
  const values: readonly object[] = [
    { text: LONG },
    { text: 'ä€𝄞'.repeat(5_000), n: 0, list: [1, -2, 999_999_999_999_999, true, false, null, [], {}] },
    { list: Array.from({ length: 3_000 }, (_, id) => ({ id, name: `item ${id}`, on: id % 2 === 0 })) },
  ];
  for (const value of values) {
    const call = handed(request(JSON.stringify(value), ',"meta":{"deadlineMs":100}'));
    assert.equal(call?.text, JSON.stringify(call?.whole));
    const answer = { jsonrpc: '2.0', id: 'core-1', result: value };
    keepSources(answer, Buffer.from(JSON.stringify(answer)));
    const whole = { jsonrpc: '2.0', id: 7, result: { result: value } };
    assert.equal(joined(cutAnswer(whole)!), JSON.stringify(whole));
  }
});

test('text that might be read in another way than it was checked is written anew', () => {
  const cases: Readonly<Record<string, string>> = {
    'a key twice': request(`{"text":1,"text":"${LONG}"}`),
    'a key twice, deep inside': request(`{"text":"${LONG}","a":[{"b":1,"b":2}]}`),
    'inputs twice': request(`{"text":"${LONG}y"},"inputs":{"text":"${LONG}"}`),
    'params twice': request(`{"text":"${LONG}y"}`, `,"params":{"inputs":{"text":"${LONG}"}}`),
    'params twice, the last one short': request(`{"text":"${LONG}"}`, ',"params":{"inputs":{}}'),
    'an escape': request(`{"text":"${LONG}\\u0041"}`),
    'an escape in a key': request(`{"t\\u0065xt":"${LONG}"}`),
    'a fraction': request(`{"text":"${LONG}","n":1.0}`),
    'an exponent': request(`{"text":"${LONG}","n":1e999}`),
    'minus zero': request(`{"text":"${LONG}","n":-0}`),
    'more digits than a number keeps': request(`{"text":"${LONG}","n":12345678901234567890}`),
    blanks: request(`{"text": "${LONG}"}`),
    'another operation': request(`{"text":"${LONG}"}`).replace('functions.call', 'other.call'),
    'what is short': request('{"text":"short"}'),
  };
  for (const [name, line] of Object.entries(cases)) assert.equal(handed(line), undefined, name);
});

test('an app writes any text, and only its parsed form goes on', () => {
  const scalar = fc.oneof(
    fc.constantFrom(
      '1',
      '0',
      '-7',
      '-0',
      '1.50',
      '1e3',
      '123456789012345678',
      'true',
      'null',
      '""',
      '"\\n"',
      '"a\\"b"',
    ),
    fc.string({ unit: ANY_CHARACTER, maxLength: 60 }).map((text) => JSON.stringify(text)),
    fc.constant(`"${LONG}"`),
  );
  const key = fc.constantFrom('"a"', '"b"', '"\\u0061"', '"1"', '"__proto__"', '"inputs"');
  const blank = fc.constantFrom('', '', '', ' ', '\t');
  const { value } = fc.letrec<{ value: string; map: string; list: string }>((tie) => ({
    value: fc.oneof({ depthSize: 'small' }, scalar, tie('map'), tie('list')),
    map: fc
      .array(fc.tuple(key, blank, tie('value')), { maxLength: 4 })
      .map((members) => `{${members.map(([name, space, one]) => `${name}:${space}${one}`).join(',')}}`),
    list: fc.array(tie('value'), { maxLength: 4 }).map((items) => `[${items.join(',')}]`),
  }));
  const property = fc.property(value, value, (one, other) => {
    const line = request(`{"text":"${LONG}","one":${one}}`, `,"more":${other}`);
    const { inputs } = JSON.parse(line).params;
    const call = handed(line);
    if (!call) return;
    // The same text, but for keys like "1", which JavaScript puts first.
    assert.equal(call.text.length, JSON.stringify(call.whole).length);
    assert.deepEqual(JSON.parse(call.text).params, inputs);
  });
  fc.assert(property, { numRuns: runs(2_000) });
});
