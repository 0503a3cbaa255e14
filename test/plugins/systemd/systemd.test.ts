import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { fstatSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, describe, test } from 'node:test';
import { DescriptorStore } from '@device-core/plugin-api/inside/descriptor-store';
import {
  type PluginManager,
  type PluginStatus,
  pluginManager,
} from '@device-core/plugin-api/inside/services/plugin-manager';
import { createTestHost, leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { makeSystemd } from '../../../plugins/life/systemd/index.ts';
import { addressOf, connectNotify, messageOf } from '../../../plugins/life/systemd/notify.ts';
import { Watchdog } from '../../../plugins/life/systemd/watchdog.ts';
import { turns } from '../../fixtures/eventually.ts';

const MANIFEST = 'manifests/plugins/life/systemd.yaml';
after(leakCheck());

type Env = Readonly<Record<string, string>>;

async function started(env: Env, states: readonly string[] = ['active', 'active', 'failed'], left: Env = {}) {
  const store = new DescriptorStore(left, process.pid);
  const told: string[] = [];
  const connected: string[] = [];
  let refuses = false;
  const plugin = makeSystemd({
    env,
    store,
    connect: async (path) => {
      connected.push(path);
      return {
        tell(message, descriptor) {
          if (refuses) return 'send: error 11';
          told.push(descriptor === undefined ? message : `${message} with ${descriptor}`);
          return undefined;
        },
        [Symbol.dispose]: () => void told.push('closed'),
      };
    },
  });
  const clock = virtualClock();
  const now = [...states];
  const manager = {
    list: async () => now.map((state) => ({ state }) as PluginStatus),
  } as Partial<PluginManager> as PluginManager;
  const host = await createTestHost(plugin, { manifest: MANIFEST, services: [[pluginManager, manager]], clock });
  return {
    host,
    clock,
    told,
    connected,
    store,
    now,
    refuse: (yes: boolean) => {
      refuses = yes;
    },
  };
}

const NOTIFY: Env = { NOTIFY_SOCKET: '/run/systemd/notify' };
const WATCHED: Env = { ...NOTIFY, WATCHDOG_USEC: '30000000', WATCHDOG_PID: String(process.pid) };
const READY = 'READY=1\nSTATUS=2 of 3 plugins active';

describe('messages to the service manager', () => {
  test('nothing at all where it asks for nothing', async () => {
    const { host, connected, clock } = await started({});
    await host.hook('kernel.ready').promise();
    await clock.advance(60_000);
    assert.deepEqual(connected, []);
    assert.equal(clock.pending, 0);
    await host.stop();
  });

  test('that the Core is ready, once, and what it has become when plugins change', async () => {
    const { host, told, connected, clock, now } = await started(NOTIFY);
    assert.deepEqual(connected, ['/run/systemd/notify']);
    assert.deepEqual(told, []);
    await host.hook('kernel.ready').promise();
    await clock.advance(60_000);
    assert.deepEqual(told, [READY]);
    now[2] = 'active';
    host.publish('plugin.changed', { result: 'applied' });
    await turns();
    assert.deepEqual(told.slice(1), ['STATUS=3 of 3 plugins active']);
    await host.stop();
  });

  test('that it is ready although the plugin came later than the hook', async () => {
    const { told, clock, now, host } = await started(NOTIFY, ['active', 'starting']);
    await clock.advance(3_000);
    assert.deepEqual(told, []);
    now[1] = 'active';
    await clock.advance(3_000);
    assert.deepEqual(told, ['READY=1\nSTATUS=2 of 2 plugins active']);
    await host.stop();
  });

  test('that it is ready, again, when the first word was not taken', async () => {
    const { host, told, clock, refuse } = await started(NOTIFY);
    refuse(true);
    await host.hook('kernel.ready').promise();
    refuse(false);
    await clock.advance(3_000);
    assert.deepEqual(told, [READY]);
    await host.stop();
  });

  test('that the loop turns, twice in the time it waits; and that no caller waits when the plugin alone ends', async () => {
    const { host, told, clock } = await started(WATCHED);
    assert.deepEqual(told, ['WATCHDOG_USEC=30000000', 'WATCHDOG=1']);
    await clock.advance(15_000);
    await clock.advance(15_000);
    assert.equal(told.filter((line) => line === 'WATCHDOG=1').length, 3);
    await host.stop();
    assert.deepEqual(told.slice(-2), ['WATCHDOG_USEC=0', 'closed']);
  });

  test('that the Core ends, at the signal, and the watchdog stays with the process that ends it', async () => {
    const { host, told } = await started(WATCHED);
    await host.hook('kernel.ready').promise();
    // Nobody else listens here: the signal would end this process.
    process.emit('SIGTERM', 'SIGTERM');
    await host.stop();
    assert.deepEqual(told.slice(-2), ['STOPPING=1', 'closed']);
  });
});

describe('descriptors that outlast the Core', () => {
  const LISTEN_FDNAMES = 'device-credentials.socket:held/lamp';
  const left = (pid: number) => ({ LISTEN_PID: String(pid), LISTEN_FDS: '2', LISTEN_FDNAMES });
  const stored = (name: string, fd: number) => [
    `FDSTOREREMOVE=1\nFDNAME=held/${name}`,
    `FDSTORE=1\nFDPOLL=0\nFDNAME=held/${name} with ${fd}`,
  ];

  test('go to the service manager, be they from before it could be told, and come back when they are parted with', async () => {
    const { host, told, store } = await started(NOTIFY);
    store.hold('lamp', 31);
    assert.deepEqual(told, stored('lamp', 31));
    store.part('lamp');
    assert.deepEqual(told.slice(2), ['FDSTOREREMOVE=1\nFDNAME=held/lamp']);
    await host.stop();
    store.hold('relay', 32);
    const said: string[] = [];
    using _told = store.attach((message, fd) => said.push(fd === undefined ? message : `${message} with ${fd}`));
    assert.deepEqual(said, stored('relay', 32));
  });

  test('stay there when the Core ends, under the name that they are to have', async () => {
    const { host, told, store } = await started(NOTIFY);
    store.hold('lamp', 31);
    store.hold('guard', 32);
    told.length = 0;
    store.hold('guard', 32, 'guard.safe');
    process.emit('SIGTERM', 'SIGTERM');
    for (const name of ['lamp', 'guard']) store.part(name);
    assert.deepEqual(told, [...stored('guard.safe', 32), 'FDSTOREREMOVE=1\nFDNAME=held/guard', 'STOPPING=1']);
    await host.stop();
  });

  test('are found by the process that they are for, by their names and no other', () => {
    assert.equal(new DescriptorStore(left(7), 8).take('lamp'), undefined);
    const store = new DescriptorStore(left(7), 7);
    assert.equal(store.take('device-credentials.socket'), undefined);
    assert.deepEqual([store.take('lamp'), store.take('lamp'), store.waits], [4, undefined, false]);
    assert.equal(new DescriptorStore({ LISTEN_PID: '7', LISTEN_FDS: 'x', LISTEN_FDNAMES }, 7).waits, false);
  });

  test('are given up a minute after the start, where no plugin has taken them', async () => {
    const fd = openSync('/dev/null', 'r');
    const names = Array.from({ length: fd - 3 }, () => 'other');
    const variables = { LISTEN_PID: String(process.pid), LISTEN_FDS: String(fd - 2) };
    const { host, told, clock } = await started(NOTIFY, [], {
      ...variables,
      LISTEN_FDNAMES: [...names, 'held/lamp'].join(':'),
    });
    await host.hook('kernel.ready').promise();
    assert.deepEqual(told, ['READY=1\nSTATUS=0 of 0 plugins active']);
    await clock.advance(60_000);
    assert.deepEqual(told.slice(1), ['FDSTOREREMOVE=1\nFDNAME=held/lamp']);
    assert.throws(() => fstatSync(fd), /EBADF/);
    await host.stop();
  });

  test('have the form of the kernel, for pointers of both widths', () => {
    const of = (word: 4 | 8) => messageOf(Buffer.from('A=1'), 9, () => 0x1000n, word).toString('hex');
    const rights = '0100000001000000' + '09000000';
    assert.equal(
      of(4),
      `${'00'.repeat(8)}1c10000001000000241000001000000000000000${'34100000'}03000000${'10000000'}${rights}413d31`,
    );
    const wide = (...words: string[]) => words.map((word) => word.padEnd(16, '0')).join('');
    assert.equal(of(8), `${wide('', '', '3810', '01', '4810', '18', '', '6010', '03', '14')}${rights}00000000413d31`);
  });
});

test('a waiter for another process, or for nothing, is told nothing', () => {
  for (const [env, everyMs] of [
    [{ WATCHDOG_USEC: '30000000' }, 15_000],
    [{ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '7' }, 15_000],
    [{ WATCHDOG_USEC: '30000000', WATCHDOG_PID: '8' }, undefined],
    [{ WATCHDOG_USEC: '1' }, 1],
    [{ WATCHDOG_USEC: '0' }, undefined],
    [{ WATCHDOG_USEC: '-5' }, undefined],
    [{ WATCHDOG_USEC: 'soon' }, undefined],
    [{}, undefined],
  ] as const)
    assert.equal(Watchdog.of(env, 7)?.everyMs, everyMs, JSON.stringify(env));
});

describe('the socket', () => {
  test('has the address that the variable names, and no other form', () => {
    assert.deepEqual(addressOf('/a'), Buffer.from('\x01\0/a\0'));
    assert.deepEqual(addressOf('@a'), Buffer.from('\x01\0\0a'));
    for (const path of ['a', '', './a', `/${'a'.repeat(107)}`]) assert.throws(() => addressOf(path), /NOTIFY_SOCKET/);
  });

  test('takes datagrams to their reader, whole', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'sd-'));
    const path = join(folder, 'notify');
    const reader = spawn('python3', ['-c', READER, path], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const lines = createInterface({ input: reader.stdout })[Symbol.asyncIterator]();
      assert.equal((await lines.next()).value, 'bound');
      {
        using notify = await connectNotify(path);
        assert.equal(notify.tell('READY=1\nSTATUS=grün'), undefined);
        assert.equal((await lines.next()).value, JSON.stringify('READY=1\nSTATUS=grün'));
        reader.kill('SIGKILL');
        await new Promise((resolve) => reader.once('close', resolve));
        assert.match(notify.tell('WATCHDOG=1') ?? '', /^send: error \d+$/);
      }
      await assert.rejects(connectNotify(join(folder, 'none')), /does not answer/);
    } finally {
      reader.kill('SIGKILL');
      rmSync(folder, { recursive: true });
    }
  });
});

const READER = `import json, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print("bound", flush=True)
while True: print(json.dumps(s.recv(4096).decode(), ensure_ascii=False), flush=True)
`;
