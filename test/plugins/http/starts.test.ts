/** A start of http that is ended at any moment leaves no server behind: the next one finds its addresses free. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { pino } from 'pino';
import { stringify } from 'yaml';
import { resolveSku } from '../../../kernel/boot/check.ts';
import { Kernel } from '../../../kernel/kernel.ts';

after(leakCheck());

const root = mkdtempSync(join(tmpdir(), 'dh-'));
after(() => rmSync(root, { recursive: true, force: true }));
const paths = { etc: join(root, 'etc'), var: join(root, 'var'), run: join(root, 'run') };
const file = join(root, 'sku.yaml');
let port = 0;

before(async () => {
  port = await freePort();
  const http = { version: '*', config: { port, tcpRequired: true, socket: join(root, 'http.sock') } };
  const plugins = { operations: '*', identity: '*', http };
  writeFileSync(file, stringify({ skuVersion: 1, id: 'starts', title: 'Starts', simulated: true, plugins }));
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port: free } = server.address() as { port: number };
  await new Promise((resolve) => server.close(resolve));
  return free;
}

const core = () => new Kernel({ resolved: resolveSku(file), paths, log: pino({ level: 'silent' }) });
const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
};

/** Ends the Core so many turns after its plugin http began to start. */
async function endedAfter(count: number): Promise<void> {
  const kernel = core();
  const started = kernel.start();
  const waiting = async () =>
    (await kernel.status()).plugins.some(({ id, state }) => id === 'http' && state === 'waiting');
  for (let look = 0; look < 20_000 && (await waiting()); look++) await turns(1);
  await turns(count);
  await kernel.stop();
  await started;
  await turns(20); // what the start still had to do
}

describe('a start that is ended', () => {
  test('at any of its turns leaves neither a port nor a socket', async () => {
    await endedAfter(100); // imports what is slow the first time
    for (let count = 0; count < 40; count++) {
      await endedAfter(count);
      const probe = createServer().listen(port, '127.0.0.1');
      await once(probe, 'listening').catch((error: Error) => assert.fail(`after ${count} turns: ${error.message}`));
      await new Promise((resolve) => probe.close(resolve));
      assert.equal(existsSync(join(root, 'http.sock')), false, `after ${count} turns`);
    }
    const kernel = core();
    await kernel.start();
    const states = Object.fromEntries((await kernel.status()).plugins.map(({ id, state }) => [id, state]));
    await kernel.stop();
    assert.deepEqual(states, { http: 'active', identity: 'active', operations: 'active' });
  });
});

/** Does this machine listen on the port, by the system's own table? */
const listens = (): boolean => {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  return readFileSync('/proc/net/tcp', 'latin1')
    .split('\n')
    .some((line) => line.includes(` ${local} `) && line.includes(' 0A '));
};

test('whoever is answered over TCP finds the Unix socket there, and after the start both answer', async () => {
  const kernel = core();
  let over = false;
  const started = kernel.start().finally(() => {
    over = true;
  });
  const seen = new Set<string>();
  while (!over) {
    const tcp = listens();
    seen.add(`${tcp ? 'tcp' : 'no tcp'}, ${existsSync(join(root, 'http.sock')) ? 'unix' : 'no unix'}`);
    await turns(1);
  }
  await started;
  assert.equal(seen.has('tcp, no unix'), false);
  const status = (where: object) =>
    new Promise((resolve, reject) => {
      get({ ...where, path: '/nothing', agent: false }, (answer) => answer.resume() && resolve(answer.statusCode)).on(
        'error',
        reject,
      );
    });
  assert.equal(await status({ socketPath: join(root, 'http.sock') }), 404);
  assert.equal(await status({ host: '127.0.0.1', port }), 404);
  await kernel.stop();
});
