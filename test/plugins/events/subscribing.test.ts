import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { eventually } from '../../fixtures/eventually.ts';
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
    await subscribe(events, { filter: `app.${AGENDA}.event.*` }, session);
    events.host.publish(`app.${AGENDA}.event.a.b`, {}, 'normal', `app.${AGENDA}`);
    await events.settle();
    assert.deepEqual(session.topics, [`app.${AGENDA}.event.a.b`]);
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
    ['audio.stt.final', 'CAPABILITY_DENIED'],
    ['audio.**', 'CAPABILITY_DENIED'],
    ['audio.*.partial', 'CAPABILITY_DENIED'],
    ['config.changed', 'CALLER_DENIED'],
    ['app.com.example.other.private', 'CALLER_DENIED'],
    ['app.com.example.other.event', 'CAPABILITY_DENIED'],
    ['app.com.example.other.event.**', 'CAPABILITY_DENIED'],
    ['bridge.*.link', 'CALLER_DENIED'],
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
    `app.${AGENDA}.event.**`,
    `app.${AGENDA}.**`,
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

  it('lets a holder of system.events subscribe to everything', async () => {
    await using events = await startEvents({ grants: ['system.events'] });
    assert.deepEqual(await subscribe(events, { filter: '**' }), { filters: ['**'] });
  });

  it('counts filters per app, on all of its sessions', async () => {
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

describe('events of other apps', () => {
  const OTHER = 'com.example.other';
  const topics = [`app.${AGENDA}.event.mine`, `app.${OTHER}.event.open.door`, `app.${OTHER}.event.secret`, 'app.state'];
  const publish = (events: Fixture) => {
    for (const topic of topics) {
      const owner = [AGENDA, OTHER].find((id) => topic.includes(id));
      events.host.publish(topic, {}, 'normal', owner === undefined ? 'core' : `app.${owner}`);
    }
  };
  const filters: readonly (readonly [string, readonly string[]])[] = [
    ['**', topics],
    ['app.**', topics],
    ['app.*.*.*.event.**', topics.slice(0, 3)],
    [`app.${OTHER}.**`, topics.slice(1, 3)],
    [`app.${OTHER}.event.open.*`, topics.slice(1, 2)],
  ];
  const rights: readonly (readonly [
    string,
    readonly string[],
    Record<string, readonly string[]>,
    readonly string[],
  ])[] = [
    ['nothing', [], { [OTHER]: [] }, [topics[0]!, topics[3]!]],
    ['what is public', [], { [OTHER]: [`app.${OTHER}.event.open.*`] }, [topics[0]!, topics[1]!, topics[3]!]],
    ['events.read of that app', [`events.read:${OTHER}`], { [OTHER]: [] }, topics],
    ['events.read of another app', ['events.read:com.example.third'], { [OTHER]: [] }, [topics[0]!, topics[3]!]],
    ['events.read of every app', ['events.read'], { [OTHER]: [] }, topics],
  ];
  for (const [what, grants, publics, may] of rights)
    for (const [filter, all] of filters)
      it(`${filter} gives an app with ${what} the events that it may read, and names the missing ones`, async () => {
        await using events = await startEvents({ grants, publics });
        const session = new FakeSession();
        const due = all.filter((topic) => may.includes(topic));
        const answer = await subscribe(events, { filter }, session).catch((thrown) => thrown);
        if (due.length === 0) {
          assert.equal(answer.code, 'CAPABILITY_DENIED');
          assert.match(answer.message, new RegExp(`events\\.read:${OTHER}`));
        }
        publish(events);
        // Those of the Core's own start are there, too.
        const heard = () => session.topics.filter((topic) => topic !== 'plugin.state');
        await eventually(() => heard().length >= due.length, 'what is due');
        await events.settle();
        assert.deepEqual(heard(), due);
        if (due.length > 0 && due.length < all.length) {
          const [told] = answer.subscriptions as { accepted: boolean; reason: string }[];
          assert.equal(told?.accepted, true);
          assert.match(told.reason, /^only .* may be read; .*events\.read/);
        }
      });

  it('an app whose id begins like that of another reads nothing of it', async () => {
    await using events = await startEvents();
    const session = new FakeSession('s1', 'com.example');
    await subscribe(events, { filters: ['app.**', 'app.com.example.**'] }, session);
    publish(events);
    await eventually(() => session.topics.length > 0, 'what is due');
    await events.settle();
    assert.deepEqual(session.topics, ['app.state']);
  });

  it('topics that an app opens later reach those who asked for everything', async () => {
    const publics: Record<string, readonly string[]> = { [OTHER]: [] };
    const opened: NonNullable<Parameters<typeof startEvents>[0]>['opened'] = new Set();
    await using events = await startEvents({ publics, opened });
    const session = new FakeSession();
    await subscribe(events, { filter: 'app.**' }, session);
    for (const open of [[`app.${OTHER}.event.open.*`], []]) {
      publics[OTHER] = open;
      for (const listener of opened) listener({ id: OTHER } as never);
      await events.settle();
      publish(events);
      await events.settle();
    }
    assert.deepEqual(session.topics, [topics[0], topics[1], topics[3], topics[0], topics[3]]);
  });

  it('READY says it, too', async () => {
    await using events = await startEvents({ filters: ['app.**', `app.${OTHER}.event.*`], publics: { [OTHER]: [] } });
    const { subscriptions } = await events.greet(new FakeSession());
    assert.deepEqual(
      subscriptions.map(({ accepted }) => accepted),
      [true, false],
    );
    assert.match(subscriptions[0]!.reason!, /^only /);
    assert.match(subscriptions[1]!.reason!, /^CAPABILITY_DENIED: .*events\.read:com\.example\.other/);
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
