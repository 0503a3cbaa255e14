import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import crypto from 'node:crypto';
import { once } from 'node:events';
import { chmod, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { after, mock, test } from 'node:test';
import { descriptorOf } from '@device-core/plugin-api';
import { type Credentials, identity, type PeerCredentials } from '@device-core/plugin-api/inside/services/identity';
import { device } from '@device-core/plugin-api/services/device';
import { createTestHost } from '@device-core/plugin-api/testing';
import { readProcess } from '../../../kernel/walls/process-table.ts';
import { plugin } from '../../../plugins/interface/identity/index.ts';
import { Tokens } from '../../../plugins/interface/identity/tokens.ts';

const manifest = new URL('../../../manifests/plugins/interface/identity.yaml', import.meta.url).pathname;
const startHost = () => createTestHost(plugin, { manifest });
const uid = process.getuid?.() ?? 0;
/** As `peerOf` tells it of a process that is there. */
const peerOfProcess = (pid = process.pid) => ({ pid, uid, gid: 0, startTime: readProcess(pid)?.startTime ?? '' });
const children: ChildProcess[] = [];

import { part } from '../../fixtures/scope.ts';

after(() => {
  for (const child of children) if (child.pid) process.kill(-child.pid, 'SIGKILL');
});

test('an app is known by its token on both transports', async () => {
  await using host = await startHost();
  const service = host.service(identity);
  const token = await service.issue('com.example.agenda');
  assert.match(token, /^[A-Za-z0-9_-]{43}$/);
  for (const transport of ['tcp', 'unix'] as const)
    assert.deepEqual(await service.authenticate({ transport, token }), { kind: 'app', id: 'com.example.agenda' });
});

test('the token decides, for any peer', async () => {
  await using host = await startHost();
  const service = host.service(identity);
  const token = await service.issue('com.example.agenda');
  const peer = peerOfProcess();
  assert.equal((await service.authenticate({ transport: 'unix', token, peer })).kind, 'app');
  await assert.rejects(service.authenticate({ transport: 'unix', token: 'wrong', peer }), { code: 'UNAUTHENTICATED' });
});

const ends = () => ({ localAddress: '127.0.0.1', localPort: 7000, remoteAddress: '127.0.0.1', remotePort: 50_000 });

test('the past of a connection decides nothing about its future', async () => {
  await using host = await startHost();
  const service = host.service(identity);
  const tcp = ends();
  const agenda = await service.issue('com.example.agenda');
  const radio = await service.issue('com.example.radio');
  const ask = (token: string) => service.authenticate({ transport: 'tcp', token, tcp });
  for (let time = 0; time < 2; time++) {
    assert.deepEqual(await ask(agenda), { kind: 'app', id: 'com.example.agenda' });
    assert.deepEqual(await ask(radio), { kind: 'app', id: 'com.example.radio' });
    for (const wrong of [
      'A'.repeat(43),
      `${radio.slice(0, -1)}~`,
      `~${radio.slice(1)}`,
      radio.slice(0, -1),
      `${radio}=`,
    ])
      await assert.rejects(ask(wrong), { code: 'UNAUTHENTICATED', message: /not one of this device/ }, wrong);
  }
  await service.revoke('com.example.radio');
  for (let time = 0; time < 2; time++)
    await assert.rejects(ask(radio), { code: 'UNAUTHENTICATED', message: /token of app com.example.radio is void/ });
  await service.issue('com.example.agenda');
  await assert.rejects(ask(agenda), { code: 'UNAUTHENTICATED', message: /com.example.agenda is void/ });
});

test('the token of a connection is hashed once, and a wrong one each time', () => {
  const tokens = new Tokens('operator');
  const agenda = tokens.issue('com.example.agenda');
  const counted = mock.method(crypto, 'hash');
  syncBuiltinESMExports();
  try {
    const [one, other] = [ends(), ends()];
    const hashed = (token: string, connection?: object): number => {
      const before = counted.mock.callCount();
      for (let time = 0; time < 5; time++) tokens.ownerOf(token, connection);
      return counted.mock.callCount() - before;
    };
    assert.deepEqual(
      [hashed(agenda, one), hashed(agenda, one), hashed(agenda, other), hashed(agenda), hashed('wrong', one)],
      [1, 0, 1, 5, 5],
    );
  } finally {
    counted.mock.restore();
    syncBuiltinESMExports();
  }
});

const refused: readonly (readonly [string, (token: string) => string])[] = [
  ['an empty token', () => ''],
  ['a token of another device', () => 'A'.repeat(43)],
  ['a token with a letter changed', (token) => (token.startsWith('A') ? 'B' : 'A') + token.slice(1)],
  ['a token cut short', (token) => token.slice(0, -1)],
  ['a token with a blank', (token) => `${token} `],
  ['the hash of nothing in particular', () => '0'.repeat(64)],
];
for (const [name, change] of refused)
  test(`${name} is refused and not repeated in the message`, async () => {
    await using host = await startHost();
    const service = host.service(identity);
    const token = change(await service.issue('com.example.agenda'));
    await assert.rejects(service.authenticate({ transport: 'tcp', token }), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'UNAUTHENTICATED');
      assert.ok(token === '' || !error.message.includes(token));
      return true;
    });
  });

