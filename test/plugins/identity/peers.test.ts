/** Whose process connects to a Unix socket, settled as the connection comes: real processes, and a kernel of our own that says what no real one does twice. */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { connect, createServer, type Socket } from 'node:net';
import { release } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { type Caller, type CoreError, descriptorOf } from '@device-core/plugin-api';
import { identity, type PeerCredentials } from '@device-core/plugin-api/inside/services/identity';
import { type ProcessOwner, processes } from '@device-core/plugin-api/inside/services/processes';
import { device } from '@device-core/plugin-api/services/device';
import { createTestHost, given, leakCheck } from '@device-core/plugin-api/testing';
import { ProcessBook } from '../../../kernel/walls/processes.ts';
import { plugin } from '../../../plugins/interface/identity/index.ts';
import { loadPeerReader, type Native } from '../../../plugins/interface/identity/peer-credentials.ts';
import { settledPeer } from '../../../plugins/interface/identity/settled-peer.ts';

after(leakCheck());

const manifest = new URL('../../../manifests/plugins/interface/identity.yaml', import.meta.url).pathname;
const uid = process.getuid?.() ?? 0;
const APP = 'com.example.agenda';

/** Connects, hands the connection to a child that stays, and is gone. */
const GONE = `const s = require('net').connect(process.argv[1], () => {
  require('child_process').spawn('sleep', ['2'], { detached: true, stdio: [s._handle, s._handle, s._handle] }).unref();
  process.exit();
});`;
/** Stays until it is cut. */
const STAYS = `require('net').connect(process.argv[1]).resume()`;

/** SO_PEERPIDFD is there. */
const isFrom6_5 = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 6 || (major === 6 && minor >= 5);
};

