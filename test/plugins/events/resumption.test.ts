/** The plugin is replaced while sessions are open: they must not notice. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { EventEnvelope } from '@device-core/plugin-api';
import type { EventBus } from '@device-core/plugin-api/inside/services/event-bus';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import { leakCheck } from '@device-core/plugin-api/testing';
import { pace } from '../../fixtures/eventually.ts';
import { AGENDA, FakeSession, startEvents } from './fixture.ts';

after(leakCheck());

const OF_APP = { kind: 'app', id: AGENDA } as const;

/** A device that outlives its plugins; `seq` is what the bus of the next run stands at, `retained` what it has retained. */
function lab() {
  const run = mkdtempSync(join(tmpdir(), 'ev-'));
  const device = { startedAt: 7, paths: { run, etc: run, var: run } } as Partial<DeviceInfo> as DeviceInfo;
  const state = { seq: 0, retained: [] as EventEnvelope[] };
  const bus = {
    stats: async () => ({ seq: state.seq }),
    retained: async () => state.retained,
  } as unknown as EventBus;
  return { device, bus, state, [Symbol.dispose]: () => rmSync(run, { recursive: true }) };
}

describe('a new run of the plugin', () => {
  it('takes up the subscriptions of open sessions where the former run left them', async () => {
    using world = lab();
    const session = new FakeSession();
    const gone = new FakeSession('s2');
    world.state.seq = 5;
    {
      await using former = await startEvents({ ...world, sessions: [] });
      for (const one of [session, gone])
        await former.table.run('events.subscribe', { filters: ['ui.*', 'audio.*'] }, { caller: OF_APP, session: one });
      await former.table.run('events.unsubscribe', { filter: 'audio.*' }, { caller: OF_APP, session });
    }
    const event = { ts: 1, source: 'core', priority: 'normal', payload: {} } as const;
    world.state.retained = [
      { ...event, topic: 'ui.old', seq: 4 },
      { ...event, topic: 'ui.new', seq: 6 },
    ];
    world.state.seq = 8;
    await using next = await startEvents({ ...world, sessions: [session] });
    next.host.publish('ui.toast', { text: 'hello' });
    next.host.publish('audio.tone', {});
    await next.settle();
    assert.deepEqual(session.topics, ['system.bus.dropped', 'ui.toast']);
    const { from, to } = session.received[0]!.payload as { from: number; to: number };
    assert.deepEqual([from, to], [6, 8], 'what nobody took in for it meanwhile is told');
    const answer = await next.table.run('events.subscribe', { filter: 'ui.banner' }, { caller: OF_APP, session });
    assert.deepEqual(answer, { filters: ['ui.*', 'ui.banner'] });
  });

  it('begins with what the manifest asks for where a session came in between', async () => {
    using world = lab();
    const session = new FakeSession();
    await using events = await startEvents({ ...world, sessions: [session], filters: ['ui.*', 'config.changed'] });
    events.host.publish('ui.toast', {});
    await events.settle();
    assert.deepEqual(session.topics, ['ui.toast']);
  });

  it('knows nothing of the sessions of a former Core', async () => {
    using world = lab();
    const session = new FakeSession();
    {
      await using former = await startEvents(world);
      await former.table.run('events.subscribe', { filter: 'ui.*' }, { caller: OF_APP, session });
    }
    const device = { ...world.device, startedAt: 8 };
    await using next = await startEvents({ ...world, device, sessions: [session] });
    next.host.publish('ui.toast', {});
    await next.settle();
    assert.deepEqual(session.topics, []);
  });
});

describe('a run that ends', () => {
  it('delivers first what was published before, but waits for no session that does not read', async () => {
    using world = lab();
    const [reads, sleeps] = [new FakeSession('s1'), new FakeSession('s2')];
    const events = await startEvents(world);
    for (const session of [reads, sleeps])
      await events.table.run('events.subscribe', { filter: 'ui.*' }, { caller: OF_APP, session });
    reads.blocked = pace(5);
    sleeps.blocked = new Promise(() => undefined);
    for (let i = 0; i < 20; i++) events.host.publish('ui.toast', { i });
    const began = performance.now();
    await events[Symbol.asyncDispose]();
    assert.equal(reads.received.length, 20);
    assert.equal(sleeps.received.length, 1);
    assert.ok(performance.now() - began < 2_000);
    assert.deepEqual(events.host.leaks(), []);
  });
});
