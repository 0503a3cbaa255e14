/**
 * The published conformance suite of the Model Context Protocol against a Core with plugin mcp and an app that brings the tools it calls.
 * `npm run test:mcp` installs the suite and runs it. The suite sends no bearer, so a forwarder of the test adds one.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createServer, request as send } from 'node:http';
import { type AddressInfo, createServer as listener } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { httpServer } from '@device-core/plugin-api/inside/services/http-server';
import { operations } from '@device-core/plugin-api/services/operations';
import { leakCheck, OPERATOR } from '@device-core/plugin-api/testing';
import { startCore } from '../fixtures/core.ts';

after(leakCheck());

const SUITE = join(import.meta.dirname, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
const WITHOUT_SUITE = !existsSync(SUITE) && 'the suite is not installed: npm run test:mcp installs it';
const APP = 'org.example.test';
const PLUGINS = ['operations', 'identity', 'system', 'http', 'rpc', 'events', 'functions', 'config', 'ledger', 'mcp'];
const LIMIT_MS = 280_000;

async function freePort(): Promise<number> {
  const server = listener().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}

/** Passes requests on with the bearer, and the host that the device listens at. */
async function forwarder(to: URL, token: string) {
  const server = createServer((incoming, response) => {
    const { host = '', origin } = incoming.headers;
    const own = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const there = (text: string) => text.replace(own, to.host).replace(own.replace('127.0.0.1', 'localhost'), to.host);
    const headers = {
      ...incoming.headers,
      host: there(host),
      authorization: `Bearer ${token}`,
      ...(origin && { origin: there(origin) }),
    };
    const outgoing = send({ host: to.hostname, port: to.port, path: incoming.url, method: incoming.method, headers });
    outgoing.once('response', (answer) => {
      response.writeHead(answer.statusCode!, answer.headers);
      answer.pipe(response);
    });
    outgoing.once('error', () => response.destroy());
    response.once('close', () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

describe('the conformance suite of the Model Context Protocol', { skip: WITHOUT_SUITE, timeout: LIMIT_MS }, () => {
  for (const revision of ['2026-07-28', '2025-11-25'])
    it(`finds in revision ${revision} no fault beyond those of the baseline`, async () => {
      const plugins = Object.fromEntries(PLUGINS.map((id) => [id, '^1.0.0']));
      const port = await freePort();
      await using core = await startCore({ plugins, config: { http: { tcp: true, port } } });
      const call = { caller: OPERATOR, signal: new AbortController().signal, deadline: Number.MAX_SAFE_INTEGER };
      const added = await core.service(operations).invoke('mcp.add', { name: 'suite', callsAnHour: 100_000 }, call);
      const socket = await core.service(appSockets).open({ id: APP, name: 'test' });
      const env = { ...process.env, DEVICE_RPC_SOCKET: socket.path };
      const app = spawn(process.execPath, [join(import.meta.dirname, 'app.mjs')], {
        env,
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      try {
        await once(app.stdout, 'data');
        const [address] = await core
          .service(httpServer)
          .addresses()
          .then((all) => all.filter((one) => one.startsWith('http')));
        await using way = await forwarder(new URL(address!), (added as { readonly token: string }).token);
        const baseline = join(import.meta.dirname, `baseline-${revision}.yaml`);
        const args = [SUITE, 'server', '--url', way.url, '--requirements', revision, '--expected-failures', baseline];
        const suite = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
        const said = Promise.all([text(suite.stdout), text(suite.stderr)]);
        const [code] = await once(suite, 'close');
        assert.equal(code, 0, (await said).join('').slice(-6_000));
      } finally {
        app.kill('SIGKILL');
        await once(app, 'close');
      }
    });
});
