import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  CoreError,
  type EventEnvelope,
  type LossReceipt,
  matchesTopic,
  PRIORITIES,
  type Priority,
} from '@device-core/plugin-api';
import fc from 'fast-check';
import { EventBusCore } from '../../kernel/bus/event-bus.ts';
import { noCounts } from '../../kernel/bus/event-queue.ts';
import { runs } from '../fixtures/runs.ts';

/** Long enough for every delivery: for a subscriber that falls behind the bus waits a turn before it loses anything. */
async function turn(): Promise<void> {
  for (let i = 0; i < 4; i++) await nextTurn();
}

function collect(bus: EventBusCore, filters: string | readonly string[]): EventEnvelope[] {
  const got: EventEnvelope[] = [];
  bus.subscribe(filters, (event) => void got.push(event));
  return got;
}

function send(bus: EventBusCore, topic: string, payload: object = {}, priority?: Priority): EventEnvelope {
  return bus.publish({ topic, payload, source: 'core', ...(priority && { priority }) });
}

function codeOf(attempt: () => unknown): string {
  try {
    attempt();
  } catch (error) {
    if (error instanceof CoreError) return error.code;
    throw error;
  }
  return 'no error';
}

/** A handler that is busy until it is let go. */
function gate() {
  const got: EventEnvelope[] = [];
  const losses: LossReceipt[] = [];
  const cuts: LossReceipt[] = [];
  let release = (): void => undefined;
  return {
    got,
    losses,
    cuts,
    handler: (event: EventEnvelope): Promise<void> => {
      got.push(event);
      return new Promise((resolve) => {
        release = resolve;
      });
    },
    options: { onDrop: (loss: LossReceipt) => losses.push(loss), onCutOff: (loss: LossReceipt) => cuts.push(loss) },
    async next(): Promise<void> {
      release();
      await turn();
    },
  };
}

