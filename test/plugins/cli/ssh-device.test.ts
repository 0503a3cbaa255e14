import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir, userInfo } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, test } from 'node:test';
import { CoreProcess, TemporaryRoot } from '../../fixtures/core-process.ts';
import { foundOf, without } from '../../fixtures/debian.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { FakeSsh } from '../../fixtures/fake-ssh.ts';
import { FakeCore } from './fake-core.ts';
import { devicectl, spawnDevicectl } from './run-devicectl.ts';
import { smallTable, TEXT } from './small-table.ts';

const REPLIES = {
  'GET /openrpc.json': smallTable({ 'lamp.ping': { rest: 'GET /ping', result: { pong: TEXT } } }),
  'GET /ping': { ok: true, pong: 'yes' },
};
const leftovers = () => readdirSync(tmpdir()).filter((name) => name.startsWith('dssh-'));

/** A machine of the name `host` with a Core, seen through the stand-in for ssh. */
async function machine(run = '/run/device'): Promise<{ ssh: FakeSsh; core: FakeCore } & AsyncDisposable> {
  const ssh = new FakeSsh();
  const core = await FakeCore.start(REPLIES);
  mkdirSync(dirname(ssh.remote(run)), { recursive: true });
  symlinkSync(core.root, ssh.remote(run));
  return {
    ssh,
    core,
    async [Symbol.asyncDispose]() {
      await core[Symbol.asyncDispose]();
      ssh[Symbol.dispose]();
    },
  };
}

describe('the Core of another machine', () => {
  test('every command goes there, over one connection that ends with it', async () => {
    await using there = await machine();
    const before = leftovers();
    const ended = await devicectl(['--device', 'ssh://pi@device.local:2222', 'lamp', 'ping', '--json']);
    assert.equal(ended.code, 0, ended.stderr);
    assert.ok(there.core.seen.some(({ url }) => url === '/ping'));
    assert.ok(there.core.seen.every(({ authorization }) => authorization === undefined));
    const [asked, ...more] = there.ssh.asked;
    assert.deepEqual(more, []);
    assert.deepEqual(asked?.args.slice(-6), ['-p', '2222', '-l', 'pi', '--', 'device.local']);
    assert.match(asked?.args[asked.args.indexOf('-L') + 1] ?? '', /^\/.*\/s:\/run\/device\/core\.sock$/);
    await eventually(() => !existsSync(`/proc/${asked?.pid}`), 'ssh has ended');
    assert.deepEqual(leftovers(), before);
  });

  test('its run folder may be another one', async () => {
    await using there = await machine('/run/kitchen');
    await devicectl(['--device', 'ssh://host/run/kitchen/', 'plugin', 'list']);
    assert.ok(there.core.seen.length > 0);
  });

  test('a command without a Core asks no device, and completion logs in nowhere', async () => {
    await using there = await machine();
    const { stdout } = await devicectl(['--device', 'ssh://host', '__complete', '--', 'app', '']);
    assert.match(stdout, /^check$/m);
    assert.deepEqual(there.ssh.asked, []);
  });

  test('paths of its programs mean nothing here: those of this checkout are run', async () => {
    await using there = await machine();
    const main = '/etc/passwd';
    const plugins = [
      { id: 'cli', programs: [{ command: 'sku check', summary: '', main }] },
      { id: 'evil', programs: [{ command: 'evil run', summary: '', main }] },
    ];
    there.core.replies['GET /plugins'] = { ok: true, plugins };
    const ours = await devicectl(['--device', 'ssh://host', 'sku', 'check', '--help']);
    assert.equal(ours.code, 0, ours.stderr);
    const evil = await devicectl(['--device', 'ssh://host', 'evil', 'run']);
    assert.match(evil.stderr, /there is no command evil/);
  });

  test('its tokens stay there', async () => {
    await using there = await machine();
    there.core.replies['GET /plugins'] = {
      ok: true,
      plugins: [{ id: 'identity', programs: [{ command: 'token', summary: '', main: 'x' }] }],
    };
    const ended = await devicectl(['--device', 'ssh://host', 'token']);
    assert.equal(ended.code, 2);
    assert.match(ended.stderr, /tokens stay on the device/);
  });
});

describe('an address that is none is refused before anything is run', () => {
  const bad = [
    ...['ssh://-oProxyCommand=touch$IFS/tmp/x', 'ssh://-o@host', 'ssh://user@-oProxyCommand=x', 'ssh://'],
    ...['ssh://host -oProxyCommand=x', 'ssh://host:0', 'ssh://host:65536', 'ssh://host:22:22', 'ssh://a@b@c'],
    ...['ssh://host/run/../etc', 'ssh://host/run:/tmp/x', 'ssh://host/a b', 'ssh://host\n', 'http://host', 'host'],
    ...['ssh://hóst', 'ssh://%2doProxyCommand=x', 'ssh://[::1', 'ssh://$(id)', "ssh://h'o"],
  ];
  for (const address of bad)
    test(JSON.stringify(address), async () => {
      using ssh = new FakeSsh();
      const ended = await devicectl(['--device', address, 'plugin', 'list']);
      assert.equal(ended.code, 2);
      assert.match(ended.stderr, /--device must be an address such as ssh:/);
      assert.deepEqual(ssh.asked, []);
    });

  for (const other of ['--root', '--run', '--socket', '--url'])
    test(`beside ${other}`, async () => {
      const ended = await devicectl(['--device', 'ssh://host', other, 'http://x', 'plugin', 'list']);
      assert.equal(ended.code, 2);
      assert.match(ended.stderr, /--device says which Core is meant/);
    });
});

