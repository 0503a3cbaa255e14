/** Whose a process is, on tables of processes that no real machine would show twice. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import type { Guest } from '@device-core/plugin-api/inside/services/processes';
import fc from 'fast-check';
import { type ProcessEntry, readProcess } from '../../kernel/walls/process-table.ts';
import { ProcessBook } from '../../kernel/walls/processes.ts';
import { becomeSubreaper } from '../../kernel/walls/subreaper.ts';
import { eventually } from '../fixtures/eventually.ts';
import { runs } from '../fixtures/runs.ts';

const CORE = 100;
const APP: Guest = { kind: 'app', id: 'com.example.a' };
const OTHER: Guest = { kind: 'plugin', id: 'guest' };
/** As it was read when the connection came; the table gives each process its number as its start time. */
const peer = (pid: number, startTime = `${pid}`) => ({ pid, uid: 1000, gid: 1000, startTime });

/** A table that can be changed while it is read. */
class Table {
  readonly entries = new Map<number, ProcessEntry>();
  reads = 0;
  onRead: () => void = () => undefined;

  put(pid: number, parent: number, { session = pid, startTime = `${pid}`, ...more }: Partial<ProcessEntry> = {}): this {
    this.entries.set(pid, { state: 'S', ...more, parent, session, startTime });
    return this;
  }

  readonly read = (pid: number) => {
    this.reads++;
    this.onRead();
    return this.entries.get(pid);
  };

  book(options = {}): ProcessBook {
    return new ProcessBook({ root: CORE, read: this.read, ...options });
  }
}

/** init, a shell of the operator with a child, and the Core with an app that has a child, and a tool. */
const machine = () =>
  new Table()
    .put(1, 0)
    .put(50, 1)
    .put(51, 50, { session: 50 })
    .put(CORE, 1)
    .put(200, CORE)
    .put(201, 200, { session: 200 })
    .put(300, CORE, { session: CORE });

test('descent, session and the Core itself tell the owner of a process', async () => {
  const table = machine().put(202, 201).put(203, CORE, { session: 200 }).put(204, CORE);
  const book = table.book();
  await book.add(APP, { pid: 200 });
  const kinds: Readonly<Record<number, string>> = {
    1: 'stranger',
    50: 'stranger',
    51: 'stranger',
    [CORE]: 'core',
    200: 'app',
    201: 'app',
    202: 'app', // a session of its own
    203: 'app', // its parent has gone, its session tells
    204: 'core', // both have gone: an orphan that the Core took in
    300: 'core', // a tool
    999: 'unknown',
  };
  for (const [pid, kind] of Object.entries(kinds))
    assert.equal((await book.ownerOf(peer(Number(pid)))).kind, kind, `process ${pid}`);
});

test('a session without its leader is still that of the app', async () => {
  const table = machine();
  const book = table.book();
  await book.add(APP, { pid: 200 });
  table.entries.delete(200);
  table.put(201, CORE, { session: 200 });
  assert.deepEqual(await book.ownerOf(peer(201)), { ...APP, ended: false });
  await book.end(APP);
  assert.deepEqual(await book.ownerOf(peer(201)), { ...APP, ended: true });
});

test('a process id that was given again is not the guest that had it', async () => {
  const table = machine();
  const book = table.book();
  await book.add(APP, { pid: 200 });
  table.put(200, 50, { session: 50, startTime: '9000' });
  assert.equal((await book.ownerOf(peer(200, '9000'))).kind, 'stranger');
  assert.equal((await book.ownerOf(peer(200, '200'))).kind, 'unknown', 'the peer was the one before');
  await book.add(OTHER, { pid: 200 });
  assert.equal((await book.ownerOf(peer(200, '9000'))).kind, 'plugin');
});

test('a user of its own tells an app, wherever its process comes from, and gives nothing to what the Core knows better', async () => {
  const book = machine().book();
  await book.add(APP, { uid: 1000 });
  assert.equal((await book.ownerOf(peer(51))).kind, 'app');
  assert.equal((await book.ownerOf(peer(300))).kind, 'core');
  await book.end(APP);
  assert.equal((await book.ownerOf(peer(51))).kind, 'stranger');
});

