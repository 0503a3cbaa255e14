import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { app, codeOf, described } from '../../fixtures/operation-calls.ts';
import { AGENDA, startEvents } from './fixture.ts';

const OWN = `app.${AGENDA}.event.due`;
const TOAST = { text: 'Lunch', level: 'info' };

describe('publishing', () => {
  it('accepts an event of the app itself and answers with its id and seq', async () => {
    await using events = await startEvents();
    const answer = await events.table.run(
      'events.publish',
      { topic: OWN, payload: { minutes: 5 } },
      { caller: app(AGENDA) },
    );
    const [event] = events.host.published;
    assert.equal(answer.seq, event!.seq);
    assert.match(String(answer.id), new RegExp(`^[0-9a-z]+-${event!.seq}$`));
    assert.equal(event!.source, `app.${AGENDA}`);
    assert.equal(event!.priority, 'normal');
    assert.deepEqual(event!.payload, { minutes: 5 });
  });

  it('says over REST that the event is accepted, not delivered', async () => {
    await using events = await startEvents();
    const { rest } = await described(events.table, 'events.publish');
    assert.deepEqual(rest, { method: 'POST', path: '/events/publish', status: 202 });
  });

  const refused: [what: string, params: object, code: string][] = [
    ['the namespace of another app', { topic: 'app.com.example.other.event.due', payload: {} }, 'TOPIC_DENIED'],
    ['an app whose id begins like its own', { topic: `app.${AGENDA}2.event.due`, payload: {} }, 'TOPIC_DENIED'],
    ['its namespace outside of event', { topic: `app.${AGENDA}.state`, payload: {} }, 'TOPIC_DENIED'],
    ['its namespace without a name', { topic: `app.${AGENDA}.event`, payload: {} }, 'TOPIC_DENIED'],
    ['a topic of the system', { topic: 'system.presence', payload: {} }, 'TOPIC_DENIED'],
    ['another topic of the panel', { topic: 'ui.scene', payload: {} }, 'TOPIC_DENIED'],
    ['a topic with an empty segment', { topic: 'ui..toast', payload: {} }, 'TOPIC_INVALID'],
    ['a wildcard', { topic: `app.${AGENDA}.event.*`, payload: {} }, 'TOPIC_INVALID'],
    ['priority high without the capability', { topic: OWN, payload: {}, priority: 'high' }, 'CAPABILITY_DENIED'],
    ['priority critical', { topic: OWN, payload: {}, priority: 'critical' }, 'CALLER_DENIED'],
    ['an unknown priority', { topic: OWN, payload: {}, priority: 'urgent' }, 'PARAMS_INVALID'],
    ['a payload that is no object', { topic: OWN, payload: 'x' }, 'PARAMS_INVALID'],
    ['a missing payload', { topic: OWN }, 'PARAMS_INVALID'],
    ['a member too many', { topic: OWN, payload: {}, source: 'core' }, 'PARAMS_INVALID'],
    ['a toast without text', { topic: 'ui.toast', payload: { level: 'info' } }, 'PARAMS_INVALID'],
    ['a toast of unknown level', { topic: 'ui.toast', payload: { ...TOAST, level: 'loud' } }, 'PARAMS_INVALID'],
    ['a toast with a member too many', { topic: 'ui.toast', payload: { ...TOAST, color: 'red' } }, 'PARAMS_INVALID'],
    ['a toast of no duration', { topic: 'ui.toast', payload: { ...TOAST, durationMs: 0 } }, 'PARAMS_INVALID'],
    ['a banner without action', { topic: 'ui.banner', payload: TOAST }, 'PARAMS_INVALID'],
    ['a banner shown without text', { topic: 'ui.banner', payload: { action: 'show', id: 'b' } }, 'PARAMS_INVALID'],
    ['an update of no banner', { topic: 'ui.banner', payload: { action: 'update', text: 'x' } }, 'PARAMS_INVALID'],
    ['progress beyond 1', { topic: 'ui.banner', payload: { ...TOAST, action: 'show', progress: 2 } }, 'PARAMS_INVALID'],
  ];
  for (const [what, params, code] of refused) {
    it(`refuses ${what} to an app with ${code}`, async () => {
      await using events = await startEvents({ grants: ['display.notify'] });
      assert.equal(await codeOf(events.table.run('events.publish', params, { caller: app(AGENDA) })), code);
      assert.equal(events.host.published.length, 0);
    });
  }

  const accepted: [what: string, params: object][] = [
    ['a toast', { topic: 'ui.toast', payload: { ...TOAST, durationMs: 3000, icon: 'bell', id: 't1' } }],
    ['a banner', { topic: 'ui.banner', payload: { ...TOAST, action: 'show', progress: 0.5 } }],
    ['the end of a banner', { topic: 'ui.banner', payload: { action: 'dismiss', id: 'b1' } }],
    ['priority low', { topic: OWN, payload: {}, priority: 'low' }],
    ['priority high with the capability', { topic: OWN, payload: {}, priority: 'high' }],
  ];
  for (const [what, params] of accepted) {
    it(`takes ${what} from an app`, async () => {
      await using events = await startEvents({ grants: ['events.publish.high', 'display.notify'] });
      await events.table.run('events.publish', params, { caller: app(AGENDA) });
      assert.equal(events.host.published.length, 1);
    });
  }

  it('lets the operator publish any topic, but nothing critical', async () => {
    await using events = await startEvents();
    const presence = { topic: 'system.presence', payload: { state: 'present', confidence: 1 }, priority: 'high' };
    await events.table.run('events.publish', presence);
    assert.equal(events.host.published[0]!.source, 'operator');
    assert.equal(
      await codeOf(events.table.run('events.publish', { ...presence, priority: 'critical' })),
      'CALLER_DENIED',
    );
  });

  for (const topic of ['ui.toast', 'ui.banner'])
    it(`asks for display.notify before ${topic}`, async () => {
      await using events = await startEvents();
      const banner = { topic, payload: { ...TOAST, ...(topic === 'ui.banner' ? { action: 'show' } : {}) } };
      const work = events.table.run('events.publish', banner, { caller: app(AGENDA) });
      await assert.rejects(
        work,
        /does not hold display\.notify; grant it with "capabilities: \[\{ id: display\.notify, reason: \.\.\. \}\] in app\.yaml"/,
      );
      assert.equal(events.host.published.length, 0);
    });

  it('takes nothing from a plugin that calls from outside: its manifest bounds its own bus', async () => {
    await using events = await startEvents();
    const call = { caller: { kind: 'plugin', id: 'guest' } as const };
    assert.equal(await codeOf(events.table.run('events.publish', { topic: OWN, payload: {} }, call)), 'CALLER_DENIED');
  });

  it('names the member of a payload that is wrong', async () => {
    await using events = await startEvents({ grants: ['display.notify'] });
    const toast = { topic: 'ui.toast', payload: { ...TOAST, level: 'loud' } };
    await assert.rejects(
      events.table.run('events.publish', toast, { caller: app(AGENDA) }),
      /payload of ui\.toast: level must be one of info/,
    );
  });
});
