/** Which operation a request line asks for, and what the routes cost who asks for nothing. */
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { after, before, describe, it } from 'node:test';
import type { Operation, RestBinding } from '@device-core/plugin-api/services/operations';
import { ISOLATION_VARIABLE, leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { runs } from '../../fixtures/runs.ts';
import { type Front, startFront } from './front.ts';

const noLeaks = leakCheck();

const TEXT = { type: 'string' };
const LIST = { type: 'array', items: TEXT };
const row = (name: string, method: RestBinding['method'], path: string): Operation<never, unknown> => ({
  name: `test.${name}`,
  summary: name,
  anonymous: true,
  params: {
    type: 'object',
    properties: { a: LIST, ...Object.fromEntries([...path.matchAll(/:(\w+)/g)].map(([, param]) => [param, TEXT])) },
  },
  result: { type: 'object' },
  rest: { method, path, bare: true },
  errors: [],
  run: async (params: object) => ({ name, ...params }),
});

const ROWS = [
  row('find', 'GET', '/find'),
  row('get', 'GET', '/config/:key'),
  row('put', 'PUT', '/config/:other'),
  row('fixed', 'GET', '/config/special/x'),
  row('two', 'GET', '/config/:first/:second'),
  row('tail', 'GET', '/any/:x/tail'),
  row('health', 'GET', '/health'),
];

/** Another thread has modules and a log of its own. */
const skip = process.env[ISOLATION_VARIABLE] ? 'another thread has modules of its own' : false;

describe('the routes', { skip }, () => {
  const isLoaded = () =>
    Object.keys(createRequire(import.meta.url).cache).some((file) => file.includes('/fastify/lib/'));
  const built = (front: Front) => front.host.logged.filter(({ message }) => message === 'routes built').length;

  it('are built at the first request for more than the health, once for all changes of the table', async () => {
    await using front = await startFront(ROWS, { tcp: false });
    for (let n = 0; n < 20; n++) {
      front.table.add(row(`more${n}`, 'GET', `/more${n}`));
      await front.settle();
    }
    assert.deepEqual((await front.ask('/health', { unix: true })).body, { name: 'health' });
    assert.deepEqual([isLoaded(), built(front)], [false, 0]);
    const answers = await Promise.all([1, 2, 3].map(() => front.ask('/find', { unix: true })));
    assert.deepEqual(answers[2]!.body, { name: 'find' });
    assert.deepEqual([isLoaded(), built(front)], [true, 1]);
  });
});

describe('a request line', () => {
  let front: Front;
  before(async () => {
    front = await startFront(ROWS, { tcp: false });
  });
  after(async () => {
    await front[Symbol.asyncDispose]();
    await noLeaks();
  });

  const asked = async (method: string, url: string): Promise<string> => {
    const answer = await front.raw(`${method} ${url} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`, {
      unix: true,
    });
    const [head, body = ''] = answer.split('\r\n\r\n');
    if (body === '') return head!.split(' ')[1]!;
    const { code, error, ...members } = JSON.parse(Buffer.from(body, 'latin1').toString());
    return code ?? Object.values(members).flat().join(' ');
  };

  const LONG = 'k'.repeat(513);
  const cases: readonly (readonly [method: string, url: string, expected: string])[] = [
    ['GET', '/find', 'find'],
    ['HEAD', '/find', '200'],
    ['HEAD', '/config/a', '200'],
    ['HEAD', '/health', '200'],
    ['POST', '/find', 'METHOD_NOT_ALLOWED'],
    ['PROPFIND', '/v1/find', 'METHOD_NOT_ALLOWED'],
    ['GET', '/v1/find', 'find'],
    ['GET', '/v1/health', 'health'],
    ['GET', '/health?a=1', 'health 1'],
    ['POST', '/health', 'METHOD_NOT_ALLOWED'],
    ['GET', '/v%31/find', 'find'],
    ['GET', '/V1/find', 'METHOD_NOT_FOUND'],
    ['GET', '/v1/v1/find', 'METHOD_NOT_FOUND'],
    ['GET', '/v2/find', 'METHOD_NOT_FOUND'],
    ['GET', '/Find', 'METHOD_NOT_FOUND'],
    ['GET', '/find/', 'METHOD_NOT_FOUND'],
    ['GET', '//find', 'METHOD_NOT_FOUND'],
    ['GET', '/f%69nd', 'find'],
    ['GET', '/find?a=1?b', 'find 1?b'],
    ['GET', '/find?a=1&a=2&a', 'find 1 2 '],
    ['GET', '/find?a=b=c&a=d+e%20f&a=%zz', 'find b=c d e f %zz'],
    ['GET', '/find?&&%61=%26', 'find &'],
    ['GET', '/find?b=1', 'PARAMS_INVALID'],
    ['GET', '/find?=x', 'PARAMS_INVALID'],
    ['GET', '/find?toString=1', 'PARAMS_INVALID'],
    ['GET', 'http://localhost/find?a=1', 'find 1'],
    ['GET', 'HTTP://localhost:1/v1/config/a', 'get a'],
    ['GET', 'http://localhost', 'METHOD_NOT_FOUND'],
    ['OPTIONS', '*', 'METHOD_NOT_FOUND'],
    ['GET', '/config/a', 'get a'],
    ['PUT', '/config/a', 'put a'],
    ['DELETE', '/config/a', 'METHOD_NOT_ALLOWED'],
    ['GET', '/config/', 'get '],
    ['GET', '/config', 'METHOD_NOT_FOUND'],
    ['GET', '/config/a%2Fb', 'get a/b'],
    ['GET', '/config/%25zz', 'get %zz'],
    ['GET', '/config/%zz', 'REQUEST_INVALID'],
    ['GET', '/v1/nothing/%C3', 'REQUEST_INVALID'],
    ['GET', '/config/special', 'get special'],
    ['GET', '/config/special/x', 'fixed'],
    ['GET', '/config/special/y', 'two special y'],
    ['GET', '/any/a/tail', 'tail a'],
    ['GET', '/any/a/other', 'METHOD_NOT_FOUND'],
    ['GET', `/config/${'k'.repeat(512)}`, `get ${'k'.repeat(512)}`],
    ['GET', `/config/${LONG}`, 'REQUEST_INVALID'],
    ['DELETE', `/config/${LONG}`, 'METHOD_NOT_ALLOWED'],
    ['GET', `/${LONG}`, 'METHOD_NOT_FOUND'],
  ];
  for (const [method, url, expected] of cases)
    it(`${method} ${url.slice(0, 60)}: ${expected.slice(0, 40)}`, async () =>
      assert.equal(await asked(method, url), expected));

  it('that cannot be read is quoted as it came', async () => {
    for (const url of ['/config/%zz', '/v1/config/%zz', '/v%31/config/%zz?a']) {
      const { body } = await front.ask(url, { unix: true });
      assert.equal(body.error, `REQUEST_INVALID: cannot read the request: '${url}' is not a valid url component`);
    }
    const { body } = await front.ask('/v1/nothing?a', { unix: true });
    assert.match(body.error, /^METHOD_NOT_FOUND: .*\/v1\/nothing\b/);
  });

  it('gives every param back as it was, with any value', async () => {
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(text, text, async (first, second) => {
        const path = `/config/${encodeURIComponent(first)}/${encodeURIComponent(second)}`;
        const { body } = await front.ask(path, { unix: true });
        const fixed = first === 'special' && second === 'x';
        assert.deepEqual(body, fixed ? { name: 'fixed' } : { name: 'two', first, second });
      }),
      { numRuns: runs(300) },
    );
  });
});
