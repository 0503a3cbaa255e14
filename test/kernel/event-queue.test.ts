import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { type EventEnvelope, type LossReceipt, PRIORITIES, type Priority } from '@device-core/plugin-api';
import fc from 'fast-check';
import { EventQueue, noCounts } from '../../kernel/bus/event-queue.ts';
import { runs } from '../fixtures/runs.ts';

interface Item {
  readonly event: EventEnvelope;
  readonly bytes: number;
}

/** The rule of D8 as plainly as it can be said: one list, and while it is too much, the first of the lowest class goes. */
class Model {
  readonly items: Item[] = [];
  readonly lost: EventEnvelope[] = [];
  readonly #limit: number;
  readonly #bytes: number;

  constructor(limit: number, bytes: number) {
    this.#limit = limit;
    this.#bytes = bytes;
  }

  push(item: Item): boolean {
    const alone = this.#limit < 1 || item.bytes > this.#bytes;
    if (alone && item.event.priority === 'critical') return false;
    if (alone) {
      this.lost.push(item.event);
      return true;
    }
    const all = [...this.items, item];
    while (all.length > this.#limit || all.reduce((sum, { bytes }) => sum + bytes, 0) > this.#bytes) {
      const victim = this.#victim(all);
      if (!victim) return false;
      all.splice(all.indexOf(victim), 1);
      this.lost.push(victim.event);
    }
    this.items.splice(0, this.items.length, ...all);
    return true;
  }

  #victim(all: readonly Item[]): Item | undefined {
    const of = (priority: Priority) => all.filter(({ event }) => event.priority === priority);
    const highs = of('high');
    const superseded = highs.find((one, i) => highs.slice(i + 1).some(({ event }) => event.topic === one.event.topic));
    return of('low')[0] ?? of('normal')[0] ?? superseded ?? highs[0];
  }
}

const push = fc.record({
  priority: fc.oneof(
    { weight: 20, arbitrary: fc.constantFrom<Priority>('low', 'normal', 'high', 'high') },
    { weight: 1, arbitrary: fc.constant<Priority>('critical') },
  ),
  topic: fc.constantFrom('t.a', 't.b', 't.c', 't.d'),
  bytes: fc.integer({ min: 2, max: 60 }),
});
const step = fc.oneof({ weight: 4, arbitrary: push }, { weight: 1, arbitrary: fc.constant('take' as const) });

function add(receipt: LossReceipt | undefined, counts: Record<Priority, number>): void {
  for (const priority of PRIORITIES) counts[priority] += receipt?.counts[priority] ?? 0;
}

describe('the queue of a busy subscriber', () => {
  it('loses what the rule says and nothing else, in order, and its receipts add up', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 8 }),
        fc.integer({ min: 1, max: 200 }),
        fc.array(step, { maxLength: 80, size: 'max' }),
        (limit, byteLimit, steps) => {
          const dropped = noCounts();
          const told = noCounts();
          const queue = new EventQueue(limit, byteLimit, dropped);
          const model = new Model(limit, byteLimit);
          const published = noCounts();
          const delivered = noCounts();
          let seq = 0;
          let last = 0;
          for (const one of steps) {
            if (one === 'take') {
              const receipt = queue.takeLoss();
              assert.deepEqual(receipt?.counts, count(model.lost));
              if (receipt) assert.deepEqual([receipt.from, receipt.to], range(model.lost));
              model.lost.length = 0;
              add(receipt, told);
              const event = queue.shift();
              assert.equal(event, model.items.shift()?.event);
              if (!event) continue;
              assert.ok(event.seq > last, 'events come in the order of seq');
              last = event.seq;
              delivered[event.priority]++;
              continue;
            }
            const { priority, topic, bytes } = one;
            const event: EventEnvelope = { topic, ts: 0, seq: ++seq, source: 'core', priority, payload: {} };
            published[priority]++;
            const accepted = model.push({ event, bytes });
            assert.equal(queue.push(event, bytes), accepted);
            if (accepted) continue;
            assert.equal(priority, 'critical', 'only a critical event ends a subscription');
            add(queue.abandon([event]), told);
            break;
          }
          add(queue.abandon([]), told);
          for (const priority of PRIORITIES)
            assert.equal(delivered[priority] + told[priority], published[priority], `${priority} adds up`);
          assert.deepEqual(told, dropped);
        },
      ),
      { numRuns: runs(1000) },
    );
  });

  it('keeps the newest high event per topic while its bounds allow', () => {
    const queue = new EventQueue(3, 1000, noCounts());
    let seq = 0;
    for (const topic of ['a', 'b', 'b', 'c', 'd', 'd'])
      queue.push({ topic, ts: 0, seq: ++seq, source: 'core', priority: 'high', payload: {} }, 2);
    const kept = [queue.shift(), queue.shift(), queue.shift()].map((event) => `${event?.topic}${event?.seq}`);
    assert.deepEqual(kept, ['b3', 'c4', 'd6']);
  });
});

function count(lost: readonly EventEnvelope[]): Record<Priority, number> | undefined {
  if (lost.length === 0) return undefined;
  const counts = noCounts();
  for (const { priority } of lost) counts[priority]++;
  return counts;
}

function range(lost: readonly EventEnvelope[]): [number, number] {
  const numbers = lost.map(({ seq }) => seq);
  return [Math.min(...numbers), Math.max(...numbers)];
}