describe('the Event Bus', () => {
  it('delivers later, in order, with seq without gaps and whole milliseconds', async () => {
    const bus = new EventBusCore();
    const got = collect(bus, 'a.**');
    const before = Date.now();
    for (let i = 0; i < 3000; i++) send(bus, `a.${i % 7}`, { i });
    assert.equal(got.length, 0);
    await turn();
    assert.deepEqual(
      got.map(({ seq }) => seq),
      Array.from({ length: 3000 }, (_, i) => i + 1),
    );
    assert.ok(got.every(({ ts }) => Number.isInteger(ts) && ts >= before && ts <= Date.now()));
    assert.deepEqual(Object.keys(got[0]!).sort(), ['payload', 'priority', 'seq', 'source', 'topic', 'ts']);
  });

  it('delivers an event once to a subscriber with overlapping filters', async () => {
    const bus = new EventBusCore();
    const got = collect(bus, ['a.b', 'a.*', '**', 'a.b']);
    send(bus, 'a.b');
    await turn();
    assert.equal(got.length, 1);
  });

  it('gives a subscriber only what was published after it came', async () => {
    const bus = new EventBusCore();
    send(bus, 'a');
    const got = collect(bus, 'a');
    const event = send(bus, 'a');
    await turn();
    assert.deepEqual(got, [event]);
  });

  it('never lets a subscriber that awaits promises alone lose anything in a burst', async () => {
    const bus = new EventBusCore();
    let got = 0;
    bus.subscribe('a', async () => {
      await Promise.resolve();
      got++;
    });
    for (let i = 0; i < 2500; i++) send(bus, 'a');
    for (let i = 0; i < 50; i++) await turn();
    assert.equal(got, 2500);
    assert.equal(bus.stats().dropped.normal, 0);
  });

  it('lets other work run while a handler keeps publishing', async () => {
    const bus = new EventBusCore();
    let count = 0;
    bus.subscribe('a', () => {
      count++;
      send(bus, 'a');
    });
    send(bus, 'a');
    await turn();
    await turn();
    assert.ok(count > 0);
    bus.close();
  });

  it('tells of errors in handlers and goes on', async () => {
    const errors: unknown[] = [];
    const bus = new EventBusCore({ onError: (error) => errors.push((error as Error).message) });
    bus.subscribe('a', () => {
      throw new Error('thrown');
    });
    bus.subscribe('a', () => Promise.reject(new Error('rejected')));
    const got = collect(bus, 'a');
    send(bus, 'a');
    send(bus, 'a');
    await turn();
    assert.equal(got.length, 2);
    assert.deepEqual(errors.sort(), ['rejected', 'rejected', 'thrown', 'thrown']);
  });

  it('survives subscribers that leave and come while it delivers', async () => {
    const bus = new EventBusCore();
    const got: string[] = [];
    const first = bus.subscribe('a', () => {
      got.push('first');
      first[Symbol.dispose]();
      second[Symbol.dispose]();
      bus.subscribe('a', () => void got.push('third'));
    });
    const second = bus.subscribe('a', () => void got.push('second'));
    send(bus, 'a');
    await turn();
    send(bus, 'a');
    await turn();
    assert.deepEqual(got, ['first', 'third']);
    assert.equal(bus.stats().subscribers, 1);
  });

  it('can change the filters of a subscription', async () => {
    const bus = new EventBusCore();
    send(bus, 'system.power', { source: 'battery' });
    const got: string[] = [];
    const subscription = bus.subscribe(['a', 'b'], ({ topic }) => void got.push(topic));
    subscription.update(['b', 'system.*']);
    for (const topic of ['a', 'b', 'system.boot']) send(bus, topic);
    await turn();
    assert.deepEqual(got, ['system.power', 'b', 'system.boot']);
    assert.throws(() => subscription.update('b..c'), { code: 'FILTER_INVALID' });
    subscription[Symbol.dispose]();
    subscription.update('a');
    send(bus, 'a');
    await turn();
    assert.equal(got.length, 3);
  });

  it('can change a few of the filters, and the others stay', async () => {
    const bus = new EventBusCore();
    send(bus, 'system.power', { source: 'battery' });
    send(bus, 'app.state', { app: 'x' });
    const got: string[] = [];
    const subscription = bus.subscribe(['a', 'b', 'system.*'], ({ topic }) => void got.push(topic));
    await turn();
    subscription.change(['c', 'b', 'system.power', 'app.state'], ['a', 'b', 'never.was']);
    for (const topic of ['a', 'b', 'c']) send(bus, topic);
    await turn();
    assert.deepEqual(
      got,
      ['system.power', 'app.state', 'b', 'c'],
      'what is retained comes to a filter that is new to it',
    );
    for (const [add, remove] of [
      [['b..c'], []],
      [[], ['..']],
      [[], ['b', 'c', 'system.*', 'system.power', 'app.state']],
    ] as const)
      assert.throws(() => subscription.change(add, remove), { code: 'FILTER_INVALID' });
    send(bus, 'c');
    await turn();
    assert.equal(got.length, 5, 'what was refused has changed nothing');
    subscription[Symbol.dispose]();
    subscription.change(['d'], []);
    send(bus, 'd');
    await turn();
    assert.equal(got.length, 5);
  });

  const refused: [what: string, publish: (bus: EventBusCore) => unknown, code: string][] = [
    ['a topic with a wildcard', (bus) => send(bus, 'a.*'), 'TOPIC_INVALID'],
    ['an unknown priority', (bus) => send(bus, 'a', {}, 'urgent' as Priority), 'PARAMS_INVALID'],
    ['a property of objects as priority', (bus) => send(bus, 'a', {}, 'constructor' as Priority), 'PARAMS_INVALID'],
    ['a payload that is null', (bus) => send(bus, 'a', null as unknown as object), 'PARAMS_INVALID'],
    ['a payload that is an array', (bus) => send(bus, 'a', []), 'PARAMS_INVALID'],
    ['a payload that is text', (bus) => send(bus, 'a', 'x' as unknown as object), 'PARAMS_INVALID'],
    ['a payload over 64 KiB', (bus) => send(bus, 'a', { text: 'x'.repeat(65_536) }), 'PARAMS_INVALID'],
    ['many small members over 64 KiB', (bus) => send(bus, 'a', { list: Array(40_000).fill(1) }), 'PARAMS_INVALID'],
    ['text that is larger as UTF-8', (bus) => send(bus, 'a', { text: '\u20ac'.repeat(22_000) }), 'PARAMS_INVALID'],
    ['a payload with a bigint', (bus) => send(bus, 'a', { n: 1n }), 'PARAMS_INVALID'],
    ['a payload that contains itself', (bus) => send(bus, 'a', circular()), 'PARAMS_INVALID'],
    ['no filter', (bus) => bus.subscribe([], () => undefined), 'FILTER_INVALID'],
    ['a bad filter', (bus) => bus.subscribe(['a', 'b.**.c'], () => undefined), 'FILTER_INVALID'],
  ];
  for (const [what, attempt, code] of refused) {
    it(`refuses ${what} with ${code} and spends no number on it`, () => {
      const bus = new EventBusCore();
      assert.equal(
        codeOf(() => attempt(bus)),
        code,
      );
      assert.deepEqual([bus.stats().seq, bus.stats().subscribers], [0, 0]);
    });
  }

  it('names the topic of a payload that it refuses, and says of one without an end that it has none', () => {
    const bus = new EventBusCore();
    assert.throws(() => send(bus, 'a.b', { text: 'x'.repeat(65_536) }), /payload of a\.b: it has 65547 bytes as JSON/);
    assert.throws(() => send(bus, 'a.b', circular()), {
      message: 'cannot accept payload of a.b: Converting circular structure to JSON',
    });
  });

  it('takes a payload of 64 KiB to the byte', () => {
    const bus = new EventBusCore();
    send(bus, 'a', { text: 'x'.repeat(65_536 - '{"text":""}'.length) });
    assert.equal(bus.stats().published, 1);
  });

  it('refuses with QUEUE_FULL what the inbox cannot hold, the lesser priorities first', async () => {
    const bus = new EventBusCore({ limits: { inbox: 8 } });
    const got = collect(bus, 'a');
    const accepted = (priority: Priority): number => {
      for (let count = 0; ; count++) {
        try {
          send(bus, 'a', {}, priority);
        } catch (error) {
          assert.equal((error as CoreError).code, 'QUEUE_FULL');
          assert.ok(Number((error as CoreError).details.retryAfterMs) > 0);
          return count;
        }
      }
    };
    assert.deepEqual(PRIORITIES.map(accepted), [4, 2, 1, 1]);
    await turn();
    assert.equal(got.length, 8);
    assert.equal(accepted('low'), 4);
  });

  it('bounds the bytes of the inbox, too', async () => {
    const bus = new EventBusCore({ limits: { inboxBytes: 100_000 } });
    collect(bus, 'a');
    send(bus, 'a', { text: 'x'.repeat(60_000) });
    assert.equal(
      codeOf(() => send(bus, 'a', { text: 'x'.repeat(60_000) })),
      'QUEUE_FULL',
    );
    await turn();
    send(bus, 'a', { text: 'x'.repeat(60_000) });
  });

  it('refuses everything after close and counts undelivered events', () => {
    const bus = new EventBusCore();
    collect(bus, 'a');
    send(bus, 'a');
    bus.close();
    assert.equal(bus.stats().dropped.normal, 1);
    assert.equal(
      codeOf(() => send(bus, 'a')),
      'UNAVAILABLE',
    );
    assert.equal(
      codeOf(() => bus.subscribe('a', () => undefined)),
      'UNAVAILABLE',
    );
  });
});