describe('a machine that cannot be reached', () => {
  for (const [trouble, message] of [
    ['refused', /cannot reach ssh:\/\/host: ssh ended with code 255: .*Permission denied/],
    ['unknown-host', /Could not resolve hostname/],
  ] as const)
    test(trouble, async () => {
      using ssh = new FakeSsh();
      ssh.fails(trouble);
      const ended = await devicectl(['--device', 'ssh://host', 'plugin', 'list', '--json']);
      assert.equal(ended.code, 3);
      assert.match(ended.stderr, message);
      assert.equal(JSON.parse(ended.stdout).code, 'UNAVAILABLE');
    });

  test('no Core runs there', async () => {
    using ssh = new FakeSsh();
    const before = leftovers();
    const ended = await devicectl(['--device', 'ssh://host', 'plugin', 'list']);
    assert.equal(ended.code, 3);
    assert.match(ended.stderr, /cannot reach the Core at ssh:\/\/host.*\n.*does a Core run there\?/);
    assert.equal(ssh.asked.length, 1);
    assert.deepEqual(leftovers(), before);
  });

  test('the connection is lost in the middle of an answer', async () => {
    await using there = await machine();
    there.ssh.fails('lost');
    const ended = await devicectl(['--device', 'ssh://host', 'plugin', 'list']);
    assert.equal(ended.code, 3);
    assert.match(ended.stderr, /cannot reach the Core at ssh:\/\/host/);
  });

  test('there is no ssh on this machine', async () => {
    const path = process.env.PATH;
    process.env.PATH = '/nowhere';
    try {
      const ended = await devicectl(['--device', 'ssh://host', 'plugin', 'list']);
      assert.equal(ended.code, 3);
      assert.match(ended.stderr, /there is no ssh on this machine/);
    } finally {
      process.env.PATH = path;
    }
  });
});

test('a command that is interrupted leaves no ssh behind', async () => {
  await using there = await machine();
  // It never answers.
  there.core.replies['GET /plugins'] = () => undefined;
  const child = spawnDevicectl(['--device', 'ssh://host', 'plugin', 'list']);
  const closed = once(child, 'close');
  await eventually(() => there.core.seen.length > 0, 'it has asked');
  child.kill('SIGTERM');
  await closed;
  const [asked] = there.ssh.asked;
  await eventually(() => !existsSync(`/proc/${asked?.pid}`), 'ssh has ended');
});

/** As Debian has it, for this user alone, on a port of the loopback. */
const [SSHD] = foundOf('openssh-server');
const NO_SSHD = without('openssh-server', 'openssh-client');

test('through a real sshd a real Core answers', { skip: NO_SSHD }, async () => {
  using root = new TemporaryRoot();
  await using _core = await CoreProcess.start(root.path);
  const folder = mkdtempSync(join(tmpdir(), 'sd-'));
  const port = await freePort();
  for (const key of ['host', 'user']) {
    const made = spawnSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, key)]);
    assert.equal(made.status, 0);
  }
  const lines = [`Port ${port}`, 'ListenAddress 127.0.0.1', `HostKey ${folder}/host`, 'UsePAM no', 'StrictModes no'];
  const more = [`AuthorizedKeysFile ${folder}/user.pub`, 'AllowStreamLocalForwarding yes', 'PidFile none'];
  writeFileSync(join(folder, 'sshd_config'), [...lines, ...more, 'PermitRootLogin yes'].join('\n'));
  const server = spawn(SSHD!, ['-D', '-e', '-f', join(folder, 'sshd_config')], { stdio: 'ignore' });
  const ended = once(server, 'close');
  // The user's own key and known hosts stay out of it.
  mkdirSync(join(folder, 'bin'));
  const options = `-i ${folder}/user -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -F /dev/null`;
  writeFileSync(join(folder, 'bin/ssh'), `#!/bin/sh\nexec /usr/bin/ssh ${options} "$@"\n`, { mode: 0o755 });
  const path = process.env.PATH;
  process.env.PATH = `${folder}/bin:${path}`;
  try {
    const address = `ssh://${userInfo().username}@127.0.0.1:${port}${join(root.path, 'run')}`;
    await eventually(async () => {
      const { code, stdout, stderr } = await devicectl(['--device', address, 'status', '--json']);
      assert.deepEqual([code, JSON.parse(stdout || '{}').ok], [0, true], stderr);
      return true;
    }, 'an answer of the Core');
  } finally {
    process.env.PATH = path;
    server.kill();
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
});

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}
