/** events.test: what the operator may try in the name of an app, and what he may not. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { app, codeOf, OPERATOR } from '../../fixtures/operation-calls.ts';
import { AGENDA, startEvents } from './fixture.ts';

after(leakCheck());

const OWN = { app: AGENDA, topic: `app.${AGENDA}.event.due`, payload: { minutes: 5 } };
const TOAST = { app: AGENDA, topic: 'ui.toast', payload: { text: 'Lunch', level: 'info' } };

describe('a test in the name of an app', () => {
  it('is published as what it is: its source says that it is a test, and of which app', async () => {
    await using events = await startEvents();
    const { seq } = await events.table.run('events.test', OWN);
    const [event] = events.host.published;
    assert.equal(event!.seq, seq);
    assert.equal(event!.source, `test.app.${AGENDA}`);
    assert.deepEqual(event!.payload, { minutes: 5 });
  });

  it('takes the short name of the app, too', async () => {
    await using events = await startEvents();
    await events.table.run('events.test', { ...OWN, app: 'agenda' });
    assert.equal(events.host.published[0]!.source, `test.app.${AGENDA}`);
  });

  it('tells the plugin of toasts the app of the test', async () => {
    await using events = await startEvents({ grants: ['display.notify'] });
    await events.table.run('events.test', TOAST);
    assert.deepEqual(events.host.published[0]!.payload, { ...TOAST.payload, app: AGENDA });
  });

  const refused: [what: string, params: object, code: string][] = [
    ['the namespace of another app', { ...OWN, topic: 'app.com.example.other.event.due' }, 'TOPIC_DENIED'],
    ['a topic of the system', { ...OWN, topic: 'system.presence' }, 'TOPIC_DENIED'],
    ['a toast without display.notify', TOAST, 'CAPABILITY_DENIED'],
    ['priority high without the capability', { ...OWN, priority: 'high' }, 'CAPABILITY_DENIED'],
    ['priority critical', { ...OWN, priority: 'critical' }, 'CALLER_DENIED'],
    ['a wildcard', { ...OWN, topic: `app.${AGENDA}.event.*` }, 'TOPIC_INVALID'],
    ['an app that is not installed', { ...OWN, app: 'com.example.none' }, 'APP_NOT_FOUND'],
    ['a source of its own', { ...OWN, source: 'core' }, 'PARAMS_INVALID'],
  ];
  for (const [what, params, code] of refused) {
    it(`is refused for ${what} with ${code}`, async () => {
      await using events = await startEvents();
      assert.equal(await codeOf(events.table.run('events.test', params)), code);
      assert.equal(events.host.published.length, 0);
    });
  }

  it('checks the payload of the panel as it does of an app, and names no other', async () => {
    await using events = await startEvents({ grants: ['display.notify'] });
    const forged = { ...TOAST, payload: { ...TOAST.payload, app: 'com.example.other' } };
    assert.equal(await codeOf(events.table.run('events.test', forged)), 'PARAMS_INVALID');
  });

  it('is neither a use nor a refusal of the app', async () => {
    await using events = await startEvents({ grants: ['display.notify'] });
    await events.table.run('events.test', TOAST);
    await codeOf(events.table.run('events.test', { ...OWN, priority: 'high' }));
    assert.deepEqual(await events.host.grants.refusals(), []);
    assert.deepEqual(await events.host.grants.used(app(AGENDA)), []);
  });

  it('names the line that would grant the missing right', async () => {
    await using events = await startEvents();
    await assert.rejects(
      events.table.run('events.test', TOAST),
      /does not hold display\.notify; grant it with "capabilities: \[\{ id: display\.notify,/,
    );
  });

  for (const caller of [app(AGENDA), { kind: 'plugin', id: 'guest' } as const])
    it(`is refused to a caller that is ${caller.kind === 'app' ? 'the app itself' : 'a plugin'}`, async () => {
      await using events = await startEvents();
      assert.equal(await codeOf(events.table.run('events.test', OWN, { caller })), 'CALLER_DENIED');
    });

  it('is refused to a viewer', async () => {
    await using events = await startEvents();
    const caller = { ...OPERATOR, signedIn: { id: 's', role: 'viewer' } } as const;
    assert.equal(await codeOf(events.table.run('events.test', OWN, { caller })), 'CALLER_DENIED');
  });
});