describe('retained topics', () => {
  it('reach a new subscriber at once, the latest of each, before anything newer', async () => {
    const bus = new EventBusCore();
    send(bus, 'system.presence', { state: 'absent' });
    send(bus, 'system.network', { state: 'online' });
    send(bus, 'system.presence', { state: 'present' });
    send(bus, 'system.boot');
    const got = collect(bus, 'system.*');
    send(bus, 'system.presence', { state: 'unknown' });
    await turn();
    assert.deepEqual(
      got.map(({ seq }) => seq),
      [2, 3, 5],
    );
  });

  it('are kept for each app and plugin, up to the limit', () => {
    const bus = new EventBusCore({ limits: { retained: 2 } });
    for (const app of ['a', 'b', 'a', 'c']) send(bus, 'app.state', { app });
    send(bus, 'plugin.state', { plugin: 'spi' });
    assert.deepEqual(
      bus.retained('**').map(({ payload }) => payload),
      [{ app: 'a' }, { app: 'c' }, { plugin: 'spi' }],
    );
    assert.deepEqual(bus.retained(['system.*']), []);
  });

  it('do not reach subscribers that do not want them', async () => {
    const bus = new EventBusCore();
    send(bus, 'system.power');
    const got: EventEnvelope[] = [];
    bus.subscribe('system.*', (event) => void got.push(event), { retained: false });
    await turn();
    assert.deepEqual(got, []);
  });

  it('wait for one another like any event, and beyond the queue limit', async () => {
    const bus = new EventBusCore();
    for (let i = 0; i < 20; i++) send(bus, 'app.state', { app: `a${i}` });
    const slow = gate();
    bus.subscribe('app.state', slow.handler, { queue: 1 });
    await turn();
    assert.equal(slow.got.length, 1);
    for (let i = 0; i < 25; i++) await slow.next();
    assert.equal(slow.got.length, 20);
  });
});

