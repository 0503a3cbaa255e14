import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { app, codeOf } from '../../fixtures/operation-calls.ts';
import { AGENDA, FakeSession, type Fixture, startEvents } from './fixture.ts';

function subscribe(events: Fixture, params: object, session = new FakeSession()): Promise<Record<string, unknown>> {
  return events.table.run('events.subscribe', params, { caller: app(session.app), session });
}

describe('subscribing on a session', () => {
  it('sends what matches as notifications with the envelope', async () => {
    await using events = await startEvents();
    const session = new FakeSession();
    assert.deepEqual(await subscribe(events, { filter: 'audio.*' }, session), { filters: ['audio.*'] });
    const event = events.host.publish('audio.wake', { turn: 't1' });
    events.host.publish('ui.toast', { text: 'x' });
    await events.settle();
    assert.deepEqual(session.received, [event]);
  });

  it('sends an event once, however many filters match', async () => {
    await using events = await startEvents();
    const session = new FakeSession();
    await subscribe(events, { filters: ['audio.*', 'audio.wake'] }, session);
    await subscribe(events, { filter: 'audio.wake' }, session);
    events.host.publish('audio.wake', {});
    await events.settle();
    assert.deepEqual(session.topics, ['audio.wake']);
  });

  it('sends retained events at once, and not again when a filter is added', async () => {
    await using events = await startEvents();
    events.host.publish('system.presence', { state: 'present', confidence: 1 });
    const session = new FakeSession();
    await subscribe(events, { filter: 'system.*' }, session);
    await subscribe(events, { filter: 'system.presence' }, session);
    await events.settle();
    assert.deepEqual(session.topics, ['system.presence']);
  });

  it('reads a trailing star after event as the namespace', async () => {
    await using events = await startEvents();
    const session = new FakeSession();
    await subscribe(events, { filter: 'app.com.example.other.event.*' }, session);
    events.host.publish('app.com.example.other.event.a.b', {});
    await events.settle();
    assert.deepEqual(session.topics, ['app.com.example.other.event.a.b']);
  });

  it('stops with events.unsubscribe', async () => {
    await using events = await startEvents();
    const session = new FakeSession();
    await subscribe(events, { filters: ['audio.*', 'ui.*'] }, session);
    const call = { session };
    assert.deepEqual(
      await events.table.run('events.unsubscribe', { filter: 'audio.*' }, { caller: app(AGENDA), ...call }),
      {
        removed: 1,
        filters: ['ui.*'],
      },
    );
    events.host.publish('audio.wake', {});
    events.host.publish('ui.toast', {});
    await events.table.run('events.unsubscribe', { filters: ['ui.*', 'never.was'] }, { caller: app(AGENDA), ...call });
    events.host.publish('ui.banner', {});
    await events.settle();
    assert.ok(!session.topics.includes('audio.wake') && !session.topics.includes('ui.banner'));
  });

  it('ends with the session', async () => {
    await using events = await startEvents();
    const session = new FakeSession();
    await subscribe(events, { filter: 'audio.*' }, session);
    session.close();
    events.host.publish('audio.wake', {});
    await events.settle();
    assert.deepEqual(session.received, []);
    assert.deepEqual(
      events.host.leaks().filter((label) => label.startsWith('subscription audio')),
      [],
    );
  });

  const refused: [filter: string, code: string][] = [
    ['**', 'CAPABILITY_DENIED'],
    ['audio.stt.final', 'CAPABILITY_DENIED'],
    ['audio.**', 'CAPABILITY_DENIED'],
    ['audio.*.partial', 'CAPABILITY_DENIED'],
    ['config.changed', 'CALLER_DENIED'],
    ['app.**', 'CALLER_DENIED'],
    ['app.com.example.other.private', 'CALLER_DENIED'],
    ['app.com.example.other.event', 'CALLER_DENIED'],
    ['*.state', 'CAPABILITY_DENIED'],
    ['bridge.*', 'CALLER_DENIED'],
    ['secret.things', 'CALLER_DENIED'],
    ['audio.', 'FILTER_INVALID'],
    ['audio.**.wake', 'FILTER_INVALID'],
  ];
  for (const [filter, code] of refused) {
    it(`refuses ${filter} to an app with ${code}`, async () => {
      await using events = await startEvents();
      assert.equal(await codeOf(subscribe(events, { filter })), code);
      assert.equal(await codeOf(subscribe(events, { filters: ['audio.wake', filter] })), code);
    });
  }

  const allowed = [
    'system.**',
    'ui.*',
    'audio.wake',
    'audio.tts.*',
    'app.state',
    'app.com.example.x.event.**',
    'bridge.link',
  ];
  for (const filter of allowed) {
    it(`lets an app subscribe to ${filter}`, async () => {
      await using events = await startEvents();
      assert.deepEqual(await subscribe(events, { filter }), { filters: [filter] });
    });
  }

  for (const capability of ['audio.capture', 'audio.intent']) {
    it(`lets an app with ${capability} subscribe to what was heard`, async () => {
      await using events = await startEvents({ grants: [capability] });
      assert.deepEqual(await subscribe(events, { filter: 'audio.**' }), { filters: ['audio.**'] });
    });
  }

  it('lets whoever holds system.events subscribe to everything', async () => {
    await using events = await startEvents({ grants: ['system.events'] });
    assert.deepEqual(await subscribe(events, { filter: '**' }), { filters: ['**'] });
  });

  it('counts filters per app, whatever session they are on', async () => {
    await using events = await startEvents({ config: { filters: 2 } });
    await subscribe(events, { filters: ['audio.wake', 'ui.*'] }, new FakeSession('s1'));
    await subscribe(events, { filter: 'ui.*' }, new FakeSession('s2'));
    assert.equal(await codeOf(subscribe(events, { filter: 'system.*' }, new FakeSession('s2'))), 'SUBSCRIPTION_LIMIT');
    await subscribe(events, { filter: 'system.*' }, new FakeSession('s3', 'com.example.other'));
  });

  it('needs a session', async () => {
    await using events = await startEvents();
    for (const name of ['events.subscribe', 'events.unsubscribe'])
      assert.equal(
        await codeOf(events.table.run(name, { filter: 'ui.*' }, { caller: app(AGENDA) })),
        'SESSION_REQUIRED',
      );
  });

  it('wants either a filter or filters', async () => {
    await using events = await startEvents();
    for (const params of [{}, { filter: 'ui.*', filters: ['ui.*'] }, { filters: [] }, { filter: 5 }])
      assert.equal(await codeOf(subscribe(events, params)), 'PARAMS_INVALID');
  });

  it('leaves nothing behind when it stops', async () => {
    const events = await startEvents();
    await subscribe(events, { filter: 'audio.*' });
    await events.host.stop();
    assert.deepEqual(events.host.leaks(), []);
  });
});

