import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type Caller, CoreError, type EventEnvelope } from '@device-core/plugin-api';
import type { ServerSentEvent } from '@device-core/plugin-api/services/operations';
import { ISOLATION_VARIABLE } from '@device-core/plugin-api/testing';
import { app, described, OPERATOR } from '../../fixtures/operation-calls.ts';
import { AGENDA, type Fixture, startEvents } from './fixture.ts';

/** What a front end does with the operation: takes items one by one, and hangs up by the signal. */
function open(events: Fixture, filter: readonly string[], caller: Caller = OPERATOR) {
  const controller = new AbortController();
  const call = { caller, signal: controller.signal, deadline: Date.now() + 30_000 };
  const source = events.table.invoke('events.stream', { filter }, call) as Promise<AsyncIterable<ServerSentEvent>>;
  const iterator = source.then((items) => items[Symbol.asyncIterator]());
  iterator.catch(() => undefined); // next() tells it
  return {
    /** The next item, or undefined at the end. */
    async next(): Promise<ServerSentEvent | undefined> {
      try {
        const { value, done } = await (await iterator).next();
        return done ? undefined : value;
      } catch (error) {
        if (controller.signal.aborted && (error as CoreError).code === 'CANCELLED') return undefined;
        throw error;
      }
    },
    hangUp: () => controller.abort(),
    leave: async () => (await iterator).return?.(),
  };
}

async function refusal(events: Fixture, attempt: () => ReturnType<typeof open>): Promise<string> {
  try {
    const stream = attempt();
    const first = stream.next();
    first.catch(() => undefined); // told below
    // A refusal may be on its way over a border: who hangs up at once does not hear it.
    await events.settle();
    stream.hangUp();
    await first;
  } catch (error) {
    if (error instanceof CoreError) return error.code;
    throw error;
  }
  return 'no error';
}

describe('GET /events', () => {
  it('sends retained events and then the published ones, with the seq as id', async () => {
    await using events = await startEvents();
    const presence = events.host.publish('system.presence', { state: 'present', confidence: 1 });
    const stream = open(events, ['system.*', 'audio.wake']);
    assert.deepEqual(await stream.next(), { id: String(presence.seq), data: presence });
    const waiting = stream.next();
    const wake = events.host.publish('audio.wake', { turn: 't' });
    assert.deepEqual(await waiting, { id: String(wake.seq), data: wake });
    stream.hangUp();
    assert.equal(await stream.next(), undefined);
  });

  it('is for HTTP only', async () => {
    await using events = await startEvents();
    const { rpc, rest } = await described(events.table, 'events.stream');
    assert.deepEqual([rpc, rest], [false, { method: 'GET', path: '/events', sse: true }]);
  });

  it('keeps the order for a slow reader', async () => {
    await using events = await startEvents();
    const stream = open(events, ['ui.*']);
    const first = stream.next();
    await events.settle();
    for (let i = 0; i < 50; i++) events.host.publish('ui.toast', { i });
    const seen = [(await first)!];
    for (let i = 1; i < 50; i++) seen.push((await stream.next())!);
    assert.deepEqual(
      seen.map(({ data }) => ((data as EventEnvelope).payload as { i: number }).i),
      Array.from({ length: 50 }, (_, i) => i),
    );
    stream.hangUp();
    await stream.next();
  });

  const skip = process.env[ISOLATION_VARIABLE] ? 'each stream gets a copy of its own over a border' : false;
  it('gives the same item to every stream, frozen, so that its text is made once', { skip }, async () => {
    await using events = await startEvents();
    const streams = Array.from({ length: 3 }, () => open(events, ['ui.*']));
    const waiting = streams.map((stream) => stream.next());
    await events.settle();
    events.host.publish('ui.toast', { text: 'hello' });
    const items = await Promise.all(waiting);
    assert.equal(new Set(items).size, 1);
    assert.ok(Object.isFrozen(items[0]));
    for (const stream of streams) stream.hangUp();
    for (const stream of streams) await stream.next();
  });

  it('refuses an app what it may not see before the stream begins', async () => {
    await using events = await startEvents();
    assert.equal(await refusal(events, () => open(events, ['audio.**'], app(AGENDA))), 'CAPABILITY_DENIED');
    assert.equal(await refusal(events, () => open(events, ['config.changed'], app(AGENDA))), 'CALLER_DENIED');
    assert.equal(await refusal(events, () => open(events, ['a..b'])), 'FILTER_INVALID');
  });

  it('of a filter that reaches too far an app gets what it may read, and hears so first', async () => {
    const other = 'com.example.other';
    await using events = await startEvents({ publics: { [other]: [`app.${other}.event.open`] } });
    const stream = open(events, ['app.**'], app(AGENDA));
    const first = await stream.next();
    assert.equal(first?.event, 'subscriptions');
    const [told] = (first.data as { subscriptions: { filter: string; accepted: boolean; reason: string }[] })
      .subscriptions;
    assert.deepEqual([told?.filter, told?.accepted], ['app.**', true]);
    assert.match(told!.reason, /events\.read:<its id>/);
    const waiting = stream.next();
    await events.settle();
    events.host.publish(`app.${other}.event.secret`, {}, 'normal', `app.${other}`);
    const due = events.host.publish(`app.${other}.event.open`, {}, 'normal', `app.${other}`);
    assert.deepEqual((await waiting)?.data, due);
    stream.hangUp();
    assert.equal(await stream.next(), undefined);
  });

  it('limits the streams of one caller and frees a place when one ends', async () => {
    await using events = await startEvents({ config: { streams: 1 } });
    const stream = open(events, ['ui.*']);
    const waiting = stream.next();
    await events.settle();
    assert.equal(await refusal(events, () => open(events, ['ui.*'])), 'BUSY');
    const other = open(events, ['ui.*'], app(AGENDA));
    const othersNext = other.next();
    await events.settle();
    stream.hangUp();
    other.hangUp();
    assert.deepEqual([await waiting, await othersNext], [undefined, undefined]);
    const again = open(events, ['ui.*']);
    again.hangUp();
    assert.equal(await again.next(), undefined);
  });

  it('counts a stream before its first event is asked for, and frees the place of one that never was', async () => {
    await using events = await startEvents({ config: { streams: 2 } });
    const unread = [open(events, ['ui.*']), open(events, ['ui.*'])];
    await events.settle();
    assert.equal(await refusal(events, () => open(events, ['ui.*'])), 'BUSY');
    for (const stream of unread) await stream.leave();
    const again = open(events, ['ui.*']);
    await again.leave();
  });

  it('ends when the plugin stops, and leaves nothing behind', async () => {
    const events = await startEvents();
    const waiting = open(events, ['ui.*']).next();
    await events.settle();
    const over = assert.rejects(waiting, { code: 'UNAVAILABLE', message: /its plugin is stopping/ });
    await events.host.stop();
    await over;
    assert.deepEqual(events.host.leaks(), []);
  });
});
