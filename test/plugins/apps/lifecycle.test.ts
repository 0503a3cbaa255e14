import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { functions } from '@device-core/plugin-api/services/functions';
import {
  alive,
  CONNECT,
  eventually,
  KEEPS,
  LONG_BACKOFF,
  manifestOf,
  processesAt,
  putApp,
  startBench,
} from './fixture.ts';

const ID = 'com.example.demo';

const elsewhere =
  (process.env.DEVICE_TEST_ISOLATION ?? 'inline') !== 'inline' && 'the supervisor is asked by way of this thread';

test('an app starts with the device: grants, token, socket, process, in this order', async () => {
  await using bench = await startBench({
    prepare: (installed) =>
      putApp(installed, manifestOf(ID, { capabilities: [{ id: 'display.notify', reason: 'tells' }] })),
  });
  assert.equal((await bench.status(ID)).state, 'stopped');
  await bench.host.hook('kernel.ready').promise();
  const status = await bench.reach(ID, 'running');
  assert.deepEqual(status.capabilities, ['display.notify']);
  assert.deepEqual(bench.journal, [`identity.issue ${ID}`, `socket.open ${ID}`, `identity.launched ${ID}`]);
  assert.deepEqual(await bench.host.grants.of({ kind: 'app', id: ID }), ['display.notify']);
  const token = join(bench.paths.run, 'apps/demo/credentials/token');
  assert.equal(readFileSync(token, 'utf8'), `token-1-of-${ID}`);
  assert.equal(statSync(token).mode & 0o777, 0o600);
  assert.equal(statSync(join(token, '..')).mode & 0o777, 0o700);
});

test('the environment of an app holds what the guide says and nothing of the Core', async () => {
  process.env.SECRET_OF_THE_CORE = 'x';
  const script = `require('node:fs').writeFileSync(process.env.DEVICE_DATA_DIR + '/env', JSON.stringify({...process.env, cwd: process.cwd(), argv: process.argv.slice(2)}));${CONNECT}`;
  await using bench = await startBench({
    prepare: (installed) =>
      putApp(
        installed,
        manifestOf(ID, { capabilities: [KEEPS], exec: { command: 'node', args: ['main.cjs', 'a b', '$HOME'] } }),
        script,
      ),
  });
  await bench.apps.start(ID);
  const data = join(bench.installed, ID, 'data');
  // Shells set PWD, and so does bubblewrap.
  const { cwd, argv, PWD = cwd, ...environment } = JSON.parse(await readFile(join(data, 'env'), 'utf8'));
  assert.equal(PWD, cwd);
  assert.equal(cwd, join(bench.installed, ID));
  assert.deepEqual(argv, ['a b', '$HOME']);
  assert.deepEqual(environment, {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LANG: 'C.UTF-8',
    HOME: data,
    DEVICE_APP_ID: ID,
    DEVICE_DATA_DIR: data,
    DEVICE_CACHE_DIR: join(data, '../cache'),
    DEVICE_RPC_SOCKET: join(bench.paths.run, 'apps/demo/rpc.sock'),
    DEVICE_HTTP_SOCKET: join(bench.paths.run, 'core.sock'),
    CREDENTIALS_DIRECTORY: join(bench.paths.run, 'apps/demo/credentials'),
  });
  delete process.env.SECRET_OF_THE_CORE;
});

test('stopping takes everything back and leaves no process, with any groups and sessions of the app', async () => {
  const script = `
    const { spawn } = require('node:child_process');
    process.on('SIGTERM', () => {});
    const child = spawn('sh', ['-c', 'trap "" TERM; (setsid sleep 60 & echo $! > data/away); set -m; sleep 60 & echo $! > data/deep; wait'], { stdio: 'ignore' });
    require('node:fs').writeFileSync('data/child', String(child.pid));${CONNECT}`;
  await using bench = await startBench({
    prepare: (installed) =>
      putApp(installed, manifestOf(ID, { capabilities: [KEEPS], lifecycle: { stopTimeoutMs: 200 } }), script),
  });
  await bench.host.appear(functions, bench.functions);
  await bench.apps.start(ID);
  const data = join(bench.installed, ID, 'data');
  for (const name of ['child', 'deep', 'away'])
    await eventually(() => existsSync(join(data, name)) && readFileSync(join(data, name), 'utf8') !== '', name);
  // The app itself, its shell, and both that sleep; walls may add their own.
  const pids = processesAt(data);
  assert.ok(pids.length >= 4, `${pids.length} processes`);
  bench.journal.length = 0;
  const status = await bench.apps.stop(ID);
  assert.equal(status.state, 'stopped');
  assert.deepEqual(pids.filter(alive), []);
  assert.deepEqual(processesAt(data), []);
  assert.deepEqual(bench.journal, [`socket.close ${ID}`, `identity.revoke ${ID}`, `functions.unregister ${ID}`]);
  assert.deepEqual(await bench.host.grants.of({ kind: 'app', id: ID }), []);
  assert.equal(existsSync(join(bench.paths.run, 'apps/demo/credentials')), false);
  assert.equal(existsSync(join(bench.paths.run, 'apps/demo/pid')), false);
});

