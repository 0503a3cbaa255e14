import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { FakeCore } from './fake-core.ts';
import { devicectl, spawnDevicectl } from './run-devicectl.ts';

const none = { calls: 0, errors: 0, busyMs: 0, longestMs: 0 };
const LOOP = { p50Ms: 0.4, p99Ms: 2, maxMs: 70, utilization: 0.125, stalls: 3, unattributed: 1 };

/** Each answer is a second after the one before: `busy` ran for 200 ms and 40 operations of it, `guest` for 500 ms of its own CPU. */
function usage(second: number) {
  const base = { errors: 0, stalls: 0, longestMs: 0, busyPercent: 0, budget: { stallMs: 50, busyPercent: 25 } };
  const kinds = { operation: none, event: none, hook: none, timer: none, lifecycle: none };
  return {
    uptimeMs: 1_000 + second * 1_000,
    eventLoop: LOOP,
    plugins: [
      { ...base, plugin: 'quiet', state: 'waiting', isolation: 'inline', callbacks: kinds, busyMs: 0 },
      {
        ...base,
        plugin: 'busy',
        state: 'active',
        isolation: 'inline',
        busyMs: 200 * second,
        errors: 4,
        longestMs: 61.2,
        callbacks: { ...kinds, operation: { ...none, calls: 40 * second } },
        warning: { code: 'STALL', message: 'it kept\u001b[31m the event loop', at: 1 },
      },
      {
        ...base,
        plugin: 'guest',
        state: 'active',
        isolation: 'worker',
        busyMs: 2 * second,
        callbacks: kinds,
        cpuMs: 500 * second,
        heapBytes: 3 * 2 ** 20,
      },
    ],
  };
}

let core: FakeCore;
let asked = 0;
before(async () => {
  core = await FakeCore.start({
    'GET /plugins/usage': (response) => {
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ ok: true, ...usage(asked++) }));
    },
    'POST /plugins/sample': {
      ok: true,
      plugins: [{ plugin: 'spi', busyMs: 50, longestMs: 20.4, where: 'transfer (transfers.ts:12)' }],
    },
  });
});
after(() => core[Symbol.asyncDispose]());

const run = (...args: string[]) => devicectl(['--run', core.root, 'top', ...args]);

describe('devicectl top', () => {
  test('shows rates between two answers, the busiest first, and marks budgets that are exceeded', async () => {
    const { code, stdout } = await run('--once', '--interval', '0.1');
    const [loop, header, ...rows] = stdout.trimEnd().split('\n');
    assert.equal(code, 0);
    assert.match(
      loop!,
      /busy 12\.5 %, callbacks of plugins 20\.2 %; late p50 0\.4 ms, p99 2 ms, max 70 ms; 3 stalls, 1 of/,
    );
    assert.deepEqual(header!.trim().split(/ {2,}/), [
      ...['PLUGIN', 'LEVEL', 'STATE', 'CPU %', 'BUSY ms/s', 'LONGEST', 'HEAP', 'OPS/s', 'EVENTS/s', 'ERRORS'],
    ]);
    assert.deepEqual(
      rows.map((row) => row.trim().split(/ {2,}/)),
      [
        ['guest', 'worker', 'active', '50.0', '2.0', '0 ms', '3.0 MiB', '0', '0', '0'],
        ['busy', 'inline', 'active', '20.0', '200.0', '61 ms', '40', '0', '4', 'STALL it kept\\x1b[31m the event loop'],
        ['quiet', 'inline', 'waiting', '0.0', '0.0', '0 ms', '0', '0', '0'],
      ],
    );
  });

  test('prints the answer once, or one a line until it is ended', async () => {
    const { stdout } = await run('--once', '--json');
    assert.equal(JSON.parse(stdout).plugins.length, 3);
    const child = spawnDevicectl(['--run', core.root, 'top', '--json', '--interval', '0.1']);
    let lines = 0;
    for await (const line of createInterface(child.stdout!)) {
      assert.equal(JSON.parse(line).ok, true);
      if (++lines === 3) child.kill('SIGINT');
    }
    const [code] = child.exitCode === null ? await once(child, 'exit') : [child.exitCode];
    assert.deepEqual([code, lines >= 3], [0, true]);
  });

  test('samples all running code', async () => {
    const { stdout } = await run('--sample', '0.5');
    assert.deepEqual(core.seen.at(-1)?.body, { ms: 500 });
    assert.match(stdout, /spi +10\.0 +20 ms +transfer \(transfers\.ts:12\)/);
  });

  for (const args of [
    ['--interval', '0'],
    ['--sample', '31'],
  ])
    test(`refuses ${args.join(' ')}`, async () => assert.equal((await run(...args)).code, 2));
});
