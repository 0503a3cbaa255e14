/** Which operation a request line asks for. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError, type OperationInfo, type RestBinding } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { FrontEnd } from '../../../plugins/interface/http/front-end.ts';
import { parseQuery } from '../../../plugins/interface/http/query.ts';
import { Routes } from '../../../plugins/interface/http/routes.ts';
import { runs } from '../../fixtures/runs.ts';

after(leakCheck());

const operation = (name: string, method: RestBinding['method'], path: string): OperationInfo => ({
  name,
  summary: name,
  params: { type: 'object' },
  result: { type: 'object' },
  rest: { method, path },
  errors: [],
});

const routes = new Routes([
  operation('find', 'GET', '/find'),
  operation('get', 'GET', '/config/:key'),
  operation('put', 'PUT', '/config/:name'),
  operation('fixed', 'GET', '/config/special/x'),
  operation('two', 'GET', '/config/:first/:second'),
  operation('tail', 'GET', '/any/:x/tail'),
]);

function found(method: string, url: string): string {
  const answer = routes.find(method, url);
  if (answer === undefined) return 'none';
  if (answer instanceof CoreError) return answer.code;
  return [answer.route.operation.name, ...answer.values, ...(answer.query === '' ? [] : [`?${answer.query}`])].join(
    ' ',
  );
}

const LONG = 'k'.repeat(513);

describe('a request line', () => {
  const cases: readonly (readonly [method: string, url: string, expected: string])[] = [
    ['GET', '/find', 'find'],
    ['HEAD', '/find', 'find'],
    ['POST', '/find', 'none'],
    ['PROPFIND', '/find', 'none'],
    ['GET', '/v1/find', 'find'],
    ['GET', '/v1/v1/find', 'none'],
    ['GET', '/v2/find', 'none'],
    ['GET', '/Find', 'none'],
    ['GET', '/find/', 'none'],
    ['GET', '//find', 'none'],
    ['GET', '/f%69nd', 'find'],
    ['GET', '/find?a=1?b', 'find ?a=1?b'],
    ['GET', '/find#a', 'find ?a'],
    ['GET', 'http://localhost/find?a', 'find ?a'],
    ['GET', 'HTTP://localhost:1/v1/config/a', 'get a'],
    ['GET', 'http://localhost', 'none'],
    ['GET', 'http:///find', 'REQUEST_INVALID'],
    ['GET', 'http://localhost/find#a', 'REQUEST_INVALID'],
    ['OPTIONS', '*', 'none'],
    ['GET', '/config/a', 'get a'],
    ['PUT', '/config/a', 'put a'],
    ['DELETE', '/config/a', 'none'],
    ['GET', '/config/', 'get '],
    ['GET', '/config', 'none'],
    ['GET', '/config/a%2Fb', 'get a/b'],
    ['GET', '/config/%25zz', 'get %zz'],
    ['GET', '/config/%zz', 'REQUEST_INVALID'],
    ['GET', '/nothing/%C3', 'REQUEST_INVALID'],
    ['GET', '/config/special', 'get special'],
    ['GET', '/config/special/x', 'fixed'],
    ['GET', '/config/special/y', 'two special y'],
    ['GET', '/any/a/tail', 'tail a'],
    ['GET', '/any/a/other', 'none'],
    ['GET', `/config/${'k'.repeat(512)}`, `get ${'k'.repeat(512)}`],
    ['GET', `/config/${'%41'.repeat(512)}`, `get ${'A'.repeat(512)}`],
    ['GET', `/config/${LONG}`, 'REQUEST_INVALID'],
    ['DELETE', `/config/${LONG}`, 'none'],
    ['GET', `/${LONG}`, 'none'],
  ];
  for (const [method, url, expected] of cases)
    it(`${method} ${url.slice(0, 60)}: ${expected.slice(0, 40)}`, () => assert.equal(found(method, url), expected));

  it('gives every param back as it was, whatever it is', () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(text, text, (first, second) => {
        const answer = routes.find('GET', `/config/${encodeURIComponent(first)}/${encodeURIComponent(second)}`);
        assert.ok(answer && !(answer instanceof CoreError));
        const fixed = first === 'special' && second === 'x';
        assert.deepEqual(answer.values, fixed ? [] : [first, second]);
      }),
      { numRuns: runs(2_000) },
    );
  });

  it('never fails, whatever it is', () => {
    const parts = fc.constantFrom(
      '/',
      'config',
      'any',
      'v1',
      '%',
      '%2',
      '%41',
      '%C3',
      '?',
      '#',
      '=',
      '://',
      'http',
      'é',
    );
    fc.assert(
      fc.property(fc.array(parts, { maxLength: 12 }), (list) => void routes.find('GET', list.join(''))),
      { numRuns: runs(5_000) },
    );
  });
});

describe('a query', () => {
  const cases: readonly (readonly [text: string, expected: Record<string, string | string[]>])[] = [
    ['', {}],
    ['a=1&b=2', { a: '1', b: '2' }],
    ['a=1&a=2&a=3', { a: ['1', '2', '3'] }],
    ['a', { a: '' }],
    ['&&a=', { a: '' }],
    ['=x', { '': 'x' }],
    ['a=b=c', { a: 'b=c' }],
    ['a+b=c+d%20e', { 'a b': 'c d e' }],
    ['a=%zz', { a: '%zz' }],
    ['%61=%C3%A9', { a: 'é' }],
  ];
  for (const [text, expected] of cases)
    it(text === '' ? 'that is empty' : text, () => assert.deepEqual({ ...parseQuery(text) }, expected));

  it('has no members but its own', () => {
    assert.equal('toString' in parseQuery('a=1'), false);
    assert.deepEqual(Object.keys(parseQuery('__proto__=1')), ['__proto__']);
  });
});

describe('a change of the table', () => {
  it('costs nothing until somebody asks', () => {
    let looked = 0;
    const rows = Array.from({ length: 200 }, (_, n) => ({
      ...operation(`test.row${n}`, 'GET', `/row${n}`),
      get rest(): RestBinding {
        looked++;
        return { method: 'GET', path: `/row${n}` };
      },
    }));
    const front = new FrontEnd(...([undefined, undefined, undefined, undefined, undefined] as unknown as Parts));
    for (let n = 0; n < 50; n++) front.update(rows.slice(n));
    assert.equal(looked, 0);
  });
});

type Parts = ConstructorParameters<typeof FrontEnd>;
