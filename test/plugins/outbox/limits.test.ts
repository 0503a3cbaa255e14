/** Who goes when a queue is full, and what is told of them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { OutboxLoss, Outgoing } from '@device-core/plugin-api/inside/services/outbox';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { checkDestination, type Limits } from '../../../plugins/state/outbox/message.ts';
import { Queue } from '../../../plugins/state/outbox/queue.ts';
import { runs } from '../../fixtures/runs.ts';
import { part } from '../../fixtures/scope.ts';
import { DESTINATION, message, temporaryFolder } from './fixture.ts';

after(leakCheck());

const USUAL = { bytes: 1_000_000, messages: 1_000, ageMs: 86_400_000, batch: 50 };

async function open(limits: Partial<Limits> = {}, clock = virtualClock()) {
  const folder = temporaryFolder();
  const rest = part(clock);
  const destination = checkDestination({ ...DESTINATION, limits }, USUAL);
  const file = join(folder.path, 'telemetry.sqlite');
  const again = () =>
    Queue.open({ file, destination, owner: 'telemetry', clock, log: rest.log, onPut: () => undefined });
  const queue = await again();
  return {
    queue,
    clock,
    again,
    logged: rest.logged,
    [Symbol.asyncDispose]: async () => {
      await queue.close();
      await rest[Symbol.asyncDispose]();
      folder[Symbol.dispose]();
    },
  };
}

/** What is there, in the order in which it is sent. */
async function all(queue: Queue): Promise<readonly (string | OutboxLoss)[]> {
  const batch = await queue.take(1_000);
  await queue.land(batch);
  return batch.map(({ what, body }) => (what === 'loss' ? (JSON.parse(body) as OutboxLoss) : body));
}

const put = (queue: Queue, body: string, priority: Outgoing['priority'] = 'normal', more: Partial<Outgoing> = {}) =>
  queue.putAll([message(body, { priority, ...more })]);

describe('a queue that is full', () => {
  it('drops low ones first, then the oldest normal ones, and puts one receipt in their place', async () => {
    await using rest = await open({ messages: 4 });
    const { queue, clock, logged } = rest;
    const at = clock.now();
    for (const [body, priority] of [
      ['a', 'normal'],
      ['b', 'low'],
      ['c', 'high'],
      ['d', 'low'],
    ] as const)
      await put(queue, body, priority);
    await put(queue, 'e');
    const first = { lost: 1, bytes: 8, from: at, to: at, counts: { low: 1 } };
    assert.deepEqual(await all(queue), ['a', first, 'c', 'd', 'e']);
    await put(queue, 'f', 'high');
    await put(queue, 'g');
    const third = { lost: 3, bytes: 24, from: at, to: at, counts: { low: 2, normal: 1 } };
    assert.deepEqual(await all(queue), [third, 'c', 'e', 'f', 'g']);
    assert.equal(queue.lost, 3);
    assert.deepEqual(
      logged.map(({ level }) => level),
      ['warn'],
      'told once for each receipt',
    );
  });

  it('refuses a message less important than all that wait, and an important one when nothing gives way', async () => {
    await using rest = await open({ messages: 2 });
    const { queue } = rest;
    await put(queue, 'a');
    await put(queue, 'b', 'high');
    await assert.rejects(put(queue, 'c', 'low'), { code: 'OUTBOX_FULL' });
    await put(queue, 'd', 'high');
    await assert.rejects(put(queue, 'e', 'high'), { code: 'OUTBOX_FULL' });
    await assert.rejects(put(queue, 'f'), { code: 'OUTBOX_FULL' });
    const kept = await all(queue);
    assert.deepEqual(kept.slice(1), ['b', 'd']);
    assert.deepEqual((kept[0] as OutboxLoss).counts, { normal: 1 });
  });

  it('takes all of a batch or none', async () => {
    await using rest = await open({ messages: 3 });
    const { queue } = rest;
    await put(queue, 'a', 'high');
    await put(queue, 'b', 'high');
    await assert.rejects(queue.putAll([message('c', { priority: 'high' }), message('d')]), { code: 'OUTBOX_FULL' });
    assert.deepEqual(await all(queue), ['a', 'b']);
  });

  it('makes room for one large message by many small ones, a part of them at a time', async () => {
    await using rest = await open({ bytes: 20_000 });
    const { queue } = rest;
    await queue.putAll(Array.from({ length: 900 }, (_, index) => message(`${index}`, { priority: 'low' })));
    await put(queue, 'x'.repeat(18_000), 'high');
    const kept = await all(queue);
    const [loss] = kept as [OutboxLoss];
    assert.equal(loss.lost + kept.length - 2, 900);
    assert.ok(loss.lost > 512, `${loss.lost} went`);
  });

  it('does not drop messages under way', async () => {
    await using rest = await open({ messages: 2 });
    const { queue } = rest;
    await put(queue, 'a');
    await put(queue, 'b');
    const batch = await queue.take(1);
    await put(queue, 'c');
    await queue.land(batch);
    const kept = await all(queue);
    assert.deepEqual([kept[0], kept[2]], ['a', 'c']);
    assert.deepEqual((kept[1] as OutboxLoss).counts, { normal: 1 });
  });

  it('keeps the newest of a key, also of one that is on its way', async () => {
    await using rest = await open();
    const { queue } = rest;
    for (const body of ['1', '2']) await put(queue, body, 'normal', { key: 'k' });
    await put(queue, 'other');
    assert.deepEqual(await all(queue), ['2', 'other']);
    const batch = await queue.take(1);
    await put(queue, '3', 'normal', { key: 'k' });
    await queue.land(batch);
    assert.deepEqual(await all(queue), ['other', '3']);
    await queue.putAll(['4', '5'].map((body) => message(body, { key: 'k' })));
    assert.deepEqual(await all(queue), ['other', '5']);
    assert.equal(queue.lost, 0);
  });

  it('drops too old messages, by a monotonic clock', async () => {
    const clock = virtualClock();
    await using rest = await open({ ageMs: 10_000 }, clock);
    const { queue } = rest;
    await put(queue, 'a');
    clock.set(clock.now() + 50 * 365 * 86_400_000);
    assert.deepEqual(await all(queue), ['a'], 'the time was set: nothing is older for that');
    await clock.advance(10_001);
    await put(queue, 'b');
    const [loss, ...kept] = await all(queue);
    assert.deepEqual(kept, ['b']);
    assert.deepEqual((loss as OutboxLoss).counts, { normal: 1 });
  });

  it('makes one receipt of two where the first was on its way', async () => {
    await using rest = await open({ messages: 1 });
    const { queue } = rest;
    for (const body of ['a', 'b']) await put(queue, body);
    const batch = await queue.take(1);
    assert.equal(batch[0]!.what, 'loss');
    await put(queue, 'c');
    await queue.land(batch);
    const [loss, ...kept] = await all(queue);
    assert.deepEqual([(loss as OutboxLoss).lost, kept], [2, ['c']]);
  });
});

