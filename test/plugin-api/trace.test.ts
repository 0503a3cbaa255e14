/** The header of W3C Trace Context, ids, and log lines that name a trace. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Logger } from '@device-core/plugin-api';
import {
  beginTrace,
  checkedTrace,
  formatTraceparent,
  logOfTrace,
  parseTraceparent,
  slowFrom,
} from '@device-core/plugin-api/tracing';
import fc from 'fast-check';

const T = '4bf92f3577b34da6a3ce929d0e0e4736';
const S = '00f067aa0ba902b7';
const TRACE = { traceId: T, spanId: S, sampled: true };
const GOOD = `00-${T}-${S}-01`;

const hex = (digits: number) =>
  fc
    .array(fc.constantFrom(...'0123456789abcdef'), { minLength: digits, maxLength: digits })
    .map((all) => all.join(''))
    .filter((text) => !/^0+$/.test(text));
const parts = { traceId: hex(32), spanId: hex(16), sampled: fc.boolean() };
const context = fc.record(parts, { noNullPrototype: true });

describe('a traceparent', () => {
  const taken: readonly (readonly [what: string, text: string, sampled: boolean])[] = [
    ['of version 00', GOOD, true],
    ['that is not sampled', `00-${T}-${S}-00`, false],
    ['with flags that nobody knows yet', `00-${T}-${S}-fe`, false],
    ['with all flags', `00-${T}-${S}-ff`, true],
    ['of another version', `cc-${T}-${S}-01`, true],
    ['of another version with more members', `cc-${T}-${S}-01-what.the.future-brings`, true],
    ['of another version with an empty member', `cc-${T}-${S}-01-`, true],
  ];
  for (const [what, text, sampled] of taken)
    it(`${what} is taken`, () => assert.deepEqual(parseTraceparent(text), { ...TRACE, sampled }));

  const ignored: readonly (readonly [what: string, text: unknown])[] = [
    ['nothing', undefined],
    ['no text', 7],
    ['an object', { traceparent: GOOD }],
    ['empty', ''],
    ['in upper case', GOOD.toUpperCase()],
    ['with one digit in upper case', GOOD.replace('b', 'B')],
    ['of an all-zero trace', `00-${'0'.repeat(32)}-${S}-01`],
    ['of an all-zero span', `00-${T}-${'0'.repeat(16)}-01`],
    ['of version ff', `ff-${T}-${S}-01`],
    ['of version 00 with more members', `${GOOD}-more`],
    ['of version 00 with an empty member', `${GOOD}-`],
    ['of another version with something else behind it', `cc-${T}-${S}-01.more`],
    ['with a digit too few', `00-${T.slice(1)}-${S}-01`],
    ['with a digit too many', `00-${T}0-${S}-01`],
    ['without flags', `00-${T}-${S}`],
    ['with one digit of flags', `00-${T}-${S}-1`],
    ['with other characters', `00-${T.replace('4', 'g')}-${S}-01`],
    ['with blanks around it', ` ${GOOD} `],
    ['with a newline behind it', `${GOOD}\n`],
    ['with underscores', GOOD.replaceAll('-', '_')],
    ['that came twice', `${GOOD}, ${GOOD}`],
    ['of another version that came ten times', Array(10).fill(`cc-${T}-${S}-01-more`).join(', ')],
    ['of another version with controls', `cc-${T}-${S}-01-a\u0000b`],
    ['of 10 KB', `cc-${T}-${S}-01-${'x'.repeat(10_000)}`],
  ];
  for (const [what, text] of ignored) it(`${what} is ignored`, () => assert.equal(parseTraceparent(text), undefined));

  it('is read as it was written, with any contents', () => {
    fc.assert(
      fc.property(context, (trace) => {
        const text = formatTraceparent(trace);
        assert.deepEqual(parseTraceparent(text), trace);
        assert.equal(text.length, 55);
      }),
    );
  });

  it('is never made of a text that says something else', () => {
    const pieces = fc.array(fc.constantFrom('00', 'ff', 'cc', T, S, '-', '01', 'A', '0', ',', ' ', 'x'), {
      maxLength: 12,
    });
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          pieces.map((all) => all.join('')),
        ),
        (text) => {
          const trace = parseTraceparent(text);
          if (trace) assert.ok(text.startsWith(`-${trace.traceId}-${trace.spanId}-`, 2));
        },
      ),
      { numRuns: 2_000 },
    );
  });
});

describe('a context', () => {
  it('within another one is of the same trace; a link and nothing begin a new one', () => {
    const inner = beginTrace(TRACE);
    assert.equal(inner.traceId, T);
    assert.notEqual(inner.spanId, S);
    assert.equal(inner.sampled, true);
    for (const parent of [undefined, { ...TRACE, remote: 'link' as const }]) {
      const fresh = beginTrace(parent);
      assert.notEqual(fresh.traceId, T);
      assert.equal(fresh.sampled, false);
      assert.deepEqual(parseTraceparent(formatTraceparent(fresh)), fresh);
    }
    assert.equal(new Set(Array.from({ length: 5_000 }, () => beginTrace(undefined).traceId)).size, 5_000);
  });

  it('of an untrusted caller is read anew', () => {
    fc.assert(
      fc.property(fc.anything(), (given) => {
        const trace = checkedTrace(given);
        if (trace) assert.ok(parseTraceparent(formatTraceparent(trace)));
      }),
    );
    assert.deepEqual(checkedTrace({ ...TRACE, remote: 'parent', more: 1 }), { ...TRACE, remote: 'parent' });
    assert.deepEqual(checkedTrace({ ...TRACE, remote: 'mine' }), TRACE);
    assert.equal(checkedTrace({ ...TRACE, traceId: `${T}\n` }), undefined);
  });
});

it('a log of a trace names it in each line, by its last eight digits', () => {
  const lines: object[] = [];
  const write = (fields: object) => void lines.push(fields);
  const log: Logger = { debug: write, info: write, warn: write, error: write };
  let asked = 0;
  const traced = logOfTrace(log, () => {
    asked++;
    return TRACE;
  });
  assert.equal(asked, 0);
  traced.debug({ a: 1 }, 'x');
  traced.error({}, 'x');
  logOfTrace(log, TRACE).info({}, 'x');
  assert.deepEqual(lines, [{ a: 1, trace: '0e0e4736' }, { trace: '0e0e4736' }, { trace: '0e0e4736' }]);
  assert.equal(logOfTrace(log, undefined), log);
});

it('work is slow by the longest beginning of its name that is listed', () => {
  const rules = { 'operation ': 1_000, 'operation voice.': 60_000, function: 2_000 };
  assert.equal(slowFrom(rules, 'operation config.set'), 1_000);
  assert.equal(slowFrom(rules, 'operation voice.listen'), 60_000);
  assert.equal(slowFrom(rules, 'function a.b'), 2_000);
  assert.equal(slowFrom(rules, 'stt'), Number.POSITIVE_INFINITY);
  assert.equal(slowFrom({ ...rules, '': 5 }, 'stt'), 5);
});