/** Who held a number as it connected, and what the machine has under that number as it is looked at. */
const nobodies: readonly (readonly [
  title: string,
  pid: number,
  startTime: string | undefined,
  now: Partial<ProcessEntry> | undefined,
  why: string,
])[] = [
  ['is gone', 400, undefined, undefined, 'ended'],
  ['is gone, and was seen', 400, '400', undefined, 'ended'],
  ['is gone, and whose number a stranger has', 51, undefined, {}, 'ended'],
  ['is gone, and whose number a stranger of another start has', 51, '7', {}, 'ended'],
  ['began in the same tick as none', 51, '', {}, 'ended'],
  ['has ended and waits for its parent', 51, '51', { state: 'Z' }, 'ended'],
  ['is being taken away', 51, '51', { state: 'X' }, 'ended'],
  ['is gone, and whose number a thread of a stranger has', 51, '51', { thread: true }, 'ended'],
  ['has no number here', 0, undefined, undefined, 'elsewhere'],
  ['has no number here, whatever time it names', 0, '1', undefined, 'elsewhere'],
  ['is in a namespace of its own', 51, '51', { nested: true }, 'elsewhere'],
  ['has a number that no process has', -1, '1', undefined, 'elsewhere'],
];
for (const [title, pid, startTime, now, why] of nobodies)
  test(`a process that ${title} is unknown, and is so at every later look`, async () => {
    const table = machine();
    const book = table.book();
    await book.add(APP, { pid: 200 });
    if (now) table.put(pid, 50, { session: 50, ...now });
    const who = { pid, uid: 0, gid: 0, ...(startTime === undefined ? {} : { startTime }) };
    for (const parent of [50, 200, CORE, 1]) {
      assert.deepEqual(await book.ownerOf(who), { kind: 'unknown', why }, `while ${parent} has a child`);
      // The number goes from hand to hand: to a guest, to a tool of the Core, to a program of the operator.
      table.put(400, parent, { session: parent, startTime: `${9_000 + parent}` });
    }
  });

test('a guest stays one in a pid namespace of its own, and so does a tool of the Core', async () => {
  const table = machine().put(201, 200, { session: 201, nested: true }).put(300, CORE, { session: CORE, nested: true });
  const book = table.book();
  await book.add(APP, { pid: 200 });
  assert.deepEqual(await book.ownerOf(peer(201)), { ...APP, ended: false });
  assert.equal((await book.ownerOf(peer(300))).kind, 'core');
  await book.add(OTHER, { uid: 1000 });
  assert.deepEqual(await book.ownerOf({ pid: 0, uid: 1000, gid: 0 }), { ...OTHER, ended: false }, 'by its user');
});

test('a guest that was gone before it was entered makes no guest of the next process with its number', async () => {
  const table = machine();
  const book = table.book();
  await book.add(APP, { pid: 777 });
  table.put(777, 50, { session: 50 });
  assert.equal((await book.ownerOf(peer(777))).kind, 'stranger');
});

test('a peer is the process that connected or unknown, for any reuse of numbers', async () => {
  const step = fc.record({
    pid: fc.integer({ min: 400, max: 403 }),
    parent: fc.constantFrom(1, 50, CORE, 200),
    dies: fc.boolean(),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const table = machine();
      const book = table.book();
      await book.add(APP, { pid: 200 });
      let tick = 1_000;
      const held: { peer: ReturnType<typeof peer>; kind: string }[] = [];
      for (const { pid, parent, dies } of steps) {
        table.entries.delete(pid);
        if (!dies) {
          table.put(pid, parent, { session: parent, startTime: `${++tick}` });
          const kind = parent === 200 ? 'app' : parent === CORE ? 'core' : 'stranger';
          held.push({ peer: peer(pid, `${tick}`), kind });
        }
        for (const one of held) {
          const { kind } = await book.ownerOf(one.peer);
          const there = table.entries.get(one.peer.pid)?.startTime === one.peer.startTime;
          assert.equal(kind, there ? one.kind : 'unknown');
        }
      }
    }),
    { numRuns: runs(300) },
  );
});

test('a parent that goes while its child is looked up makes no child a stranger', async () => {
  for (let at = 1; at <= 12; at++) {
    const table = machine().put(202, 201, { session: 202 }).put(201, 200, { session: 201 });
    const book = table.book();
    await book.add(APP, { pid: 200 });
    table.reads = 0;
    table.onRead = () => {
      if (table.reads !== at) return;
      table.entries.delete(201);
      table.put(202, CORE, { session: 202 });
    };
    const { kind } = await book.ownerOf(peer(202));
    assert.ok(kind === 'app' || kind === 'core', `gone at read ${at}: ${kind}`);
  }
});

