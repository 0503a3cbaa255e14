/** What a receiver may do, and what becomes of a batch. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { ledger } from '@device-core/plugin-api/inside/services/ledger';
import type { OutboxLoss, OutboxQueue, Sent } from '@device-core/plugin-api/inside/services/outbox';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { BackOff } from '../../../plugins/state/outbox/back-off.ts';
import { eventually, turns } from '../../fixtures/eventually.ts';
import { healthOf } from '../../fixtures/native.ts';
import { BookKeeper, DESTINATION, message, Receiver, start } from './fixture.ts';

after(leakCheck());

const empty = (queue: OutboxQueue) => eventually(async () => (await queue.state()).waiting === 0, 'an empty queue');

describe('a receiver', () => {
  it('that refuses a batch gets a receipt in its place, and no receipt of that receipt', async () => {
    const { host, service } = await start();
    await using _host = host;
    const receiver = new Receiver();
    receiver.answers.push({ outcome: 'refused', reason: 'never' }, { outcome: 'refused', reason: 'nor that' });
    const queue = await service.open(DESTINATION, receiver.send);
    await queue.putAll([message('one'), message('two', { priority: 'high' })]);
    await empty(queue);
    assert.equal(receiver.batches.length, 2);
    const loss = JSON.parse(receiver.batches[1]![0]!.body) as OutboxLoss;
    assert.deepEqual([receiver.batches[1]![0]!.what, loss.lost, loss.counts], ['loss', 2, { normal: 1, high: 1 }]);
    assert.deepEqual([(await queue.state()).lost, (await queue.state()).sent], [2, 0]);
  });

  it('for which a batch is too large gets halves, and one message that is too large alone is dropped', async () => {
    const { host, service } = await start();
    await using _host = host;
    const receiver = new Receiver();
    const sizes: number[] = [];
    const queue = await service.open(DESTINATION, async (batch, signal) => {
      sizes.push(batch.length);
      if (batch.some(({ body }) => body === 'large') || batch.length > 3) return { outcome: 'too-large' };
      return receiver.send(batch, signal);
    });
    await queue.putAll(['1', '2', 'large', '4', '5', '6', '7', '8'].map((body) => message(body)));
    await empty(queue);
    assert.deepEqual(sizes.slice(0, 3), [8, 4, 2]);
    const sent = receiver.batches.flat();
    assert.deepEqual(
      sent.filter(({ what }) => what !== 'loss').map(({ body }) => body),
      ['1', '2', '4', '5', '6', '7', '8'],
    );
    const losses = sent.filter(({ what }) => what === 'loss').map(({ body }) => JSON.parse(body) as OutboxLoss);
    assert.equal(losses.at(-1)?.lost, 1);
    assert.equal(
      sent.findIndex(({ what }) => what === 'loss'),
      2,
      'it stands in the place of what was dropped',
    );
  });

  const odd: Readonly<Record<string, () => unknown>> = {
    'throws before it answers': () => {
      throw new Error('odd');
    },
    rejects: () => Promise.reject(new Error('odd')),
    'rejects with nothing': () => Promise.reject(undefined),
    'answers with nothing': async () => undefined,
    'answers with another outcome': async () => ({ outcome: 'perhaps' }),
    'wants it later, at no time that there is': async () => ({ outcome: 'later', reason: 'x', afterMs: Number.NaN }),
    'wants it at once, again and again': async () => ({ outcome: 'later', reason: 'x', afterMs: 0 }),
    'wants it before now': async () => ({ outcome: 'later', reason: 'x', afterMs: -5 }),
    'wants it in a thousand years': async () => ({ outcome: 'later', reason: 'x', afterMs: 3e13 }),
  };
  for (const [title, answer] of Object.entries(odd))
    it(`that ${title} gets it again, later, and does not spin`, async () => {
      const clock = virtualClock();
      const { host, service } = await start({ clock });
      await using _host = host;
      let calls = 0;
      let well = false;
      const queue = await service.open(DESTINATION, () => {
        calls += 1;
        return (well ? Promise.resolve({ outcome: 'taken' }) : answer()) as Promise<Sent>;
      });
      await queue.put(message('one'));
      await eventually(async () => (await queue.state()).trouble, 'a first attempt');
      await turns(50);
      assert.equal(calls, 1, 'not without a pause');
      const { nextAt } = (await queue.state()).trouble!;
      assert.ok(nextAt >= clock.now() + 100 && nextAt <= clock.now() + 86_400_000);
      well = true;
      await clock.advance(86_400_000);
      await empty(queue);
    });

  it('that never answers is given up after its own time, and told so', async () => {
    const clock = virtualClock();
    const { host, service } = await start({ clock, config: { sendMs: 5_000 } });
    await using _host = host;
    const signals: AbortSignal[] = [];
    const queue = await service.open(DESTINATION, (_batch, signal) => {
      signals.push(signal);
      return new Promise<Sent>(() => undefined);
    });
    await queue.put(message('one'));
    await eventually(() => signals.length === 1, 'a call of send');
    await clock.advance(4_999);
    assert.equal(signals[0]!.aborted, false);
    await clock.advance(1);
    await eventually(async () => (await queue.state()).trouble?.reason.includes('timed out after 5000 ms'), 'a limit');
    assert.equal(signals[0]!.aborted, true);
  });

  it('that is gone for a week is tried now and then, and the ledger has a line an hour at most', async () => {
    const clock = virtualClock();
    const { host, service, book } = await start({ clock, config: { messages: 20 } });
    await using _host = host;
    const receiver = new Receiver();
    receiver.away = true;
    const queue = await service.open(DESTINATION, receiver.send);
    for (let hour = 0; hour < 7 * 24; hour += 1) {
      await queue.put(message(`${hour}`));
      await clock.advance(3_600_000);
    }
    const { waiting, lost } = await queue.state();
    assert.ok(waiting <= 21 && waiting + lost >= 7 * 24, `${waiting} wait, ${lost} are lost`);
    // Full jitter below five minutes: 2.5 minutes on average.
    assert.ok(
      receiver.batches.length > 2_000 && receiver.batches.length < 8_000,
      `${receiver.batches.length} attempts`,
    );
    assert.ok(book.lines.length <= 2 * 7 * 24 + 2, `${book.lines.length} lines`);
    receiver.away = false;
    await clock.advance(300_000);
    await empty(queue);
    assert.equal((JSON.parse(receiver.batches.at(-1)![0]!.body) as OutboxLoss).lost, lost);
  });

  it('is not asked while the device is offline, and at once when it is back', async () => {
    const clock = virtualClock();
    const { host, service } = await start({ clock });
    await using _host = host;
    const receiver = new Receiver();
    receiver.away = true;
    const network = (state: string) => host.publish('system.network', { state, type: 'wifi', metered: false });
    const queue = await service.open(DESTINATION, receiver.send);
    await queue.put(message('one'));
    await eventually(async () => (await queue.state()).trouble, 'a first attempt');
    network('offline');
    await clock.advance(3_600_000);
    assert.equal(receiver.batches.length, 1);
    assert.match((await healthOf(host, 'outbox.telemetry'))!.message!, /offline/);
    receiver.away = false;
    network('local');
    await empty(queue);
    assert.equal((await healthOf(host, 'outbox.telemetry'))!.status, 'okay');
  });
});

describe('the ledger', () => {
  it('that is not there stops sending, and it goes on when it comes', async () => {
    const { host, service } = await start({ withoutLedger: true });
    await using _host = host;
    const receiver = new Receiver();
    const queue = await service.open(DESTINATION, receiver.send);
    await queue.put(message('one'));
    const said = await eventually(async () => {
      const health = await healthOf(host, 'outbox.telemetry');
      return health?.status === 'error' ? health : undefined;
    }, 'an error in the health');
    assert.deepEqual([said.code, receiver.batches.length], ['SERVICE_MISSING', 0]);
    assert.match(said.message!, /^1 messages .*nothing is sent, for it could not be written down before/);
    const [, service2] = new BookKeeper().service;
    await host.appear(ledger, service2 as never);
    await empty(queue);
  });

  it('counts bytes of each attempt that may have left, and has one line for the same messages', async () => {
    const clock = virtualClock();
    const { host, service, book } = await start({ clock });
    await using _host = host;
    const receiver = new Receiver();
    receiver.answers.push(
      { outcome: 'later', reason: 'no connection', unsent: true },
      { outcome: 'later', reason: '503' },
      { outcome: 'taken' },
    );
    const queue = await service.open(DESTINATION, receiver.send);
    await queue.put(message('body'));
    await eventually(async () => {
      await clock.advance(5_000);
      return receiver.batches.length === 3;
    }, 'three attempts');
    await empty(queue);
    assert.deepEqual(
      book.lines.map(({ counted }) => counted),
      [[11, 11]],
    );
  });
});

describe('the back-off', () => {
  it('doubles to five minutes, with full jitter, and honours what was asked for', () => {
    const most = new BackOff(() => 1);
    assert.deepEqual(
      Array.from({ length: 11 }, () => most.next()),
      [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000, 300_000],
    );
    const least = new BackOff(() => 0);
    assert.equal(least.next(), 100);
    assert.equal(least.next(120_000), 120_000);
    assert.equal(least.next(1), 1_000);
    most.reset();
    assert.equal(most.next(), 1_000);
  });
});