describe('a slow subscriber', () => {
  it('does not block the others, and learns its loss before the next event', async () => {
    const bus = new EventBusCore();
    const slow = gate();
    bus.subscribe('a', slow.handler, { queue: 3, ...slow.options });
    const fast = collect(bus, 'a');
    for (const priority of ['normal', 'low', 'high', 'low', 'normal', 'critical'] as const)
      send(bus, 'a', {}, priority);
    await turn();
    assert.equal(fast.length, 6);
    assert.deepEqual(slow.losses, []);
    await slow.next();
    assert.deepEqual(slow.losses, [{ from: 2, to: 4, counts: { low: 2, normal: 0, high: 0, critical: 0 } }]);
    for (let i = 0; i < 3; i++) await slow.next();
    assert.deepEqual(
      slow.got.map(({ seq }) => seq),
      [1, 3, 5, 6],
    );
    assert.equal(slow.losses.length, 1);
  });

  it('is bounded in bytes of payload', async () => {
    const bus = new EventBusCore();
    const slow = gate();
    bus.subscribe('a', slow.handler, { bytes: 100_000, ...slow.options });
    for (let i = 0; i < 5; i++) send(bus, 'a', { i, text: 'x'.repeat(40_000) });
    await turn();
    for (let i = 0; i < 5; i++) await slow.next();
    assert.deepEqual(
      slow.got.map(({ seq }) => seq),
      [1, 4, 5],
    );
    assert.deepEqual(slow.losses, [{ from: 2, to: 3, counts: { low: 0, normal: 2, high: 0, critical: 0 } }]);
  });

  it('is cut off and told when a critical event does not fit', async () => {
    const bus = new EventBusCore();
    const slow = gate();
    bus.subscribe('a', slow.handler, { queue: 2, ...slow.options });
    for (let i = 0; i < 4; i++) send(bus, 'a', {}, 'critical');
    await turn();
    assert.deepEqual(slow.cuts, [{ from: 2, to: 4, counts: { low: 0, normal: 0, high: 0, critical: 3 } }]);
    assert.equal(bus.stats().subscribers, 0);
    await slow.next();
    send(bus, 'a');
    await turn();
    assert.equal(slow.got.length, 1);
  });

  it('costs no memory beyond its queue for any number of events', async () => {
    const bus = new EventBusCore();
    const slow = gate();
    bus.subscribe('a', slow.handler, slow.options);
    for (let i = 0; i < 20_000; i++) {
      send(bus, 'a', { i }, i % 2 ? 'low' : 'normal');
      if (i % 500 === 0) await turn();
    }
    for (let i = 0; i < 300; i++) await slow.next();
    assert.equal(slow.got.length, 257);
    const { dropped, delivered, published } = bus.stats();
    assert.equal(delivered + dropped.low + dropped.normal, published);
    assert.equal(slow.losses.length, 1);
  });
});

describe('invariants for all acts of subscribers', () => {
  const step = fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        topic: fc.constantFrom('a', 'a.b', 'a.c', 'b'),
        priority: fc.constantFrom(...PRIORITIES),
      }),
    },
    { weight: 2, arbitrary: fc.record({ settle: fc.nat(2) }) },
    { weight: 1, arbitrary: fc.constant('turn' as const) },
  );

  it('every matching event is delivered in order or accounted for', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 60, size: 'max' }),
        fc.integer({ min: 0, max: 4 }),
        async (steps, queue) => {
          const bus = new EventBusCore();
          const filters = ['**', 'a.*', ['a', 'a.**']] as const;
          const subscribers = filters.map((filter) => {
            const slow = gate();
            const cut = noCounts();
            bus.subscribe(filter, slow.handler, { queue, ...slow.options });
            return { filter: [filter].flat(), slow, cut };
          });
          const published: EventEnvelope[] = [];
          for (const one of steps) {
            if (one === 'turn') await turn();
            else if ('settle' in one) await subscribers[one.settle]!.slow.next();
            else published.push(send(bus, one.topic, {}, one.priority));
          }
          for (let i = 0; i < 70; i++) for (const { slow } of subscribers) await slow.next();
          for (const { filter, slow } of subscribers) {
            const due = published.filter(({ topic }) => filter.some((one) => matchesTopic(one, topic)));
            const numbers = slow.got.map(({ seq }) => seq);
            assert.deepEqual(
              numbers,
              numbers.toSorted((a, b) => a - b),
            );
            const lost = [...slow.losses, ...slow.cuts];
            const end = slow.cuts[0]?.to ?? Number.POSITIVE_INFINITY;
            for (const priority of PRIORITIES) {
              const of = (events: readonly EventEnvelope[]) =>
                events.filter((event) => event.priority === priority && event.seq <= end).length;
              const told = lost.reduce((sum, { counts }) => sum + counts[priority], 0);
              assert.equal(of(slow.got) + told, of(due), priority);
            }
            if (slow.cuts.length === 0) assert.ok(lost.every(({ counts }) => counts.critical === 0));
          }
        },
      ),
      { numRuns: runs(60) },
    );
  });
});

function circular(): object {
  const self: Record<string, unknown> = {};
  self.self = self;
  return self;
}
