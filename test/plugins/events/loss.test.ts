import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EventEnvelope, LossReceipt, Priority } from '@device-core/plugin-api';
import { eventBus } from '@device-core/plugin-api/inside/services/event-bus';
import { operations } from '@device-core/plugin-api/services/operations';
import { startCore } from '../../fixtures/core.ts';
import { AGENDA, FakeSession, settle } from './fixture.ts';

/** The plugin on the kernel's own bus, whose queues have bounds, with one app session that reads only when the test lets it. */
async function withSession(
  use: (session: FakeSession, publish: (count: number, priority?: Priority) => Promise<void>) => Promise<void>,
) {
  await using core = await startCore({
    plugins: { operations: '^1.0.0', events: '^1.0.0' },
    config: { events: { queue: 4 } },
  });
  const session = new FakeSession();
  const { signal } = new AbortController();
  const call = { caller: { kind: 'app', id: AGENDA }, signal, deadline: Date.now() + 10_000, session } as const;
  await core.service(operations).invoke('events.subscribe', { filter: 'audio.*' }, call);
  const bus = core.service(eventBus);
  await use(session, async (count, priority = 'normal') => {
    for (let i = 0; i < count; i++)
      await bus.publish({ topic: 'audio.wake', payload: { i }, source: 'core', priority });
    await settle();
  });
}

const payloads = (session: FakeSession): unknown[] => session.received.map(({ payload }) => payload);

describe('a session that reads too slowly', () => {
  it('gets the newest events and is told what it lost before them', async () => {
    await withSession(async (session, publish) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      session.blocked = promise;
      await publish(10);
      assert.equal(session.received.length, 1);
      session.blocked = undefined;
      resolve();
      await settle();
      const told = session.received[1] as EventEnvelope & { payload: LossReceipt };
      assert.equal(told.topic, 'system.bus.dropped');
      assert.deepEqual(told.payload.counts, { low: 0, normal: 5, high: 0, critical: 0 });
      assert.equal(told.payload.to - told.payload.from, 4);
      assert.deepEqual(
        payloads(session).slice(2),
        [6, 7, 8, 9].map((i) => ({ i })),
      );
    });
  });

  it('is cut off and told when it cannot take critical events, and may subscribe again', async () => {
    await withSession(async (session, publish) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      session.blocked = promise;
      await publish(6, 'critical');
      resolve();
      session.blocked = undefined;
      await publish(1);
      assert.deepEqual(session.topics, ['audio.wake', 'system.bus.dropped']);
      assert.deepEqual(session.received[1]!.payload, {
        from: session.received[0]!.seq + 1,
        to: session.received[0]!.seq + 5,
        counts: { low: 0, normal: 0, high: 0, critical: 5 },
        cutOff: true,
      });
    });
  });
});
