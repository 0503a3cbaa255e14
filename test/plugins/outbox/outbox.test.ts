/** The service as a plugin sees it: what is put is kept, written down, and sent until somebody takes it. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { eventually, turns } from '../../fixtures/eventually.ts';
import { DESTINATION, message, Receiver, start } from './fixture.ts';

after(leakCheck());

describe('the outbox', () => {
  it('sends what was put, in its order, and writes it down before', async () => {
    const { host, service, book } = await start();
    await using _host = host;
    const receiver = new Receiver();
    receiver.answers.push(async () => {
      assert.equal(book.lines.length, 1, 'the line is there before anything is sent');
      return { outcome: 'taken' };
    });
    const queue = await service.open(DESTINATION, receiver.send);
    const ids = await queue.putAll([message('one'), message('two', { priority: 'high', what: 'logs' })]);
    await eventually(async () => (await queue.state()).sent === 2, 'both taken');
    assert.deepEqual(receiver.bodies, ['one', 'two']);
    assert.deepEqual(
      receiver.batches[0]!.map(({ id }) => id),
      ids,
    );
    const { counted, ...line } = book.lines[0]!;
    assert.deepEqual(line, {
      part: 'telemetry',
      for: 'telemetry',
      to: 'collector.example:443',
      what: 'logs, metrics',
      bytes: 0,
      details: { queue: 'telemetry', messages: 2, bytes: 17 },
    });
    assert.deepEqual(counted, [17]);
    const { waiting, bytes, lost, trouble } = await queue.state();
    assert.deepEqual([waiting, bytes, lost, trouble], [0, 0, 0, undefined]);
  });

  it('keeps waiting messages over restarts of its user, with their ids', async () => {
    const { host, service } = await start();
    await using _host = host;
    const receiver = new Receiver();
    receiver.away = true;
    const first = await service.open(DESTINATION, receiver.send);
    const ids = [await first.put(message('one')), await first.put(message('two'))];
    await eventually(() => receiver.batches.length > 0, 'an attempt');
    await first[Symbol.asyncDispose]();
    await assert.rejects(first.put(message('three')), { code: 'OUTBOX_FULL' });
    const other = new Receiver();
    await using again = await service.open(DESTINATION, other.send);
    await eventually(() => other.bodies.length === 2, 'both sent');
    assert.deepEqual(
      other.batches.flat().map(({ id }) => id),
      ids,
    );
    await eventually(async () => (await again.state()).waiting === 0, 'nothing waits');
  });

  it('tries again after a back-off that doubles, and after what was asked for', async () => {
    const clock = virtualClock();
    const { host, service } = await start({ clock });
    await using _host = host;
    const receiver = new Receiver();
    receiver.answers.push({ outcome: 'later', reason: 'try later', afterMs: 90_000 }, new Error('the line is dead'));
    const queue = await service.open(DESTINATION, receiver.send);
    await queue.put(message('one'));
    await eventually(async () => (await queue.state()).trouble, 'a first attempt');
    assert.deepEqual((await queue.state()).trouble, { reason: 'try later', nextAt: clock.now() + 90_000 });
    await clock.advance(89_999);
    await turns();
    assert.equal(receiver.batches.length, 1);
    await clock.advance(1);
    await eventually(() => receiver.batches.length === 2, 'a second attempt');
    await eventually(async () => (await queue.state()).trouble?.reason === 'the line is dead', 'what was thrown');
    await clock.advance(2_000);
    await eventually(async () => (await queue.state()).waiting === 0, 'taken');
  });

  it('sends nothing that cannot be written down before, and says why', async () => {
    const { host, service, book } = await start();
    await using _host = host;
    const receiver = new Receiver();
    book.refusal = new CoreError('STORAGE_FULL', { file: 'ledger', reason: 'no space' });
    const queue = await service.open(DESTINATION, receiver.send);
    await queue.put(message('one'));
    const { trouble } = await eventually(
      async () => ((await queue.state()).trouble ? queue.state() : undefined),
      'why',
    );
    assert.match(trouble!.reason, /could not be written down before: .*no space/);
    assert.equal(receiver.batches.length, 0);
  });
});

describe('a cleared message', () => {
  it('is not sent, although the ledger was about to write it down', async () => {
    const { host, service, book } = await start();
    await using _host = host;
    const receiver = new Receiver();
    const held = Promise.withResolvers<void>();
    book.until = held.promise;
    const queue = await service.open(DESTINATION, receiver.send);
    await queue.put(message('old'));
    await turns();
    assert.equal(await queue.clear(), 1);
    held.resolve();
    await turns(50);
    assert.deepEqual(receiver.batches, []);
    await queue.put(message('new'));
    await eventually(async () => (await queue.state()).sent === 1, 'the next one');
    assert.deepEqual(receiver.bodies, ['new']);
    assert.equal(book.lines.length, 2, 'it has a line of its own, of the same number and length as it is');
  });

  it('is also what was put before and is on no disk yet', async () => {
    const { host, service } = await start();
    await using _host = host;
    const receiver = new Receiver();
    const queue = await service.open(DESTINATION, receiver.send);
    const puts = Array.from({ length: 600 }, (_, at) => queue.put(message(`old ${at}`)).catch(({ code }) => code));
    const cleared = queue.clear();
    const after = queue.put(message('new'));
    assert.equal(await cleared, 600);
    for (const code of await Promise.all(puts)) assert.equal(code, 'CANCELLED');
    await after;
    await eventually(async () => (await queue.state()).sent === 1, 'what was put later');
    assert.deepEqual(receiver.bodies, ['new']);
  });
});

describe('the operations of the outbox', () => {
  it('list what waits, send it at once, and throw it away', async () => {
    const { host, service, table } = await start();
    await using _host = host;
    const receiver = new Receiver();
    receiver.away = true;
    await using queue = await service.open(DESTINATION, receiver.send);
    assert.deepEqual(await service.list(), [await queue.state()]);
    await queue.putAll([message('one'), message('two')]);
    await eventually(async () => (await queue.state()).trouble, 'an attempt');
    const { queues } = (await table.run('outbox.list', {})) as { queues: { id: string; waiting: number }[] };
    assert.deepEqual(
      queues.map(({ id, waiting }) => [id, waiting]),
      [['telemetry', 2]],
    );
    const before = receiver.batches.length;
    await table.run('outbox.retry', { id: 'telemetry' });
    await eventually(() => receiver.batches.length > before, 'another attempt');
    assert.deepEqual(await table.run('outbox.clear', { id: 'telemetry' }), { cleared: 2 });
    assert.equal((await queue.state()).waiting, 0);
    const needed = (await table.list()).map(({ name, capability }) => [name, capability]);
    assert.deepEqual(Object.fromEntries(needed), {
      'outbox.list': 'system.logs',
      'outbox.retry': 'system.outbox',
      'outbox.clear': 'system.outbox',
    });
    for (const name of ['outbox.retry', 'outbox.clear'])
      await assert.rejects(Promise.resolve(table.run(name, { id: 'nobody' })), { code: 'PARAMS_INVALID' });
  });
});
