import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { after, describe, it } from 'node:test';
import type { CoreError } from '@device-core/plugin-api';
import type { ServerSentEvent } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { pace } from '../../fixtures/eventually.ts';
import { OPERATOR } from '../../fixtures/operation-calls.ts';
import { type Fixture, line, startLogs } from './fixture.ts';

after(leakCheck());

/** What a front end does with the operation. The first next() opens the file. */
function open(logs: Fixture, params: object = {}) {
  const controller = new AbortController();
  const call = { caller: OPERATOR, signal: controller.signal, deadline: Date.now() + 30_000 };
  const source = logs.table.invoke('logs.stream', { tail: 0, ...params }, call) as Promise<
    AsyncIterable<ServerSentEvent>
  >;
  const iterator = source.then((items) => items[Symbol.asyncIterator]());
  iterator.catch(() => undefined); // next() tells it
  return {
    async next(): Promise<string | undefined> {
      try {
        const { value, done } = await (await iterator).next();
        return done ? undefined : (value.data as { message: string }).message;
      } catch (error) {
        if (controller.signal.aborted && (error as CoreError).code === 'CANCELLED') return undefined;
        throw error;
      }
    },
    hangUp: () => controller.abort(),
  };
}

describe('GET /logs/stream', () => {
  it('sends the tail, then what comes, across a rotation', async () => {
    await using logs = await startLogs({ pollMs: 20 });
    logs.write('core.log', line(1, 'a'), line(2, 'b'));
    const stream = open(logs, { tail: 1 });
    assert.equal(await stream.next(), 'b');
    const next = stream.next();
    logs.write('core.log', line(3, 'c'));
    assert.equal(await next, 'c');
    logs.write('core.log', line(4, 'last of the old file'));
    renameSync(logs.core, `${logs.core}.1`);
    logs.write('core.log', line(5, 'first of the new file'));
    assert.equal(await stream.next(), 'last of the old file');
    assert.equal(await stream.next(), 'first of the new file');
    stream.hangUp();
    assert.equal(await stream.next(), undefined);
  });

  it('waits for a file that is not there yet, and selects', async () => {
    await using logs = await startLogs({ pollMs: 20 });
    const stream = open(logs, { app: 'agenda', level: 'warn' });
    const next = stream.next();
    await pace(50); // it looks, and finds nothing
    logs.write('apps/agenda.log', { level: 'info', time: 1, msg: 'fine' }, { level: 'error', time: 2, msg: 'bad' });
    assert.equal(await next, 'bad');
    stream.hangUp();
    assert.equal(await stream.next(), undefined);
  });

  it('ends with the plugin', async () => {
    const logs = await startLogs({ pollMs: 20 });
    const stream = open(logs);
    // Who waits hears either that the stream is over or that its plugin stops, whichever comes first.
    const next = stream.next().catch((error: { code?: string }) => {
      assert.match(error.code ?? '', /^(CANCELLED|UNAVAILABLE)$/);
      return undefined;
    });
    await logs.host.settle();
    await logs.host.stop();
    assert.equal(await next, undefined);
    assert.deepEqual(logs.host.leaks(), []);
  });

  it('is bounded in number', async () => {
    await using logs = await startLogs({ streams: 1, pollMs: 20 });
    const first = open(logs);
    const waiting = first.next();
    await logs.host.settle();
    await assert.rejects(async () => await open(logs).next(), { code: 'BUSY' });
    first.hangUp();
    await waiting;
    open(logs).hangUp();
  });
});