async function withPeers(
  use: (world: {
    readonly path: string;
    /** The next connection: its peer, and who it is. */
    readonly next: () => Promise<{ readonly peer: PeerCredentials | undefined; readonly caller: Caller | string }>;
    readonly launched: (pid: number) => Promise<void>;
  }) => Promise<void>,
): Promise<void> {
  const book = new ProcessBook();
  await using host = await createTestHost(plugin, { manifest, services: [given(processes, book)] });
  const service = host.service(identity);
  const path = join((await host.service(device).info()).paths.run, 'peers.sock');
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    sockets.push(socket);
    server.emit('peer', service.peerOf(descriptorOf(socket)!));
  }).listen(path);
  await once(server, 'listening');
  try {
    await use({
      path,
      async next() {
        const peer: PeerCredentials | undefined = await (await once(server, 'peer'))[0];
        const caller = await service
          .authenticate({ transport: 'unix', ...(peer && { peer }) })
          .catch((thrown: CoreError) => thrown.message);
        return { peer, caller };
      },
      launched: (pid) => service.launched({ app: APP, pid, uid }),
    });
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

describe('a process that connects', () => {
  it('and is gone before the accept has no identity for as long as its connection stays', () =>
    withPeers(async ({ path, next }) => {
      const connected = next();
      // Nobody accepts while this waits for its end, and its number is free by then.
      assert.equal(spawnSync(process.execPath, ['-e', GONE, path]).status, 0);
      const { peer, caller } = await connected;
      assert.deepEqual(peer?.owner, { kind: 'unknown', why: 'ended' });
      assert.equal(peer?.uid, uid);
      assert.equal((caller as Caller).kind, 'anonymous');
      assert.match((caller as Caller).peer?.reason ?? '', /had ended before.*has to wait for its answer/);
    }));

  const LAST = '/proc/sys/kernel/ns_last_pid';
  const steers = uid === 0 && existsSync(LAST) && isFrom6_5(release());
  it(
    'and passes its number to a program of the operator before the accept has no identity',
    {
      skip: steers ? false : 'needs root, Linux 6.5 and CONFIG_CHECKPOINT_RESTORE',
    },
    (t) =>
      withPeers(async ({ path, next }) => {
        const connected = next();
        const gone = spawnSync(process.execPath, ['-e', GONE, path]);
        let heir: ChildProcess | undefined;
        // Others of this machine take numbers, too.
        for (let tries = 0; tries < 50 && heir?.pid !== gone.pid; tries++) {
          heir?.kill('SIGKILL');
          writeFileSync(LAST, String(gone.pid - 1));
          heir = spawn('sleep', ['5'], { stdio: 'ignore' });
        }
        const { peer, caller } = await connected;
        heir?.kill('SIGKILL');
        if (heir?.pid !== gone.pid) return t.skip('somebody else took the number');
        assert.equal(peer?.pid, heir.pid);
        assert.deepEqual(peer.owner, { kind: 'unknown', why: 'ended' });
        assert.equal((caller as Caller).kind, 'anonymous');
      }),
  );

  it('and stays is the operator, also when it is gone later', async () => {
    await withPeers(async ({ path, next }) => {
      const connected = next();
      const child = spawn(process.execPath, ['-e', STAYS, path], { stdio: 'ignore' });
      const { peer, caller } = await connected;
      child.kill('SIGKILL');
      await once(child, 'exit');
      assert.equal(peer?.pid, child.pid);
      assert.deepEqual([peer?.owner, (caller as Caller).kind], [{ kind: 'stranger' }, 'operator']);
    });
  });

  const elsewhere = uid === 0 && spawnSync('unshare', ['--pid', '--fork', 'true']).status === 0;
  it('from another pid namespace has no identity, for it has a user alone', {
    skip: elsewhere ? false : 'needs root and unshare (util-linux)',
  }, async () => {
    await withPeers(async ({ path, next, launched }) => {
      const inside = ['--pid', '--fork', '--kill-child', process.execPath, '-e', STAYS, path];
      const connected = next();
      const stranger = spawn('unshare', inside, { stdio: 'ignore' });
      const { peer, caller } = await connected;
      assert.equal(peer?.uid, 0);
      assert.deepEqual(peer?.owner, { kind: 'unknown', why: 'elsewhere' });
      assert.match((caller as Caller).peer?.reason ?? '', /another pid namespace.*devicectl token/);
      const again = next();
      const guest = spawn('unshare', inside, { stdio: 'ignore' });
      await launched(guest.pid!);
      assert.deepEqual((await again).caller, { kind: 'app', id: APP }, 'a known guest is known there, too');
      for (const child of [stranger, guest]) {
        child.kill('SIGKILL');
        await once(child, 'exit');
      }
    });
  });
});

/** What the kernel and the book of processes would say. */
interface Said {
  readonly startTime: string | undefined;
  readonly owner: ProcessOwner;
  /** Of the number alone, without a start time. */
  readonly byUser?: ProcessOwner;
  /** SO_PEERPIDFD: still there, gone, or no such option. */
  readonly held: boolean | undefined;
}
const STRANGER: ProcessOwner = { kind: 'stranger' };
const GUEST: ProcessOwner = { kind: 'app', id: APP, ended: false };
const ENDED: ProcessOwner = { kind: 'unknown', why: 'ended' };

describe('the owner of a connection', () => {
  const table: readonly (readonly [title: string, said: Said, owner: ProcessOwner])[] = [
    ['that the kernel holds on to', { startTime: '7', owner: STRANGER, held: true }, STRANGER],
    ['where the kernel holds on to none', { startTime: '7', owner: STRANGER, held: undefined }, STRANGER],
    ['whose number is a stranger’s by now', { startTime: '9', owner: STRANGER, held: false }, ENDED],
    ['whose number is an app’s by now', { startTime: '9', owner: GUEST, held: false }, ENDED],
    ['that is gone, with an app’s user', { startTime: '9', owner: STRANGER, byUser: GUEST, held: false }, GUEST],
    ['that is gone and had no start time', { startTime: undefined, owner: ENDED, held: false }, ENDED],
    ['that is gone in an old kernel', { startTime: undefined, owner: ENDED, held: undefined }, ENDED],
    ['that is an app', { startTime: '7', owner: GUEST, held: true }, GUEST],
  ];
  for (const [title, said, owner] of table)
    it(`${title} is ${owner.kind}, settled in one turn`, async () => {
      const peer = { pid: 4_242, uid: 1_000, gid: 1_000 };
      let released = 0;
      const hold = () => ({ isThere: () => said.held === true, [Symbol.dispose]: () => void released++ });
      const asked: string[] = [];
      const settled = settledPeer(
        9,
        { read: () => peer, hold: () => (said.held === undefined ? undefined : hold()) },
        {
          startOf: async () => said.startTime,
          ownerOf: async ({ startTime }) => {
            asked.push(String(startTime));
            return startTime === undefined ? (said.byUser ?? ENDED) : said.owner;
          },
        },
      );
      let late = false;
      setImmediate(() => {
        late = true;
      });
      assert.deepEqual((await settled)?.owner, owner);
      assert.equal(late, false, 'a turn later the number may be another one’s');
      assert.equal(released, said.held === undefined ? 0 : 1);
      assert.ok(Object.isFrozen(await settled));
    });

  const EINVAL = 22;
  const ENOPROTOOPT = 92;
  const EMFILE = 24;
  for (const [title, errno, held] of [
    ['does not know the option', ENOPROTOOPT, undefined],
    ['says that the process is gone', EINVAL, false],
    ['has no descriptor left', EMFILE, false],
  ] as const)
    it(`is looked at as it has to be where the kernel ${title}`, async () => {
      const native: Native = { getsockopt: () => -1, errno: () => errno };
      const reader = await loadPeerReader(async () => native);
      assert.equal(reader.hold(9)?.isThere(1), held);
      assert.equal(reader.read(9), undefined);
    });

  it('is held by the kernel of this machine, where it can', async (t) => {
    const reader = await loadPeerReader();
    const server = createServer();
    const path = join(process.env.TMPDIR ?? '/tmp', `peers-${process.pid}.sock`);
    await once(server.listen(path), 'listening');
    const client = connect(path);
    const [socket] = (await once(server, 'connection')) as [Socket];
    {
      using held = reader.hold(descriptorOf(socket)!);
      if (held) assert.deepEqual([held.isThere(process.pid), held.isThere(1)], [true, false]);
      else t.skip('a kernel before Linux 6.5');
    }
    client.destroy();
    socket.destroy();
    server.close();
  });
});

describe('an app on a connection that was settled', () => {
  it('is refused by its kept peer, under any app that runs now', async () => {
    const book = new ProcessBook();
    await using host = await createTestHost(plugin, { manifest, services: [given(processes, book)] });
    const service = host.service(identity);
    const path = join((await host.service(device).info()).paths.run, 'peers.sock');
    const server = createServer();
    await once(server.listen(path), 'listening');
    const client = connect(path);
    const [socket] = (await once(server, 'connection')) as [Socket];
    try {
      await service.launched({ app: APP, pid: process.pid, uid });
      const peer = (await service.peerOf(descriptorOf(socket)!))!;
      const ask = () => service.authenticate({ transport: 'unix', peer });
      assert.deepEqual(await ask(), { kind: 'app', id: APP });
      await service.revoke(APP);
      await assert.rejects(ask(), { code: 'UNAUTHENTICATED', message: /has stopped/ });
      await service.launched({ app: APP, pid: process.pid, uid });
      await assert.rejects(ask(), { code: 'UNAUTHENTICATED', message: /has stopped/ });
    } finally {
      client.destroy();
      socket.destroy();
      server.close();
    }
  });
});

describe('a token on a Unix socket', () => {
  const cases: readonly (readonly [who: string, owner: ProcessOwner, taken: boolean])[] = [
    ['a process outside of the Core', STRANGER, true],
    ['a process of another pid namespace', { kind: 'unknown', why: 'elsewhere' }, true],
    ['a process that had ended', ENDED, false],
    ['a process that cannot be told', { kind: 'unknown', why: 'hidden' }, false],
    ['an app', GUEST, false],
    ['a tool of the Core', { kind: 'core' }, false],
  ];
  for (const [who, owner, taken] of cases)
    it(`of the operator is ${taken ? 'taken' : 'refused'} from ${who}`, async () => {
      await using host = await createTestHost(plugin, { manifest });
      const service = host.service(identity);
      const file = join((await host.service(device).info()).paths.run, 'operator.token');
      const token = (await readFile(file, 'utf8')).trim();
      const peer = { pid: 4_242, uid, gid: 0, startTime: '1', owner };
      const asked = service.authenticate({ transport: 'unix', token, peer });
      if (taken) assert.equal((await asked).kind, 'operator');
      else await assert.rejects(asked, { code: 'UNAUTHENTICATED' });
    });
});
