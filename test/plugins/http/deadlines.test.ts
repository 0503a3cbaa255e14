/** `Device-Deadline-Ms` of a request is what `meta.deadlineMs` is over JSON-RPC (decisions D9b). */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type CallContext, steadyMs } from '@device-core/plugin-api';
import type { Operation } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Front, startFront } from './front.ts';

const OBJECT = { type: 'object' } as const;
const row = (name: string, rest: Operation['rest'], run: Operation['run'], more: object = {}) =>
  ({
    name,
    summary: name,
    anonymous: true,
    errors: [],
    params: OBJECT,
    result: OBJECT,
    rest,
    run,
    ...more,
  }) as Operation<never, unknown>;
const left = async (_: unknown, { deadline }: CallContext) => ({ left: deadline - steadyMs() });
const forever = () => new Promise(() => undefined) as never;

let front: Front;
let ran = 0;
before(async () => {
  front = await startFront([
    row('test.left', { method: 'GET', path: '/left' }, left),
    row('test.short', { method: 'GET', path: '/short' }, left, { timeoutMs: 1_000 }),
    row('test.forever', { method: 'GET', path: '/forever' }, forever),
    row('test.post', { method: 'POST', path: '/post' }, forever),
    row('test.health', { method: 'GET', path: '/health' }, forever),
    row('test.file', { method: 'POST', path: '/file', raw: true, bodyLimit: 1_000 }, forever, {
      params: { type: 'object', properties: { file: { type: 'string' } } },
    }),
    row('test.counted', { method: 'GET', path: '/counted' }, async () => ({ ran: ++ran })),
    row('test.guarded', { method: 'GET', path: '/guarded' }, async () => ({}), { anonymous: false }),
  ]);
});
after(() => front[Symbol.asyncDispose]());
after(leakCheck());

const withDeadline = (ms: string) => ({ headers: { 'Device-Deadline-Ms': ms } });

describe('the deadline of a request', () => {
  for (const [path, options] of [
    ['/forever', {}],
    ['/v1/forever', {}],
    ['/health', {}],
    ['/post', { body: {} }],
    ['/file', { method: 'POST', body: Buffer.from('x'), headers: { 'content-type': 'application/octet-stream' } }],
  ] as const)
    it(`ends ${path} with TIMEOUT, over TCP and the Unix socket`, async () => {
      for (const unix of [false, true]) {
        const { headers } = { headers: {}, ...options };
        const asked = { ...options, unix, headers: { ...headers, 'device-deadline-ms': '40' } };
        const { status, body } = await front.ask(path, asked);
        assert.deepEqual([status, body.code], [504, 'TIMEOUT']);
      }
    });

  const taken: readonly (readonly [ms: string, path: string, least: number, most: number])[] = [
    ['5000', '/left', 3_000, 5_000],
    ['5000.5', '/left', 3_000, 5_001],
    ['900000', '/left', 28_000, 30_000],
    ['60000', '/short', 500, 1_000],
    ['999999999999999', '/left', 28_000, 30_000],
  ];
  for (const [ms, path, least, most] of taken)
    it(`of ${ms} ms only shortens the limit of ${path}`, async () => {
      const { body } = await front.ask(path, withDeadline(ms));
      assert.ok(body.left > least && body.left <= most, `${body.left} ms were left`);
    });

  it('of nothing is over, and nothing is begun', async () => {
    const { status, body } = await front.ask('/counted', withDeadline('0'));
    assert.deepEqual([status, body.code, ran], [504, 'TIMEOUT', 0]);
    assert.equal((await front.ask('/counted')).body.ran, 1);
  });

  for (const wrong of [
    'soon',
    '-1',
    '+5',
    '1e3',
    '0x10',
    'NaN',
    'Infinity',
    '1 2',
    '10, 20',
    '1.',
    '.5',
    '1,5',
    '9'.repeat(16),
    '',
  ])
    it(`that is ${JSON.stringify(wrong)} is refused, and nothing is begun`, async () => {
      const before = ran;
      for (const path of ['/counted', '/health', '/post', '/file']) {
        const posted = { method: 'POST', body: path === '/file' ? Buffer.from('x') : {} };
        const type = path === '/file' ? { 'content-type': 'application/octet-stream' } : {};
        const options = path === '/post' || path === '/file' ? posted : {};
        const answer = await front.ask(path, { ...options, headers: { ...type, 'device-deadline-ms': wrong } });
        assert.deepEqual([answer.status, answer.body.code], [400, 'REQUEST_INVALID'], path);
        assert.match(answer.body.error, /the header Device-Deadline-Ms must be a number of milliseconds/);
      }
      assert.equal(ran, before);
    });

  it('is looked at after who asks', async () => {
    assert.equal((await front.ask('/guarded', withDeadline('soon'))).status, 401);
  });
});
