/** Doors of plugins: a protocol of their own at one path, behind the checks of every request. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { type DoorAnswer, httpServer } from '@device-core/plugin-api/inside/services/http-server';
import { ISOLATION_VARIABLE, leakCheck } from '@device-core/plugin-api/testing';
import { eventually } from '../../fixtures/eventually.ts';
import { type Front, startFront } from './front.ts';

after(leakCheck());

const opened = (front: Front): Disposable =>
  front.host
    .service(httpServer)
    .door('/echo', async ({ method, token, body, fault, headers, caller }): Promise<DoorAnswer> => {
      if (fault) return { status: fault.status, json: { fault: fault.code } };
      const { ask } = Object(body) as { readonly ask?: string };
      if (ask === 'caller') return { status: 200, json: await caller() };
      if (ask === 'error') throw new CoreError('BUSY', { what: 'an echo', limit: 1 });
      if (ask === 'events') return { status: 200, events: twice() };
      if (ask === 'nothing') return { status: 202 };
      return { status: 200, headers: { 'x-echo': '1' }, json: { method, token, body, kind: headers['x-kind'] } };
    });

async function* twice(): AsyncGenerator<object> {
  yield { at: 1 };
  yield { at: 2 };
}

describe('a door', () => {
  for (const [title, options, status, wanted] of [
    [
      'gets method, body, token and headers',
      { method: 'POST', body: { a: 1 }, token: 'abc', headers: { 'x-kind': 'k' } },
      200,
      { method: 'POST', body: { a: 1 }, token: 'abc', kind: 'k' },
    ],
    ['is open to every method', { method: 'DELETE' }, 200, { method: 'DELETE' }],
    ['is open to GET without a body', {}, 200, { method: 'GET' }],
    ['is told of a body that is no JSON', { method: 'POST', body: '{' }, 400, { fault: 'JSON_INVALID' }],
    [
      'is told of another type',
      { method: 'POST', body: 'x', headers: { 'content-type': 'text/plain' } },
      400,
      { fault: 'CONTENT_TYPE_INVALID' },
    ],
    [
      'is told of a body beyond 256 KiB',
      { method: 'POST', body: JSON.stringify('x'.repeat(300_000)) },
      413,
      { fault: 'BODY_TOO_LARGE' },
    ],
    ['answers without a body', { method: 'POST', body: { ask: 'nothing' } }, 202, undefined],
    [
      'is not for a foreign page',
      { method: 'POST', body: {}, headers: { origin: 'http://evil.example' } },
      403,
      undefined,
    ],
    ['is not for a rebound name', { method: 'POST', body: {}, headers: { host: 'evil.example' } }, 403, undefined],
    ['answers an error of the table as REST does', { method: 'POST', body: { ask: 'error' } }, 429, undefined],
  ] as const)
    it(title, async () => {
      await using front = await startFront();
      using _door = opened(front);
      const answer = await eventually(async () => {
        const said = await front.ask('/echo', options);
        return said.status === 404 ? undefined : said;
      }, 'the door');
      assert.equal(answer.status, status, answer.text);
      if (wanted) assert.deepEqual(answer.body, wanted);
    });

  it('knows the caller as REST does, on both transports', async () => {
    await using front = await startFront();
    using _door = opened(front);
    const ask = (more: object) => front.ask('/echo', { method: 'POST', body: { ask: 'caller' }, ...more });
    await eventually(async () => (await ask({})).status !== 404, 'the door');
    assert.equal((await ask({ token: front.operatorToken })).body.kind, 'operator');
    assert.equal((await ask({ unix: true })).body.kind, 'operator');
    assert.equal((await ask({})).body.kind, 'anonymous');
    assert.equal((await ask({ token: 'wrong' })).status, 401);
  });

  it('streams messages, and goes with who opened it', async () => {
    await using front = await startFront();
    const door = opened(front);
    const ask = () => front.ask('/echo', { method: 'POST', body: { ask: 'events' }, token: front.operatorToken });
    await eventually(async () => (await ask()).status === 200, 'the door');
    const { headers, text } = await ask();
    assert.match(headers['content-type']!, /^text\/event-stream/);
    assert.equal(text, 'data: {"at":1}\n\ndata: {"at":2}\n\n');
    // From another thread the refusal is told in the log alone.
    if (!process.env[ISOLATION_VARIABLE]) {
      assert.throws(() => opened(front), { code: 'PARAMS_INVALID' });
      assert.throws(() => front.host.service(httpServer).door('echo', async () => ({ status: 200 })), {
        code: 'PARAMS_INVALID',
      });
    }
    door[Symbol.dispose]();
    await eventually(async () => (await ask()).status === 404, 'no door');
  });
});