test('a restart keeps its functions in the table: who calls one meanwhile waits for the new run', async () => {
  const listed = { functions: [{ name: 'greet', version: '1.0.0' }] };
  await using bench = await startBench({
    prepare: (installed) => putApp(installed, manifestOf(ID, listed)),
  });
  await bench.host.appear(functions, bench.functions);
  await bench.apps.start(ID);
  const { pid } = await bench.status(ID);
  bench.journal.length = 0;
  const { state, pid: again } = await bench.apps.restart(ID);
  assert.equal(state, 'running');
  assert.notEqual(again, pid);
  assert.ok(bench.journal.includes(`socket.close ${ID}`) && bench.journal.includes(`identity.revoke ${ID}`));
  assert.ok(!bench.journal.includes(`functions.unregister ${ID}`), bench.journal.join('\n'));
  await bench.apps.stop(ID);
  assert.ok(bench.journal.includes(`functions.unregister ${ID}`));
});

test('a stop that comes while it restarts holds, and takes everything back', async () => {
  await using bench = await startBench({ prepare: (installed) => putApp(installed, manifestOf(ID)) });
  await bench.host.appear(functions, bench.functions);
  await bench.apps.start(ID);
  await Promise.all([bench.apps.restart(ID), bench.apps.stop(ID)]);
  assert.equal((await bench.status(ID)).state, 'stopped');
  assert.equal(bench.journal.at(-1), `functions.unregister ${ID}`);
  assert.deepEqual(await bench.host.grants.of({ kind: 'app', id: ID }), []);
  assert.equal((await bench.apps.start(ID)).state, 'running');
});

test('an app that cannot be stopped is failed with the reason, and the next start or stop tries again', {
  skip: elsewhere,
}, async () => {
  let refuses = false;
  const stopping = () => {
    if (refuses) throw new Error('no warden');
  };
  await using bench = await startBench({ prepare: (installed) => putApp(installed, manifestOf(ID)), stopping });
  const { pid } = await bench.apps.start(ID);
  refuses = true;
  await assert.rejects(bench.apps.stop(ID), /no warden/);
  const failed = await bench.status(ID);
  assert.deepEqual([failed.state, failed.pid], ['failed', pid]);
  assert.match(failed.reason ?? '', /^its processes could not be ended: no warden/);
  assert.deepEqual(await bench.host.grants.of({ kind: 'app', id: ID }), [], 'what runs on may do nothing');
  await assert.rejects(bench.apps.start(ID), /no warden/);
  refuses = false;
  const again = await bench.apps.start(ID);
  assert.equal(again.state, 'running');
  assert.notEqual(again.pid, pid);
  assert.equal(alive(pid ?? 0), false);
  refuses = true;
  await assert.rejects(bench.apps.stop(ID), /no warden/);
  try {
    process.kill(again.pid ?? 0, 'SIGKILL');
  } catch (error) {
    // Its socket is closed, so that it may have ended by itself.
    assert.equal((error as NodeJS.ErrnoException).code, 'ESRCH');
  }
  await bench.reach(ID, 'failed', 'stopped');
  refuses = false;
  assert.equal((await bench.apps.stop(ID)).state, 'stopped');
});

test('an app that has been told to stop may end in peace', async () => {
  const script = `setInterval(() => {}, 1000); process.on('SIGTERM', () => setTimeout(() => { require('node:fs').writeFileSync('data/peace', ''); process.exit(0); }, 50));${CONNECT.replace('process.exit(9)', '{}')}`;
  await using bench = await startBench({
    prepare: (installed) => putApp(installed, manifestOf(ID, { capabilities: [KEEPS] }), script),
  });
  await bench.apps.start(ID);
  await bench.apps.stop(ID);
  assert.ok(existsSync(join(bench.installed, ID, 'data/peace')));
});