describe('invariants hold after any sequence of puts, takes and landings', () => {
  const priority = fc.constantFrom('low', 'normal', 'high' as const);
  const act = fc.oneof(
    { weight: 5, arbitrary: fc.record({ act: fc.constant('put'), priority, size: fc.integer({ min: 1, max: 60 }) }) },
    {
      weight: 2,
      arbitrary: fc.record({
        act: fc.constantFrom('taken', 'later', 'refused', 'restart'),
        most: fc.integer({ min: 1, max: 4 }),
      }),
    },
  );

  it('is sent, counted in a receipt, or was refused: each of them once; and the limits hold', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { maxLength: 60 }), async (acts) => {
        await using rest = await open({ messages: 6, bytes: 1_024 });
        let queue = rest.queue;
        let [accepted, sent, told] = [0, 0, 0];
        const take = (rows: readonly { what: string; body: string }[]) => {
          for (const { what, body } of rows)
            if (what === 'loss') told += (JSON.parse(body) as OutboxLoss).lost;
            else sent += 1;
        };
        for (const one of acts) {
          if ('size' in one) {
            const body = 'x'.repeat(one.size * 8);
            await put(queue, body, one.priority).then(
              () => {
                accepted += 1;
              },
              (error) => assert.equal(error.code, 'OUTBOX_FULL'),
            );
          } else if (one.act === 'restart') {
            await queue.close();
            queue = await rest.again();
          } else {
            const batch = await queue.take(one.most);
            if (one.act === 'later') await queue.land(batch);
            else await queue.end(batch, one.act === 'refused');
            if (one.act === 'taken') take(batch);
            // Of a receipt that is refused alone nothing is left; the log has it.
            else if (one.act === 'refused' && batch.every(({ what }) => what === 'loss')) take(batch);
          }
          const rows = await queue.take(100);
          await queue.land(rows);
          const messages = rows.filter(({ what }) => what !== 'loss');
          assert.ok(messages.length <= 6);
          assert.ok(messages.reduce((bytes, row) => bytes + row.bytes, 0) <= 1_024);
          assert.ok(rows.length - messages.length <= 1, 'one receipt');
        }
        const rest2 = await queue.take(100);
        take(rest2);
        assert.equal(sent + told, accepted);
        assert.equal(queue.waiting.count, rest2.length);
        await queue.close();
      }),
      { numRuns: runs(100) },
    );
  });
});
