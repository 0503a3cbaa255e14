/** Costs processes: devicectl is asked for something before the plugin that has it is there. */
import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { describe, test } from 'node:test';
import { FakeCore } from './fake-core.ts';
import { realTable } from './real-table.ts';
import { devicectl } from './run-devicectl.ts';

describe('a device that is still starting', () => {
  const STARTING = {
    ok: false,
    error: 'UNAVAILABLE: cannot reach /health: plugins that may bring it are starting: voice',
    code: 'UNAVAILABLE',
    details: { starting: true, retryAfterMs: 50 },
  };
  /** Answers so many times that it starts. */
  const late = (times: number, answer: object) => {
    let left = times;
    return (response: ServerResponse) => {
      const starts = left-- > 0;
      response.writeHead(starts ? 503 : 200, { 'content-type': 'application/json' });
      response.end(JSON.stringify(starts ? STARTING : answer));
    };
  };
  test('is asked again until the answer is there', async () => {
    await using young = await FakeCore.start({
      'GET /openrpc.json': await realTable(),
      'GET /config/device.name': late(2, {
        ok: true,
        key: 'device.name',
        value: 'hall',
        source: 'device',
        revision: 1,
      }),
    });
    const ended = await devicectl(['--run', young.root, 'config', 'get', 'device.name']);
    assert.deepEqual([ended.code, ended.stdout.trim()], [0, 'hall']);
    assert.equal(young.seen.filter(({ url }) => url === '/config/device.name').length, 3);
  });
  test('may still bring the command', async () => {
    const whole = (await realTable()) as { readonly methods: readonly { readonly name: string }[] };
    const methods = whole.methods.filter(({ name }) => !name.startsWith('config.'));
    let looks = 0;
    await using young = await FakeCore.start({
      'GET /openrpc.json': (response) => {
        const table = looks++ === 0 ? { ...whole, methods, 'x-starting': ['config'] } : whole;
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(table));
      },
      'GET /config/device.name': { ok: true, key: 'device.name', value: 'hall', source: 'device', revision: 1 },
    });
    const ended = await devicectl(['--run', young.root, 'config', 'get', 'device.name']);
    assert.deepEqual([ended.code, ended.stdout.trim(), looks], [0, 'hall', 2]);
  });
});