test('the number of a parent that went and was given to a stranger leads nowhere', async () => {
  for (let at = 1; at <= 12; at++) {
    const table = machine().put(202, 201, { session: 202 }).put(201, CORE, { session: 201 });
    const book = table.book();
    table.reads = 0;
    table.onRead = () => {
      if (table.reads !== at) return;
      table.put(201, 50, { session: 50, startTime: '9000' });
      table.put(202, CORE, { session: 202 });
    };
    assert.equal((await book.ownerOf(peer(202))).kind, 'core', `given again at read ${at}`);
  }
});

test('a process with too long a line of ancestors has no known owner', async () => {
  const table = machine();
  for (let pid = 1_000; pid < 3_000; pid++) table.put(pid, pid === 1_000 ? CORE : pid - 1);
  assert.equal((await table.book().ownerOf(peer(2_999))).kind, 'unknown');
});

test('no process of a guest is a stranger after any sequence of forks and ends', async () => {
  const step = fc.record({ what: fc.constantFrom('fork', 'setsid', 'die'), who: fc.nat(), from: fc.nat() });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const table = machine();
      const book = table.book();
      await book.add(APP, { pid: 200 });
      const mine = [200, 201, 300];
      let next = 1_000;
      for (const { what, who } of steps) {
        const pid = mine[who % mine.length]!;
        const entry = table.entries.get(pid)!;
        if (what === 'fork') {
          table.put(next, pid, { session: entry.session });
          mine.push(next++);
        } else if (what === 'setsid') {
          table.put(pid, entry.parent, { session: pid, startTime: entry.startTime });
        } else if (mine.length > 1) {
          table.entries.delete(pid);
          mine.splice(mine.indexOf(pid), 1);
          // The Core is the subreaper.
          for (const [child, of] of table.entries)
            if (of.parent === pid) table.put(child, CORE, { session: of.session, startTime: of.startTime });
        }
      }
      for (const pid of mine) assert.notEqual((await book.ownerOf(peer(pid))).kind, 'stranger', `process ${pid}`);
      assert.equal((await book.ownerOf(peer(51))).kind, 'stranger');
    }),
    { numRuns: runs(1_000) },
  );
});

test('the other end of a TCP connection is found among the open files of guests', async () => {
  const book = new ProcessBook();
  await using server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  const script = `require('net').connect(${port}, '127.0.0.1'); process.stdin.resume();`;
  const accepted = once(server, 'connection');
  const child = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'ignore', 'inherit'] });
  const [socket] = await accepted;
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  const ends = { localAddress, localPort, remoteAddress, remotePort };
  assert.equal((await book.ownerOfTcp(ends)).kind, 'stranger');
  await book.add(OTHER, { pid: child.pid! });
  assert.deepEqual(await book.ownerOfTcp(ends), { ...OTHER, ended: false });
  const users = new ProcessBook();
  await users.add(OTHER, { uid: process.getuid?.() ?? 0 });
  assert.deepEqual(await users.ownerOfTcp(ends), { ...OTHER, ended: false }, 'a user of a guest’s own tells the guest');
  assert.equal((await book.ownerOfTcp({ ...ends, remotePort: 1 })).kind, 'unknown', 'no such connection');
  assert.equal((await book.ownerOfTcp({ ...ends, remoteAddress: '192.0.2.1' })).kind, 'stranger', 'another machine');
  child.kill('SIGKILL');
  await once(child, 'exit');
  socket.destroy();
});

test('an orphan is taken in and buried, and a child of Node keeps its exit status', async () => {
  const subreaper = await becomeSubreaper();
  assert.equal(subreaper.failure, undefined);
  const shell = spawn('sh', ['-c', 'sh -c "echo \\$\\$; exec sleep 0.05" & exit 7'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  let text = '';
  shell.stdout.setEncoding('utf8').on('data', (chunk) => {
    text += chunk;
  });
  const [code] = await once(shell, 'exit');
  assert.equal(code, 7);
  const orphan = await eventually(() => Number(text) || undefined, 'the orphan');
  await eventually(() => readProcess(orphan)?.state === 'Z', 'its end');
  assert.equal(readProcess(orphan)?.parent, process.pid);
  assert.deepEqual(subreaper.bury(), [], 'the first look only notes it');
  assert.deepEqual(subreaper.bury(), [orphan]);
  assert.equal(readProcess(orphan), undefined);
});

test('without the native library orphans are lost, and that is said', async () => {
  const subreaper = await becomeSubreaper(() => Promise.reject(new Error('cannot find koffi')));
  assert.equal(subreaper.failure, 'cannot find koffi');
  assert.deepEqual(subreaper.bury(), []);
});