test('a crash is followed by pauses, restarts and at last by quarantine, which a start releases', async () => {
  const keep = `const fs = require('node:fs'); fs.appendFileSync('data/tokens', fs.readFileSync(process.env.CREDENTIALS_DIRECTORY + '/token') + '\\n');`;
  const script = `${keep} console.error('the oven is on fire'); setTimeout(() => process.exit(3), 50);${CONNECT}`;
  const manifest = manifestOf(ID, { capabilities: [KEEPS] });
  await using bench = await startBench({ prepare: (installed) => putApp(installed, manifest, script) });
  await bench.apps.start(ID);
  const status = await bench.reach(ID, 'quarantined');
  assert.equal(status.restarts, 2);
  assert.match(
    status.reason ?? '',
    /^3 crashes in a short time; the last one: it ended with code 3; it wrote: the oven is on fire$/,
  );
  const tokens = readFileSync(join(bench.installed, ID, 'data/tokens'), 'utf8')
    .trim()
    .split('\n');
  assert.equal(new Set(tokens).size, 3, 'each run has a token of its own');
  assert.equal(status.pid, undefined);
  const states = bench.host.published.filter(({ topic }) => topic === 'app.state').map(({ payload }) => payload);
  assert.deepEqual(
    states.map((payload) => (payload as { state: string }).state),
    [
      'starting',
      'running',
      'backoff',
      'starting',
      'running',
      'backoff',
      'starting',
      'running',
      'stopping',
      'quarantined',
    ],
  );
  assert.ok(!JSON.stringify(states).includes('oven'), 'the output of an app stays out of events');
  const { state } = await bench.apps.start(ID);
  assert.equal(state, 'running');
});

test('kill -9 of an app is a crash like any other', async () => {
  await using bench = await startBench({
    config: LONG_BACKOFF,
    prepare: (installed) => putApp(installed, manifestOf(ID)),
  });
  const { pid } = await bench.apps.start(ID);
  process.kill(pid ?? 0, 'SIGKILL');
  const status = await bench.reach(ID, 'backoff');
  assert.match(status.reason ?? '', /ended by SIGKILL/);
  const again = await bench.reach(ID, 'running');
  assert.notEqual(again.pid, pid);
});

const endings: readonly (readonly [string, string, object, string, RegExp])[] = [
  ['ends well', 'setTimeout(() => process.exit(0), 50)', {}, 'stopped', /code 0/],
  ['crashes and is never restarted', 'setTimeout(() => process.exit(1), 50)', { restart: 'never' }, 'failed', /code 1/],
  [
    'ends well but is always restarted',
    'setTimeout(() => process.exit(0), 50)',
    { restart: 'always' },
    'quarantined',
    /code 0/,
  ],
  ['ends before it is ready', 'process.exit(0)', {}, 'quarantined', /before it was ready/],
  [
    'never connects',
    'setInterval(() => {}, 1000)',
    { startTimeoutMs: 150 },
    'quarantined',
    /was not ready after 150 ms/,
  ],
];
for (const [name, script, lifecycle, state, reason] of endings)
  test(`an app that ${name} is ${state}`, async () => {
    const connect = /process\.exit\(0\)$|Interval/.test(script) ? '' : CONNECT;
    await using bench = await startBench({
      prepare: (installed) => putApp(installed, manifestOf(ID, { lifecycle }), `${script};${connect}`),
    });
    await bench.apps.start(ID);
    const status = await bench.reach(ID, state as 'failed');
    assert.match(status.reason ?? '', reason);
  });

