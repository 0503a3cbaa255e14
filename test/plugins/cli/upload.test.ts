/** devicectl sends a file: on a slow line, to a Core that is silent, and to one that refuses it before it has read it. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import type { Operation } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { CoreClient } from '../../../plugins/interface/cli/program/client.ts';
import { Target } from '../../../plugins/interface/cli/program/target.ts';
import { eventually, pace } from '../../fixtures/eventually.ts';
import { startFront } from '../http/front.ts';

const root = mkdtempSync(join(tmpdir(), 'up-'));
const file = join(root, 'large');
const BYTES = 12_000_000;
writeFileSync(file, Buffer.alloc(BYTES));
after(() => rmSync(root, { recursive: true }));
after(leakCheck());

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

async function serving(handler: Handler): Promise<AsyncDisposable & { readonly client: CoreClient }> {
  const socket = join(root, `${Math.random()}.sock`);
  const server: Server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  return {
    client: new CoreClient(new Target({ socket, run: root })),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('devicectl that sends a file', () => {
  test('waits while it goes on, however much longer than for an answer', async () => {
    await using core = await serving(async (request, response) => {
      let bytes = 0;
      let next = 0;
      for await (const chunk of request) {
        bytes += (chunk as Buffer).length;
        if (bytes < next) continue;
        next += 400_000;
        await pace(50);
      }
      response.end(JSON.stringify({ bytes }));
    });
    const began = performance.now();
    const { body } = await core.client.upload('/uploads', file, { timeoutMs: 700 });
    assert.equal(body.bytes, BYTES);
    assert.ok(performance.now() - began > 1_000);
  });

  test('ends where the Core takes nothing of it', async () => {
    await using core = await serving(() => undefined);
    await assert.rejects(core.client.upload('/uploads', file, { timeoutMs: 200 }), { code: 'TIMEOUT' });
  });

  test('says what the Core says that refuses it early', async () => {
    const row = {
      name: 'test.upload',
      summary: 'upload',
      errors: [],
      rpc: false,
      params: { type: 'object', properties: { file: { type: 'string' } } },
      result: { type: 'object' },
      rest: { method: 'POST', path: '/uploads', raw: true, bodyLimit: 2 * BYTES },
      run: async () => ({}),
    } as Operation<never, unknown>;
    await using front = await startFront([row]);
    const token = join(root, 'token');
    writeFileSync(token, front.operatorToken);
    const client = new CoreClient(new Target({ socket: front.socket, run: root, tokenFile: token }));
    const slow = Array.from({ length: 4 }, () => connect(front.socket));
    for (const socket of slow) {
      socket.write(
        `POST /uploads HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${front.operatorToken}\r\ncontent-type: application/octet-stream\r\ncontent-length: 2\r\n\r\nx`,
      );
    }
    const busy = () =>
      client.upload('/uploads', file).then(
        () => false,
        ({ code }) => code === 'BUSY',
      );
    await eventually(busy, 'four uploads at once');
    for (let times = 0; times < 20; times += 1) await assert.rejects(client.upload('/uploads', file), { code: 'BUSY' });
    for (const socket of slow) socket.destroy();
  });
});
