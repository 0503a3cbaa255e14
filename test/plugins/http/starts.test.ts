/** A start of http that is ended at any moment leaves no server behind: the next one finds its addresses free. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { get, request } from 'node:http';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { after, before, describe, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { pino } from 'pino';
import { stringify } from 'yaml';
import { resolveSku } from '../../../kernel/boot/check.ts';
import { Kernel } from '../../../kernel/kernel.ts';
import { eventually } from '../../fixtures/eventually.ts';

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

test('a client that is answered over TCP finds the Unix socket there, and after the start both answer', async () => {
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

/** Plugins of a folder each: `slow` adds an operation when the test lets it, `stuck` waits for a service that nobody has. */
function withSlowPlugins(): string {
  const manifest = (id: string, requires: object) => ({
    id,
    version: '1.0.0',
    summary: 'for a test',
    api: '^1.0.0',
    main: 'index.js',
    requires,
  });
  const operation = `{
    name: 'slow.ask', summary: 'is there late', params: { type: 'object' }, result: { type: 'object' }, errors: [],
    anonymous: true, rest: { method: 'GET', path: '/slow/ask' }, run: async () => ({}),
  }`;
  const code = `export const plugin = {
    requires: { operations: { id: 'operations', version: '1.0.0' } },
    async setup(host, { operations }) {
      await globalThis.slowPlugin;
      operations.add(${operation});
    },
  };`;
  for (const [id, requires, text] of [
    ['slow', { operations: '^1.0.0' }, code],
    ['stuck', { 'never-there': '^1.0.0' }, 'export const plugin = { setup() {} };'],
  ] as const) {
    mkdirSync(join(root, id), { recursive: true });
    writeFileSync(join(root, id, 'plugin.yaml'), stringify(manifest(id, requires)));
    writeFileSync(join(root, id, 'index.js'), text);
  }
  const http = { version: '*', config: { port, tcpRequired: true, socket: join(root, 'http.sock') } };
  const others = Object.fromEntries(['slow', 'stuck'].map((id) => [id, { version: '*', path: id }]));
  const sku = join(root, 'slow.yaml');
  const plugins = { operations: '*', identity: '*', http, ...others };
  writeFileSync(sku, stringify({ skuVersion: 1, id: 'slow', title: 'Slow', simulated: true, plugins }));
  return sku;
}

interface Told {
  readonly status: number | undefined;
  readonly retry: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server said
  readonly body: any;
}

const ask = (method: string, path: string): Promise<Told> =>
  new Promise((resolve, reject) => {
    const sent = request({ socketPath: join(root, 'http.sock'), method, path, agent: false }, async (answer) => {
      const text = await readText(answer);
      resolve({ status: answer.statusCode, retry: answer.headers['retry-after'], body: text && JSON.parse(text) });
    });
    sent.on('error', reject).end();
  });

test('an operation of a plugin on its way is UNAVAILABLE, and a mistake is one as soon as all are settled', async () => {
  const { promise, resolve: release } = Promise.withResolvers<void>();
  Object.assign(globalThis, { slowPlugin: promise });
  const kernel = new Kernel({ resolved: resolveSku(withSlowPlugins()), paths, log: pino({ level: 'silent' }) });
  const started = kernel.start();
  try {
    await eventually(
      async () => (await kernel.status()).plugins.some(({ id, state }) => id === 'slow' && state === 'starting'),
      'a start',
    );
    const coming: readonly (readonly [method: string, path: string])[] = [
      ...([
        ['GET', '/slow/ask'],
        ['POST', '/slow/ask'],
        ['GET', '/v1/slow/ask?a=b'],
        ['PUT', '/secrets/x'],
      ] as const),
      ...([
        ['GET', '/ui/'],
        ['POST', '/operations'],
        ['GET', '/'],
      ] as const),
    ];
    for (const [method, path] of coming) {
      const { status, retry, body } = await ask(method, path);
      assert.deepEqual([status, retry, body.code], [503, '1', 'UNAVAILABLE'], `${method} ${path}`);
      assert.match(body.error, /plugins that may bring it are starting: slow$/);
      assert.equal(body.details.starting, true);
    }
    assert.equal((await ask('GET', '/operations')).status, 200, 'what is there answers');
    assert.deepEqual((await ask('GET', '/openrpc.json')).body['x-starting'], ['slow']);
    release();
    await started;
    await eventually(async () => (await ask('GET', '/slow/ask')).status === 200, 'the operation');
    for (const [method, path, code] of [
      ['GET', '/slow/aks', 404],
      ['PUT', '/secrets/x', 404],
      ['POST', '/operations', 405],
    ] as const)
      assert.equal((await ask(method, path)).status, code, `${method} ${path}, though stuck waits for ever`);
    const { stuck } = Object.fromEntries((await kernel.status()).plugins.map(({ id, state }) => [id, state]));
    assert.equal(stuck, 'waiting');
    assert.equal((await ask('GET', '/openrpc.json')).body['x-starting'], undefined);
  } finally {
    release();
    await started;
    await kernel.stop();
  }
});
