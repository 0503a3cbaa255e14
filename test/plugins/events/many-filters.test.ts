import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ISOLATION_VARIABLE } from '@device-core/plugin-api/testing';
import { TopicIndex } from '../../../kernel/bus/topic-index.ts';
import { ReadRights } from '../../../plugins/interface/events/read-rights.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { app, codeOf } from '../../fixtures/operation-calls.ts';
import { AGENDA, FakeSession, type Fixture, startEvents } from './fixture.ts';

const MANY = 5_000;
const NAMED = 1_024;
const filters = Array.from({ length: MANY }, (_, index) => `audio.t${index}.*`);

function ask(events: Fixture, verb: string, params: object, session: FakeSession): Promise<Record<string, unknown>> {
  return events.table.run(`events.${verb}`, params, { caller: app(session.app), session });
}

async function holding(session: FakeSession): Promise<Fixture> {
  const events = await startEvents({ config: { filters: MANY + 2 } });
  for (let from = 0; from < MANY; from += 1_000)
    await ask(events, 'subscribe', { filters: filters.slice(from, from + 1_000) }, session);
  return events;
}

describe('a session with thousands of filters', () => {
  const elsewhere = process.env[ISOLATION_VARIABLE] ? 'what is counted runs in another thread' : false;
  it('has the new one looked at, and no other', { skip: elsewhere }, async (context) => {
    const session = new FakeSession();
    await using events = await holding(session);
    const asked = context.mock.method(ReadRights.prototype, 'of');
    const indexed = ['add', 'remove'].map((name) => context.mock.method(TopicIndex.prototype, name as 'add'));
    const counts = () => [asked, ...indexed].map(({ mock }) => mock.callCount());
    await ask(events, 'subscribe', { filter: 'ui.*' }, session);
    assert.deepEqual(counts(), [2, 1, 0], 'once for the answer, once for what is read');
    await ask(events, 'subscribe', { filter: 'ui.*' }, session);
    assert.deepEqual(counts(), [4, 1, 0], 'what it has already is not told to the bus');
    await ask(events, 'unsubscribe', { filter: 'ui.*' }, session);
    assert.deepEqual(counts(), [4, 1, 1]);
    session.close();
    assert.deepEqual(counts(), [4, 1, MANY + 1], 'the end takes out each once');
  });

  it('is told those of the call, and how many there are, where an answer would grow without end', async () => {
    const session = new FakeSession();
    await using events = await startEvents({ config: { filters: MANY } });
    const first = await ask(events, 'subscribe', { filters: filters.slice(0, NAMED) }, session);
    assert.deepEqual(first, { filters: filters.slice(0, NAMED) });
    const one = await ask(events, 'subscribe', { filter: 'ui.*' }, session);
    assert.deepEqual(one, { filters: ['ui.*'], total: NAMED + 1 });
    const two = await ask(events, 'unsubscribe', { filter: 'ui.*' }, session);
    assert.deepEqual(two, { removed: 1, filters: filters.slice(0, NAMED) });
  });

  it('gets what matches, each once, until it says otherwise or ends; then others have its room', async () => {
    const session = new FakeSession();
    await using events = await holding(session);
    await ask(events, 'subscribe', { filters: ['audio.t7.*', 'audio.t7.x', 'ui.x', 'ui.y'] }, session).then(
      () => assert.fail('its app has not so much room'),
      (error: { code: string }) => assert.equal(error.code, 'SUBSCRIPTION_LIMIT'),
    );
    await ask(events, 'subscribe', { filters: ['audio.t7.*', 'audio.t7.x'] }, session);
    await ask(events, 'unsubscribe', { filters: ['audio.t8.*', 'audio.t7.*'] }, session);
    for (const topic of ['audio.t7.x', 'audio.t7.y', 'audio.t8.x', 'audio.t9.x']) events.host.publish(topic, {});
    await events.settle();
    await eventually(() => session.topics.length === 2, 'both events');
    assert.deepEqual(session.topics, ['audio.t7.x', 'audio.t9.x']);
    const other = new FakeSession('other', AGENDA);
    const more = { filters: ['ui.a', 'ui.b', 'ui.c', 'ui.d'] };
    assert.equal(await codeOf(ask(events, 'subscribe', more, other)), 'SUBSCRIPTION_LIMIT');
    session.close();
    await eventually(async () => (await codeOf(ask(events, 'subscribe', more, other))) === 'no error', 'room');
  });
});