test('the token of a stopped app is void and says so', async () => {
  await using host = await startHost();
  const service = host.service(identity);
  const token = await service.issue('com.example.agenda');
  const other = await service.issue('com.example.other');
  await service.revoke('com.example.agenda');
  await assert.rejects(service.authenticate({ transport: 'tcp', token }), {
    code: 'UNAUTHENTICATED',
    message: /app com\.example\.agenda is void: the app has stopped/,
  });
  assert.equal((await service.authenticate({ transport: 'tcp', token: other })).id, 'com.example.other');
});

test('a new token voids the former one of the same app', async () => {
  await using host = await startHost();
  const service = host.service(identity);
  const former = await service.issue('com.example.agenda');
  const token = await service.issue('com.example.agenda');
  assert.notEqual(former, token);
  await assert.rejects(service.authenticate({ transport: 'tcp', token: former }), { code: 'UNAUTHENTICATED' });
  assert.equal((await service.authenticate({ transport: 'tcp', token })).id, 'com.example.agenda');
});

test('listeners hear of a revocation once each, also when one of them throws', async () => {
  await using host = await startHost();
  const service = host.service(identity);
  const heard: string[] = [];
  const listener = (app: string) => void heard.push(app);
  service.onRevoked(() => {
    throw new Error('out of order');
  });
  const registration = service.onRevoked(listener);
  service.onRevoked(listener);
  await service.revoke('com.example.a');
  registration[Symbol.dispose]();
  await service.revoke('com.example.b');
  assert.deepEqual(heard, ['com.example.a', 'com.example.a', 'com.example.b']);
});

test('the operator token lies in a file that only its owner reads', async () => {
  const host = await startHost();
  const { run } = (await host.service(device).info()).paths;
  const file = join(run, 'operator.token');
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  assert.equal((await stat(run)).mode & 0o066, 0);
  const token = (await readFile(file, 'utf8')).trim();
  const caller = await host.service(identity).authenticate({ transport: 'tcp', token });
  assert.equal(caller.kind, 'operator');
  await host.stop();
  assert.deepEqual(host.leaks(), []);
});

for (const [name, spoil] of [
  ['readable by others', (file: string) => chmod(file, 0o644)],
  ['half written', (file: string) => writeFile(file, 'abc')],
  ['a link to somewhere else', (file: string) => rm(file).then(() => symlink('/etc/hostname', file))],
] as const)
  test(`an operator token file that is ${name} is replaced`, async () => {
    const { loadOperatorToken } = await import('../../../plugins/interface/identity/operator-token.ts');
    await using host = await startHost();
    const { run } = (await host.service(device).info()).paths;
    const file = join(run, 'second', 'operator.token');
    await using parts = part();
    const load = async () => {
      const { token, replaced } = await loadOperatorToken(file, parts.scope);
      return replaced === undefined ? { token } : { token, replaced };
    };
    const first = await load();
    assert.deepEqual(await load(), first);
    await spoil(file);
    const second = await load();
    assert.notEqual(second.token, first.token);
    assert.ok(second.replaced);
    assert.equal((await readFile(file, 'utf8')).trim(), second.token);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
  });

const anonymous: readonly (readonly [string, Credentials])[] = [
  ['TCP without a token', { transport: 'tcp' }],
  ['TCP, whatever peer it claims', { transport: 'tcp', peer: { pid: process.pid, uid, gid: 0 } }],
  ['a Unix socket whose peer cannot be read', { transport: 'unix' }],
  ['a foreign user', { transport: 'unix', peer: { pid: process.pid, uid: 54321, gid: 54321 } }],
  ['a process that has gone', { transport: 'unix', peer: { pid: 0x3fffff, uid, gid: 0, startTime: '1' } }],
  ['a process without a start time', { transport: 'unix', peer: { pid: process.pid, uid, gid: 0 } }],
  ['a process that began at another time', { transport: 'unix', peer: { ...peerOfProcess(), startTime: '1' } }],
  ['a root that has gone', { transport: 'unix', peer: { pid: 0x3fffff, uid: 0, gid: 0, startTime: '1' } }],
  ['whoever was settled as unknown', { transport: 'unix', peer: { ...peerOfProcess(), owner: { kind: 'unknown' } } }],
  ['a process of another namespace', { transport: 'unix', peer: { pid: 0, uid, gid: 0 } }],
];
for (const [name, credentials] of anonymous)
  test(`no peer is trusted on ${name}`, async () => {
    await using host = await startHost();
    assert.equal((await host.service(identity).authenticate(credentials)).kind, 'anonymous');
  });

