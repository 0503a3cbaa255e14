/** Connections of the Unix socket belong to whoever made them: how many one may have, and how long those of nobody last. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { after, describe, it } from 'node:test';
import { ANONYMOUS, type Caller } from '@device-core/plugin-api';
import { httpServer } from '@device-core/plugin-api/inside/services/http-server';
import { type Credentials, identity } from '@device-core/plugin-api/inside/services/identity';
import type { ProcessOwner } from '@device-core/plugin-api/inside/services/processes';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, given, leakCheck } from '@device-core/plugin-api/testing';
import { plugin as httpPlugin } from '../../../plugins/interface/http/index.ts';
import { plugin as operationsPlugin } from '../../../plugins/interface/operations/index.ts';
import { eventually } from '../../fixtures/eventually.ts';

after(leakCheck());

const manifest = (id: string) => new URL(`../../../manifests/plugins/interface/${id}.yaml`, import.meta.url).pathname;
const own = process.getuid?.() ?? 0;
const APP = 'com.example.agenda';

interface Owned {
  readonly owner: ProcessOwner;
  readonly uid?: number;
}
const STRANGER: Owned = { owner: { kind: 'stranger' } };
const NOBODY: Owned = { owner: { kind: 'unknown', why: 'ended' } };
const GUEST: Owned = { owner: { kind: 'app', id: APP, ended: false } };

/** A front end whose next connections are of these owners; the last one goes on. */
async function front(owners: readonly Owned[], config: object = {}) {
  const came = [...owners];
  const gone: ((app: string) => void)[] = [];
  const table = await createTestHost(operationsPlugin, { manifest: manifest('operations') });
  table.service(operations).add({
    name: 'test.hello',
    summary: 'says hello',
    anonymous: true,
    errors: [],
    params: { type: 'object' },
    result: { type: 'object' },
    rest: { method: 'GET', path: '/hello' },
    run: async () => ({}),
  });
  table.service(operations).add({
    name: 'test.mine',
    summary: 'for callers that are known',
    errors: [],
    params: { type: 'object' },
    result: { type: 'object' },
    rest: { method: 'GET', path: '/mine' },
    run: async () => ({}),
  });
  let begun = 0;
  table.service(operations).add({
    name: 'test.slow',
    summary: 'answers when nobody waits any more',
    errors: [],
    params: { type: 'object' },
    result: { type: 'object' },
    rest: { method: 'GET', path: '/slow' },
    async run(_: object, { signal }) {
      begun++;
      await once(signal, 'abort');
      return {};
    },
  });
  const host = await createTestHost(httpPlugin, {
    manifest: manifest('http'),
    config: { tcp: false, ...config },
    services: [
      [operations, table.service(operations)],
      given(identity, {
        async peerOf() {
          const { owner, uid = own } = came.length > 1 ? came.shift()! : came[0]!;
          return Object.freeze({ pid: 4_242, uid, gid: 0, startTime: '1', owner });
        },
        async authenticate({ peer }: Credentials): Promise<Caller> {
          const owner = peer?.owner;
          if (owner?.kind === 'app') return { kind: 'app', id: owner.id };
          if (owner?.kind === 'stranger' && peer?.uid === own) return { kind: 'operator', id: 'operator' };
          return { ...ANONYMOUS, peer: { reason: 'it had ended' } };
        },
        onRevoked(listener) {
          gone.push(listener);
          return { [Symbol.dispose]: () => undefined };
        },
      }),
    ],
  });
  host
    .service(httpServer)
    .mount('/ui/', async () => ({ status: 200, type: 'text/plain', body: Buffer.from('page'), headers: {} }));
  const path = (await host.service(httpServer).addresses())[0]!.slice('unix:'.length);
  const sockets: Socket[] = [];
  return {
    logged: host.logged,
    begun: () => begun,
    revoke: (app: string) => gone.forEach((listener) => void listener(app)),
    async open(): Promise<Socket> {
      const socket = connect(path);
      socket.on('error', () => undefined);
      sockets.push(socket);
      await once(socket, 'connect');
      return socket;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await host.stop();
      await table.stop();
    },
  };
}

/** Everything until the end of the connection. */
async function rest(socket: Socket): Promise<string> {
  let text = '';
  for await (const chunk of socket.setEncoding('latin1')) text += chunk;
  return text;
}

/** One answer; the connection stays. */
async function answer(socket: Socket, path: string): Promise<string> {
  socket.write(`GET ${path} HTTP/1.1\r\nhost: localhost\r\n\r\n`);
  const [chunk] = await once(socket, 'data');
  return String(chunk);
}