describe('READY', () => {
  it('acknowledges the filters of the manifest and says why one is refused', async () => {
    await using events = await startEvents({ filters: ['ui.*', 'audio.stt.*', 'bad..filter'] });
    const { subscriptions } = await events.greet(new FakeSession());
    assert.deepEqual(subscriptions[0], { filter: 'ui.*', accepted: true });
    assert.deepEqual(
      subscriptions.map(({ accepted }) => accepted),
      [true, false, false],
    );
    assert.match(subscriptions[1]!.reason!, /^CAPABILITY_DENIED: .*audio\.capture/);
    assert.match(subscriptions[2]!.reason!, /^FILTER_INVALID: /);
  });

  it('carries the retained events, which are not sent again', async () => {
    await using events = await startEvents({ filters: ['system.*', 'app.state'] });
    const presence = events.host.publish('system.presence', { state: 'present', confidence: 1 });
    const session = new FakeSession();
    const { snapshot } = await events.greet(session);
    assert.deepEqual(snapshot, { 'system.presence': presence });
    const next = events.host.publish('system.network', { state: 'online' });
    await events.settle();
    assert.deepEqual(session.received, [next]);
  });

  it('refuses the filters that exceed the quota', async () => {
    await using events = await startEvents({ filters: ['ui.*', 'audio.wake'], config: { filters: 1 } });
    const { subscriptions } = await events.greet(new FakeSession());
    assert.match(subscriptions[1]!.reason!, /^SUBSCRIPTION_LIMIT: /);
  });

  it('says nothing of events to an app without any', async () => {
    await using events = await startEvents();
    const ready = await events.greet(new FakeSession('s1', 'com.example.unknown'));
    assert.deepEqual([ready.subscriptions, ready.snapshot], [[], {}]);
  });
});
