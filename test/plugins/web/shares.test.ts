/** Answers that the parts of a page share: one request for all, a new one after each change, none for what is younger. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Answered, Shares, type Shown } from '../../../plugins/interface/web/ui/core/shares.ts';
import { runs } from '../../fixtures/runs.ts';

/** A device whose answers come when they are let go. */
class Device {
  now = 10_000;
  readonly shares = new Shares(() => this.now);
  readonly asked: PromiseWithResolvers<Answered>[] = [];
  readonly aborted: AbortSignal[] = [];

  part(key = '/plugins') {
    const seen: Shown[] = [];
    const ask = (signal: AbortSignal) => {
      this.aborted.push(signal);
      const answer = Promise.withResolvers<Answered>();
      this.asked.push(answer);
      return answer.promise;
    };
    return { seen, ...this.shares.join(key, ask, (shown) => seen.push(shown)) };
  }

  /** `at`: when the device says that it made the answer. */
  async answer(which: number, value: unknown, at?: number): Promise<void> {
    this.asked[which]!.resolve({ value, at });
    await new Promise(setImmediate);
  }

  async fail(which: number, reason: string): Promise<void> {
    this.asked[which]!.reject(new Error(reason));
    await new Promise(setImmediate);
  }
}

const last = ({ seen }: { readonly seen: readonly Shown[] }) => seen.at(-1)?.data;

describe('answers that parts of a page share', () => {
  test('one request serves all that ask while it is pending, and who comes within a second', async () => {
    const device = new Device();
    const parts = [device.part(), device.part()];
    await device.answer(0, 'a');
    device.now += 999;
    parts.push(device.part());
    assert.equal(device.asked.length, 1);
    assert.deepEqual(parts.map(last), ['a', 'a', 'a']);
    device.now += 1;
    device.part();
    assert.equal(device.asked.length, 2);
    await device.answer(1, 'b');
    assert.deepEqual(parts.map(last), ['b', 'b', 'b']);
  });

  test('another address has a request for itself', () => {
    const device = new Device();
    device.part('/plugins');
    device.part('/health');
    assert.equal(device.asked.length, 2);
  });

  test('a change during a request leads to one more, whose answer all get', async () => {
    const device = new Device();
    const parts = [device.part(), device.part()];
    for (const one of parts) one.reload();
    assert.equal(device.asked.length, 1);
    await device.answer(0, 'before the change');
    assert.equal(device.asked.length, 2);
    await device.answer(1, 'after it');
    assert.deepEqual(parts.map(last), ['after it', 'after it']);
    assert.equal(device.asked.length, 2);
  });

  for (const [what, at, since, requests] of [
    ['older than the answer asks for nothing', 5_000, 4_999, 1],
    ['of the same second as the answer asks again', 5_000, 5_000, 2],
    ['after the answer asks again', 5_000, 5_001, 2],
    ['asks again where the device named no time', undefined, 1, 2],
    ['without a time asks again', 5_000, undefined, 2],
  ] as const)
    test(`an event ${what}, while the request is pending as after it`, async () => {
      for (const pending of [true, false]) {
        const device = new Device();
        const part = device.part();
        if (pending) part.reload(since);
        await device.answer(0, 'x', at);
        if (!pending) part.reload(since);
        assert.equal(device.asked.length, requests, String(pending));
      }
    });

  test('an error keeps the last value, and is asked again when plugins came', async () => {
    const device = new Device();
    const [part, other] = [device.part('/apps'), device.part('/health')];
    await device.answer(0, 'apps', 1_000);
    await device.answer(1, 'well', 1_000);
    part.reload();
    await device.fail(2, 'there is no operation /apps');
    assert.equal(last(part), 'apps');
    assert.match(String(part.seen.at(-1)?.error), /no operation/);
    device.shares.reload('failed');
    assert.equal(device.asked.length, 4);
    await device.answer(3, 'apps again', 2_000);
    assert.deepEqual(part.seen.at(-1), { data: 'apps again' });
    assert.equal(other.seen.length, 1);
  });

  test('an event that is older than a failed answer does not leave the error', async () => {
    const device = new Device();
    const part = device.part();
    await device.fail(0, 'gone');
    part.reload(1);
    await device.answer(1, 'here');
    assert.deepEqual(part.seen.at(-1), { data: 'here' });
  });

  test('all are asked again when the device is back', async () => {
    const device = new Device();
    device.part('/a');
    device.part('/b');
    await device.answer(0, 1);
    await device.answer(1, 2);
    device.shares.reload('all');
    assert.equal(device.asked.length, 4);
  });

  test('the last one that leaves ends the request, and nothing is kept or called afterwards', async () => {
    const device = new Device();
    const [one, two] = [device.part(), device.part()];
    one.leave();
    assert.equal(device.aborted[0]?.aborted, false);
    two.leave();
    assert.equal(device.aborted[0]?.aborted, true);
    await device.answer(0, 'late');
    one.reload();
    assert.deepEqual([one.seen, two.seen, device.shares.size, device.asked.length], [[], [], 0, 1]);
  });

  test('parts that come, go and reload in any order end with the newest answer, and leave nothing', async () => {
    const step = fc.oneof(
      fc.record({ do: fc.constant('join' as const), key: fc.constantFrom('/a', '/b') }),
      fc.record({ do: fc.constantFrom('leave' as const, 'reload' as const), which: fc.nat(9) }),
      fc.record({ do: fc.constant('answer' as const), fails: fc.boolean() }),
      fc.record({ do: fc.constant('wait' as const), ms: fc.nat(1_500) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const device = new Device();
        const parts: ReturnType<Device['part']>[] = [];
        let answered = 0;
        let version = 0;
        const settle = async (fails: boolean) => {
          if (answered >= device.asked.length) return;
          await (fails ? device.fail(answered, 'no') : device.answer(answered, version));
          answered += 1;
        };
        for (const one of steps) {
          if (one.do === 'join') parts.push(device.part(one.key));
          else if (one.do === 'wait') device.now += one.ms;
          else if (one.do === 'answer') await settle(one.fails);
          else if (one.do === 'leave') parts.splice(one.which, 1)[0]?.leave();
          else parts[one.which]?.reload();
        }
        // The device changes for the last time, and all are told.
        version += 1;
        for (const part of parts) part.reload();
        while (answered < device.asked.length) await settle(false);
        for (const part of parts) assert.deepEqual(part.seen.at(-1), { data: version });
        for (const part of parts) part.leave();
        device.now += 10_000;
        device.part('/c').leave();
        assert.equal(device.shares.size, 0);
      }),
      { numRuns: runs(200) },
    );
  });
});