test("the Core's own user on a Unix socket is the operator, as the kernel tells it", async () => {
  await using host = await startHost();
  const service = host.service(identity);
  const peer = await peerOfConnection(host, (fd) => service.peerOf(fd));
  assert.equal(peer?.pid, process.pid);
  assert.equal(peer?.uid, uid);
  assert.equal((await service.authenticate({ transport: 'unix', ...(peer ? { peer } : {}) })).kind, 'operator');
});

test('a descriptor that is no Unix socket has no peer', async () => {
  await using host = await startHost();
  const service = host.service(identity);
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const fd = descriptorOf(server)!;
  assert.equal(await service.peerOf(fd), undefined);
  assert.equal(await service.peerOf(-1), undefined);
  assert.equal(await service.peerOf(1.5), undefined);
  server.close();
});

test('a user of its own makes the app', async () => {
  await using host = await startHost();
  const service = host.service(identity);
  await service.launched({ app: 'com.example.agenda', uid: 54321 });
  const credentials = { transport: 'unix', peer: { pid: process.pid, uid: 54321, gid: 1 } } as const;
  assert.deepEqual(await service.authenticate(credentials), { kind: 'app', id: 'com.example.agenda' });
  await service.revoke('com.example.agenda');
  assert.equal((await service.authenticate(credentials)).kind, 'anonymous');
});

test("every process of an app's session is the app although its user is the Core's, and has no identity when the app has ended", async () => {
  await using host = await startHost();
  const service = host.service(identity);
  const leader = launch('sh', ['-c', 'sleep 60 & echo $!; setsid sleep 60 & echo $!; wait']);
  const [inside, outside] = await numbers(leader, 2);
  const credentials = (pid: number | undefined) => ({ transport: 'unix', peer: peerOfProcess(pid) }) as const;

  assert.equal((await service.authenticate(credentials(inside))).kind, 'operator');
  await service.launched({ app: 'com.example.agenda', pid: leader.pid ?? 0, uid });
  for (const pid of [leader.pid, inside, outside])
    assert.deepEqual(await service.authenticate(credentials(pid)), { kind: 'app', id: 'com.example.agenda' });
  assert.equal((await service.authenticate(credentials(process.pid))).kind, 'operator');

  await service.revoke('com.example.agenda');
  for (const pid of [leader.pid, inside])
    await assert.rejects(service.authenticate(credentials(pid)), { code: 'UNAUTHENTICATED', message: /has stopped/ });
  if (outside !== undefined) process.kill(outside, 'SIGKILL');
});

test('a missing native library means that no peer is trusted', async () => {
  const { loadPeerReader } = await import('../../../plugins/interface/identity/peer-credentials.ts');
  const reader = await loadPeerReader(() => Promise.reject(new Error('cannot find koffi')));
  assert.equal(reader.read(0), undefined);
  assert.match(String(reader.failure), /cannot find koffi/);
});

function launch(command: string, args: readonly string[]): ChildProcess {
  const child = spawn(command, args, { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  children.push(child);
  return child;
}

async function numbers(child: ChildProcess, count: number): Promise<number[]> {
  let text = '';
  for await (const chunk of child.stdout ?? []) {
    text += chunk;
    const found = text.trim().split('\n').map(Number);
    if (found.length >= count) return found;
  }
  throw new Error('the process ended early');
}

async function peerOfConnection(
  host: Awaited<ReturnType<typeof startHost>>,
  read: (fd: number) => Promise<PeerCredentials | undefined>,
): Promise<PeerCredentials | undefined> {
  const path = join((await host.service(device).info()).paths.run, 'peer.sock');
  const { promise, resolve } = Promise.withResolvers<PeerCredentials | undefined>();
  const server = createServer((socket) => {
    resolve(read(descriptorOf(socket)!));
  }).listen(path);
  await once(server, 'listening');
  const client = connect(path);
  const peer = await promise;
  client.destroy();
  server.close();
  return peer;
}