const unrunnable: readonly (readonly [string, string, RegExp])[] = [
  ['is not there', './nowhere', /cannot run \.\/nowhere/],
  ['is nowhere in the search path', 'no-such-program', /cannot find no-such-program/],
  ['is no program', './broken', /cannot run \.\/broken: .* \(is the program after #! in its first line there\?\)/],
];
for (const [name, command, reason] of unrunnable)
  test(`a command that ${name} fails at once, with the reason`, async () => {
    await using bench = await startBench({
      prepare: (installed) =>
        putApp(installed, manifestOf(ID, { exec: { command } }), '', { broken: '#!/nowhere/at/all\n' }),
    });
    const status = await bench.apps.start(ID);
    assert.equal(status.state, 'failed');
    assert.match(status.reason ?? '', reason);
    assert.ok(bench.journal.includes(`identity.revoke ${ID}`));
  });

test('an app of health kind none runs as soon as its process does', async () => {
  await using bench = await startBench({
    prepare: (installed) =>
      putApp(installed, manifestOf(ID, { health: { kind: 'none' } }), 'setInterval(() => {}, 1000)'),
  });
  assert.equal((await bench.apps.start(ID)).state, 'running');
});

for (const verb of ['start', 'restart'] as const)
  test(`a ${verb} of an app without a session tells an end that follows at once`, async () => {
    await using bench = await startBench({
      config: LONG_BACKOFF,
      prepare: (installed) => putApp(installed, manifestOf(ID, { health: { kind: 'none' } }), 'process.exit(3)'),
    });
    const { state, reason } = await bench.apps[verb](ID);
    assert.deepEqual([state, reason?.includes('code 3')], ['backoff', true], reason);
  });

test('an app that loses its session and does not come back is restarted', async () => {
  await using bench = await startBench({
    prepare: (installed) =>
      putApp(
        installed,
        manifestOf(ID, { lifecycle: { startTimeoutMs: 1000 } }),
        `require('node:net').connect(process.env.DEVICE_RPC_SOCKET).resume(); setInterval(() => {}, 1000)`,
      ),
  });
  const { pid } = await bench.apps.start(ID);
  bench.sockets.drop(ID);
  const status = await bench.reach(ID, 'backoff');
  assert.match(status.reason ?? '', /no session for 1000 ms/);
  const again = await bench.reach(ID, 'running');
  assert.notEqual(again.pid, pid);
});

test('a stop gives up a start that is under way', async () => {
  await using bench = await startBench({
    prepare: (installed) => putApp(installed, manifestOf(ID), 'setInterval(() => {}, 1000)'),
  });
  const start = bench.apps.start(ID);
  const { pid } = await eventually(async () => {
    const status = await bench.status(ID);
    return status.pid ? status : undefined;
  }, 'a process');
  const before = Date.now();
  await bench.apps.stop(ID);
  await start;
  assert.ok(Date.now() - before < 5_000);
  assert.equal((await bench.status(ID)).state, 'stopped');
  assert.equal(alive(pid ?? 0), false);
});

test('a stop gives up a start that waits behind an earlier stop', async () => {
  await using bench = await startBench({
    prepare: (installed) => putApp(installed, manifestOf(ID), 'setInterval(() => {}, 1000)'),
  });
  const begun = bench.apps.start(ID);
  await eventually(async () => (await bench.status(ID)).pid, 'a process');
  const before = Date.now();
  await Promise.all([begun, bench.apps.stop(ID), bench.apps.start(ID), bench.apps.stop(ID)]);
  assert.ok(Date.now() - before < 5_000);
  assert.equal((await bench.status(ID)).state, 'stopped');
});

test('the record of a process is never written through a symbolic link', async () => {
  await using bench = await startBench({ prepare: (installed) => putApp(installed, manifestOf(ID)) });
  const { run } = bench.paths;
  await mkdir(join(run, 'apps', 'demo'), { recursive: true });
  await writeFile(join(run, 'precious'), 'precious');
  await symlink(join(run, 'precious'), join(run, 'apps', 'demo', 'pid'));
  await bench.apps.start(ID);
  assert.equal(readFileSync(join(run, 'precious'), 'utf8'), 'precious');
  assert.equal((await bench.status(ID)).state, 'running');
});

test('the stop of the plugin stops every app and leaves nothing', async () => {
  const bench = await startBench({
    prepare: (installed) =>
      Promise.all(['a', 'b', 'c'].map((name) => putApp(installed, manifestOf(`com.example.${name}`)))),
  });
  await bench.host.hook('kernel.ready').promise();
  const pids = await Promise.all(
    ['a', 'b', 'c'].map(async (name) => (await bench.reach(`com.example.${name}`, 'running')).pid ?? 0),
  );
  await bench.host.stop();
  assert.deepEqual(pids.map(alive), [false, false, false]);
  assert.deepEqual(bench.host.leaks(), []);
  await bench[Symbol.asyncDispose]();
});

test('processes of a Core that was killed are ended at the next start, foreign ones are not', async () => {
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  const home = '/nowhere/data';
  const former = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
  const foreign = spawn('sleep', ['60'], { detached: true, stdio: 'ignore' });
  const startTime = (pid: number) => readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1]?.split(' ')[19] ?? '';
  const record = async (run: string, name: string, text: string) => {
    await mkdir(join(run, 'apps', name), { recursive: true });
    await writeFile(join(run, 'apps', name, 'pid'), text);
  };
  const pid = former.pid ?? 0;
  const other = foreign.pid ?? 0;
  await using bench = await startBench({
    prepare: async (_, { run }) => {
      await record(run, 'former', JSON.stringify({ pid, startTime: startTime(pid), boot, home }));
      await record(run, 'reused', JSON.stringify({ pid: other, startTime: '1', boot, home }));
      await record(
        run,
        'before-boot',
        JSON.stringify({ pid: other, startTime: startTime(other), boot: 'other', home }),
      );
      await record(run, 'cut-short', '{"pid": 1');
    },
  });
  assert.equal(alive(pid), false);
  assert.equal(alive(other), true);
  assert.ok(bench.host.logged.some(({ message }) => /former Core/.test(message)));
  foreign.kill('SIGKILL');
});

test('an app folder that comes starts, one that changes begins anew, one that goes stops', async () => {
  await using bench = await startBench();
  await bench.host.hook('kernel.ready').promise();
  const folder = await putApp(bench.installed, manifestOf(ID));
  const first = await bench.reach(ID, 'running');
  await putApp(bench.installed, manifestOf(ID, { title: 'Another' }));
  const second = await eventually(async () => {
    const status = await bench.status(ID);
    return status.title === 'Another' && status.state === 'running' ? status : undefined;
  }, 'the new manifest');
  assert.notEqual(second.pid, first.pid);
  assert.equal(alive(first.pid ?? 0), false);
  await rm(folder, { recursive: true, force: true });
  await eventually(() => !alive(second.pid ?? 0) || undefined, 'its end');
  await eventually(async () => (await bench.apps.list()).length === 0 || undefined, 'an empty list');
});

test('functions of the manifest are registered when the app starts or the registry comes', async () => {
  const entry = { name: 'demo.next', version: '1.0.0' };
  await using bench = await startBench({
    prepare: (installed) => putApp(installed, manifestOf(ID, { functions: [entry] })),
  });
  await bench.apps.start(ID);
  assert.deepEqual(bench.specifications, []);
  await bench.host.appear(functions, bench.functions);
  assert.deepEqual(bench.specifications, [{ app: ID, functions: [entry] }]);
  await bench.apps.restart(ID);
  assert.equal(bench.specifications.length, 2);
});

describe('the data of an app are borrowed', () => {
  const WRITES = `setInterval(() => require('node:fs').appendFileSync(process.env.DEVICE_DATA_DIR + '/log', 'x'), 5);${CONNECT}`;
  const keeper = (installed: string) => putApp(installed, manifestOf(ID, { capabilities: [KEEPS] }), WRITES);

  test('while nothing of it runs and nothing starts it; it runs again afterwards', async () => {
    await using bench = await startBench({ prepare: keeper });
    await bench.apps.start(ID);
    const log = join(bench.installed, ID, 'data/log');
    await eventually(() => existsSync(log), 'it writes');
    const { pid = 0 } = await bench.status(ID);
    let started: Promise<unknown> | undefined;
    let over = false;
    await bench.apps.borrow(ID, async () => {
      assert.equal(alive(pid), false);
      const before = readFileSync(log, 'utf8');
      started = bench.apps.start(ID).then(() => {
        assert.ok(over, 'it started in the middle');
      });
      await bench.apps.list();
      assert.equal((await bench.status(ID)).state, 'stopped');
      assert.equal(readFileSync(log, 'utf8'), before);
      over = true;
    });
    await started;
    assert.equal((await bench.status(ID)).state, 'running');
    assert.notEqual((await bench.status(ID)).pid, pid);
  });

  test('also when that fails, and also of an app that is stopped or unknown', async () => {
    await using bench = await startBench({ prepare: keeper });
    const fails = () => Promise.reject(new Error('the disk is full'));
    await bench.apps.start(ID);
    await assert.rejects(bench.apps.borrow(ID, fails), /disk is full/);
    assert.equal((await bench.status(ID)).state, 'running');
    await bench.apps.stop(ID);
    await bench.apps.borrow(ID, async () => undefined);
    assert.equal((await bench.status(ID)).state, 'stopped');
    await assert.rejects(bench.apps.borrow('com.example.gone', fails), /disk is full/);
  });

  test('not where it cannot be stopped: it runs on as it did', { skip: elsewhere }, async () => {
    let refuses = false;
    const stopping = () => {
      if (refuses) throw new Error('no warden');
    };
    await using bench = await startBench({ prepare: keeper, stopping });
    await bench.apps.start(ID);
    const { pid } = await bench.status(ID);
    const worked: string[] = [];
    refuses = true;
    await assert.rejects(
      bench.apps.borrow(ID, async () => void worked.push(ID)),
      /no warden/,
    );
    refuses = false;
    const status = await bench.status(ID);
    assert.deepEqual([worked, status.state, status.pid], [[], 'running', pid]);
    assert.ok(!bench.journal.includes(`socket.close ${ID}`));
  });
});
