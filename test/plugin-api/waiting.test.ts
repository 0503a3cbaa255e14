/** What plugins share beside the scope: policies of crashes, signals that are made late, calls after quiet, socket files. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { type AfterQuietOptions, afterQuiet, CrashPolicy, LazyAbort, settlesWithin } from '@device-core/plugin-api';
import { removeStaleSocket } from '@device-core/plugin-api/inside/socket-file';
import { Queue } from '@device-core/plugin-api/operation-kit';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { PluginScope } from '../../kernel/scope.ts';
import { eventually } from '../fixtures/eventually.ts';

after(leakCheck());

const never = new Promise<never>(() => undefined);

test('a queue gives its one reader what waits, in order, tells what leaves, and ends after it or at once', async () => {
  const left: number[] = [];
  const queue = new Queue<number>((item) => left.push(item));
  for (const item of [1, 2, 3]) queue.push(item);
  assert.equal(queue.shift(), 1);
  assert.equal(queue.size, 2);
  const read: number[] = [];
  const reading = (async () => {
    for await (const item of queue) read.push(item);
  })();
  await eventually(() => read.length === 2, 'what waited');
  queue.push(4);
  queue.end();
  await reading;
  assert.deepEqual([read, left, queue.shift()], [[2, 3, 4], [1, 2, 3, 4], undefined]);
  const cut = new Queue<number>();
  cut.push(1);
  cut.clear();
  cut.end();
  for await (const item of cut) assert.fail(`${item} was to be read by nobody`);
});

describe('the crash policy', () => {
  const limits = { backoffMs: [10, 20, 30], limit: 4, windowMs: 1_000 };
  const cases: readonly [
    title: string,
    failures: readonly (readonly [at: number, ran: number])[],
    (number | undefined)[],
  ][] = [
    [
      'pauses grow, and quarantine follows',
      [
        [0, 0],
        [1, 0],
        [2, 0],
        [3, 0],
      ],
      [10, 20, 30, undefined],
    ],
    [
      'what is older than the window does not count',
      [
        [0, 0],
        [1, 0],
        [2, 0],
        [1_001, 0],
      ],
      [10, 20, 30, 30],
    ],
    [
      'a run as long as the window ends the row',
      [
        [0, 0],
        [5_000, 900],
        [7_000, 1_000],
      ],
      [10, 20, 10],
    ],
  ];
  for (const [title, failures, pauses] of cases) {
    test(title, () => {
      const policy = new CrashPolicy(limits);
      assert.deepEqual(
        failures.map(([at, ran]) => policy.failed(at, ran)),
        pauses,
      );
    });
  }

  test('a forgiven caller begins anew', () => {
    const policy = new CrashPolicy(limits);
    for (let at = 0; at < 4; at++) policy.failed(at, 0);
    assert.equal(policy.count, 4);
    policy.forgive();
    assert.deepEqual([policy.failed(5, 0), policy.count], [10, 1]);
  });
});

describe('a signal that is made late', () => {
  test('has the reason of before, and tells once that it was made', () => {
    let made = 0;
    const lazy = new LazyAbort(() => void made++);
    assert.equal(lazy.signal, lazy.signal);
    assert.deepEqual([made, lazy.signal.aborted], [1, false]);
    lazy.abort('first');
    lazy.abort('second');
    assert.equal(lazy.signal.reason, 'first');
  });

  test('that was aborted before is not followed', () => {
    const lazy = new LazyAbort(() => assert.fail('it is over'));
    lazy.abort('early');
    assert.deepEqual([lazy.signal.aborted, lazy.signal.reason], [true, 'early']);
  });
});

describe('settlesWithin', () => {
  const cases: readonly [title: string, Promise<unknown>, expected: boolean][] = [
    ['what is done', Promise.resolve(), true],
    ['what has failed', Promise.reject(new Error('no')), true],
    ['what hangs', never, false],
  ];
  for (const [title, work, expected] of cases) {
    work.catch(() => undefined);
    test(title, async () => {
      const clock = virtualClock();
      assert.equal(await clock.until(settlesWithin(clock, 100, work)), expected);
      assert.deepEqual([clock.monotonic(), clock.pending], [expected ? 0 : 100, 0]);
    });
  }
});

describe('a call after quiet', () => {
  function open(run: AfterQuietOptions['run']) {
    const clock = virtualClock();
    const log = { debug: fail, info: fail, warn: fail, error: fail };
    const scope = new PluginScope('test', log, { clock });
    return { clock, scope, touched: afterQuiet({ scope, label: (key) => `reload ${key}`, ms: 100, run }) };
  }

  test('comes once for many events, and for each key apart', async () => {
    const seen: string[] = [];
    const { clock, scope, touched } = open((key) => void seen.push(`${key} ${clock.monotonic()}`));
    for (const key of ['a', 'b', 'a']) {
      touched(key);
      await clock.advance(40);
    }
    assert.deepEqual(scope.held, ['reload b', 'reload a']);
    await clock.advance(1_000);
    assert.deepEqual(seen, ['b 140', 'a 180']);
    await scope.end();
  });

  test('does not come after the end', async () => {
    const { clock, scope, touched } = open(() => assert.fail('it is over'));
    touched();
    await scope.end();
    touched();
    await clock.advance(1_000);
    assert.equal(clock.pending, 0);
  });
});

test('the file of a socket without a listener is removed, and nothing else is', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dk-'));
  const path = join(folder, 'x.sock');
  try {
    assert.equal(await removeStaleSocket(path), 'free');
    const server = createServer((socket) => socket.destroy()).listen(path);
    await once(server, 'listening');
    assert.equal(await removeStaleSocket(path), 'occupied');
    server.close();
    await once(server, 'close');
    assert.equal(await removeStaleSocket(path), 'free');
    writeFileSync(path, '');
    assert.equal(await removeStaleSocket(path), 'foreign');
    await assert.rejects(removeStaleSocket(join(path, 'below')), { code: 'ENOTDIR' });
  } finally {
    rmSync(folder, { recursive: true });
  }
});

function fail(): void {
  assert.fail('nothing is told');
}