describe('a connection without a known owner', () => {
  const nobodies: readonly (readonly [string, Owned])[] = [
    ['whose process had ended', NOBODY],
    ['of another pid namespace', { owner: { kind: 'unknown', why: 'elsewhere' } }],
    ['of an app that has ended', { owner: { kind: 'app', id: APP, ended: true } }],
    ['of a tool of the Core', { owner: { kind: 'core' } }],
    ['of a plugin', { owner: { kind: 'plugin', id: 'guest', ended: false } }],
  ];
  for (const [title, owned] of nobodies)
    for (const path of ['/ui/none', '/ui/', '/hello', '/health', '/nothing'])
      it(`${title} ends with its answer from ${path}`, async () => {
        await using http = await front([owned]);
        const socket = await http.open();
        const request = (to: string) => `GET ${to} HTTP/1.1\r\nhost: localhost\r\nconnection: keep-alive\r\n\r\n`;
        socket.write(request(path) + request('/mine'));
        const text = await rest(socket);
        assert.equal(text.match(/HTTP\/1\.1 /g)?.length, 1, text);
        assert.match(text, /^connection: close\r$/im);
      });

  it('stays where its owner is known', async () => {
    for (const owned of [STRANGER, GUEST, { ...STRANGER, uid: own + 4_711 }]) {
      await using http = await front([owned]);
      const socket = await http.open();
      for (const path of ['/ui/', '/hello', '/ui/none']) assert.match(await answer(socket, path), /keep-alive/i);
    }
  });

  it('is told why it may not ask', async () => {
    await using http = await front([NOBODY]);
    const socket = await http.open();
    socket.write('GET /mine HTTP/1.1\r\nhost: localhost\r\n\r\n');
    assert.match(await rest(socket), /^HTTP\/1\.1 401 [\s\S]*UNAUTHENTICATED: no identity: it had ended/);
  });
});

describe('connections of one owner', () => {
  const limited = { maxConnectionsPerOwner: 2 };
  for (const [who, owned, name] of [
    ['an app', GUEST, `app ${APP}`],
    ['all that nobody can tell', NOBODY, 'unidentified processes'],
    ['another user', { ...STRANGER, uid: own + 4_711 }, `user ${own + 4_711}`],
  ] as const)
    it(`of ${who} are as many as the limit: the oldest idle one makes room, and the operator is not in their way`, async () => {
      await using http = await front([owned, owned, owned, STRANGER], limited);
      const [first, second] = [await http.open(), await http.open()];
      const ended = once(first, 'close');
      const third = await http.open();
      await ended;
      const operator = await http.open();
      assert.match(await answer(operator, '/mine'), /^HTTP\/1\.1 200/);
      for (const socket of [second, third]) assert.match(await answer(socket, '/hello'), /^HTTP\/1\.1 200/);
      assert.ok(http.logged.some((line) => JSON.stringify(line).includes(name)));
    });

  it('that are all at work are told to a new one as BUSY, with the setting', async () => {
    await using http = await front([GUEST], limited);
    const [first, second] = [await http.open(), await http.open()];
    for (const socket of [first, second]) socket.write('GET /slow HTTP/1.1\r\nhost: localhost\r\n\r\n');
    await eventually(() => http.begun() === 2, 'both are at work');
    const text = await rest(await http.open());
    assert.match(
      text,
      /^HTTP\/1\.1 429 [\s\S]*"BUSY[\s\S]*2 connections of app com\.example\.agenda \(http\.maxConnectionsPerOwner\)/,
    );
    assert.equal(first.destroyed || second.destroyed, false);
  });

  it('have no limit where the operator is their owner', async () => {
    await using http = await front([STRANGER], limited);
    const sockets = await Promise.all(Array.from({ length: 8 }, () => http.open()));
    for (const socket of sockets) assert.match(await answer(socket, '/mine'), /^HTTP\/1\.1 200/);
  });

  it('of an app end with it, whether or not it has asked for something there', async () => {
    await using http = await front([GUEST, GUEST, STRANGER]);
    const [silent, heard, operator] = [await http.open(), await http.open(), await http.open()];
    await answer(heard, '/mine');
    await answer(operator, '/mine');
    const ended = Promise.all([once(silent, 'close'), once(heard, 'close')]);
    silent.resume();
    http.revoke(APP);
    await ended;
    assert.match(await answer(operator, '/mine'), /^HTTP\/1\.1 200/);
  });
});
