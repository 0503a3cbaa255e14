/** The time of day jumps by years while the Core runs, as it does when a device without a battery hears of the time: nobody notices. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { type CallContext, CoreError, type EventEnvelope, type Logger, steadyMs } from '@device-core/plugin-api';
import { eventBus } from '@device-core/plugin-api/inside/services/event-bus';
import { operations } from '@device-core/plugin-api/services/operations';
import { leakCheck, VirtualClock } from '@device-core/plugin-api/testing';
import { GuestBus } from '../../kernel/isolation/guest/bus.ts';
import { threadPort } from '../../kernel/isolation/ports.ts';
import { Peer } from '../../kernel/isolation/remote/index.ts';
import { PluginScope } from '../../kernel/scope.ts';
import { TokenBuckets } from '../../plugins/interface/limits/token-buckets.ts';
import { type Core, startCore } from '../fixtures/core.ts';
import { pace } from '../fixtures/eventually.ts';
import { jumpingDate } from '../fixtures/jumping-date.ts';
import { type MemoryPlugin, memoryKernel } from '../fixtures/memory-kernel.ts';

after(leakCheck());

const JUMPS = [10, -30] as const;
const OPERATOR = { kind: 'operator', id: 'operator' } as const;
const quiet = () => undefined;
const log: Logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };

describe('a whole Core', () => {
  const PLUGINS = ['operations', 'identity', 'system', 'http', 'limits', 'events', 'config', 'logs', 'sensors'];
  const open = () =>
    startCore({
      plugins: Object.fromEntries(PLUGINS.map((id) => [id, '*'])),
      config: { http: { port: 0 } },
    });
  const get = (core: Core, port: number, path: string) =>
    new Promise<{ status: number; body: Record<string, unknown> }>((resolve, reject) => {
      const token = readFileSync(join(core.paths.run, 'operator.token'), 'utf8').trim();
      const options = { host: '127.0.0.1', port, path, agent: false, headers: { authorization: `Bearer ${token}` } };
      const sent = request(options, (answer) => {
        let text = '';
        answer.on('data', (chunk) => {
          text += chunk;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body: JSON.parse(text) }));
      });
      sent.on('error', reject).end();
    });

  for (const years of JUMPS) {
    test(`answers requests under way when the time jumps by ${years} years, and all later ones`, async () => {
      using date = jumpingDate();
      await using core = await open();
      const table = core.service(operations);
      const inner = Promise.withResolvers<void>();
      const outer = Promise.withResolvers<void>();
      const nested = async (call: CallContext) => {
        outer.resolve();
        await inner.promise;
        return table.invoke('test.inner', {}, call);
      };
      const row = { summary: 'a test', params: { type: 'object' }, result: { type: 'object' }, errors: [] } as const;
      table.add({ ...row, name: 'test.inner', run: async (_: unknown, { deadline }: CallContext) => ({ deadline }) });
      table.add({ ...row, name: 'test.outer', run: (_: unknown, call: CallContext) => nested(call) } as never);
      const signal = new AbortController().signal;
      const answer = table.invoke('test.outer', {}, { caller: OPERATOR, signal, deadline: steadyMs() + 20_000 });
      await outer.promise;
      date.jump(years);
      inner.resolve();
      const { deadline } = (await answer) as { deadline: number };
      assert.ok(deadline > steadyMs() && deadline <= steadyMs() + 20_000);

      const { status, body } = await get(core, await portOf(core), '/health');
      assert.deepEqual([status, body.status], [200, 'ok'], 'the token of the operator is good');
      assert.ok(Number(body.uptimeMs) < 600_000, `${body.uptimeMs} ms since the start`);
      const call = () => ({ caller: OPERATOR, signal, deadline: steadyMs() + 20_000 });
      const first = (await table.invoke('config.set', { key: 'a.b', value: 1 }, call())) as { revision: number };
      date.jump(-2 * years);
      const second = (await table.invoke('config.set', { key: 'a.b', value: 2 }, call())) as { revision: number };
      assert.ok(second.revision > first.revision);
      assert.equal((await get(core, await portOf(core), '/ping')).status, 200);
    });
  }

  test('numbers its events without a gap, and each says the time of day that it had', async () => {
    using date = jumpingDate();
    await using core = await open();
    const seen: EventEnvelope[] = [];
    core.kernel.parts.bus.subscribe('ui.toast', (event) => void seen.push(event));
    const bus = core.service(eventBus);
    const said: number[] = [];
    for (const years of [0, 10, -30, 20]) {
      date.jump(years);
      said.push(Date.now());
      await bus.publish({ topic: 'ui.toast', payload: { text: 'x', level: 'info' }, source: 'core' });
    }
    await pace(5);
    const [before] = seen;
    assert.deepEqual(
      seen.map(({ seq }) => seq - before!.seq),
      [0, 1, 2, 3],
    );
    for (const [index, { ts }] of seen.entries()) assert.ok(ts >= said[index]! && ts < said[index]! + 60_000);
  });
});

async function portOf(core: Core): Promise<number> {
  const { httpServer } = await import('@device-core/plugin-api/inside/services/http-server');
  const tcp = (await core.service(httpServer).addresses()).find((address) => address.startsWith('http'));
  return Number(new URL(tcp!).port);
}

describe('a plugin elsewhere', () => {
  for (const years of JUMPS) {
    test(`hears an answer, and the end of a call that hangs, across a jump of ${years} years`, async () => {
      using date = jumpingDate();
      const { port1, port2 } = new MessageChannel();
      const gate = Promise.withResolvers<string>();
      const options = { log, limits: { callMs: 200, graceMs: 10, sweepMs: 5 }, onBreach: quiet };
      const here = new Peer(
        threadPort(port1, () => port1.close()),
        { ...options, name: 'there', root: {} },
      );
      const root = { wait: () => gate.promise, never: () => new Promise(quiet) };
      const there = new Peer(
        threadPort(port2, () => port2.close()),
        { ...options, name: 'here', root },
      );
      const context = { caller: OPERATOR, deadline: steadyMs() + 20_000, signal: new AbortController().signal };
      const answer = here.call('wait', context);
      const hangs = here.call('never').then(quiet, (error: unknown) => error as CoreError);
      await pace(20);
      date.jump(years);
      await pace(20); // it is swept in between
      gate.resolve('here');
      assert.equal(await answer, 'here');
      assert.equal((await hangs)?.code, 'TIMEOUT');
      for (const peer of [here, there])
        peer.close(new CoreError('CANCELLED', { what: 'the test', reason: 'it is over' }));
    });

    test(`publishes again when the bus had no room, at any time of day: ${years} years`, async () => {
      using date = jumpingDate();
      const published: unknown[] = [];
      const peer = { notify: (...words: unknown[]) => void published.push(words), call: quiet };
      await using scope = new PluginScope('guest', log);
      const bus = new GuestBus(peer as never, scope, { id: 'guest', publishes: ['x.**'] } as never);
      bus.congested(50);
      assert.throws(() => bus.publish('x.y', {}), { code: 'QUEUE_FULL' });
      date.jump(years);
      if (years > 0) assert.throws(() => bus.publish('x.y', {}), { code: 'QUEUE_FULL' }, 'not before its time either');
      await pace(80);
      bus.publish('x.y', {});
      assert.equal(published.length, 1);
    });
  }
});

describe('things that are counted by time', () => {
  for (const years of JUMPS) {
    test(`crashes: pauses and the window of a quarantine are what they were after ${years} years`, async () => {
      const clock = new VirtualClock({ now: 1_700_000_000_000 });
      let starts = 0;
      const setup = () => {
        starts++;
        throw new Error('no board');
      };
      const shaky: MemoryPlugin = { id: 'shaky', plugin: { setup } };
      await using core = memoryKernel([shaky], clock);
      await core.kernel.start();
      for (const [pause, count] of [
        [1_000, 2],
        [2_000, 3],
        [4_000, 4],
        [8_000, 5],
      ] as const) {
        clock.set(clock.now() + years * 365 * 24 * 3_600_000);
        await clock.advance(pause);
        assert.equal(starts, count);
      }
      assert.deepEqual(await core.states(), { shaky: 'quarantined' });
    });

    test(`rates: a caller neither gains nor loses by ${years} years`, async () => {
      const clock = new VirtualClock();
      const buckets = new TokenBuckets(10, () => clock.monotonic());
      const rate = { perMinute: 60, burst: 2 };
      assert.deepEqual([buckets.take('a', rate), buckets.take('a', rate)], [0, 0]);
      clock.set(clock.now() + years * 365 * 24 * 3_600_000);
      assert.equal(buckets.take('a', rate), 1_000);
      await clock.advance(1_000);
      assert.equal(buckets.take('a', rate), 0);
    });
  }
});
