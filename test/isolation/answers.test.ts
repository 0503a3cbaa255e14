/** Answers to a guest that come together: each costs time, and others have turns between them. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { MessageChannel } from 'node:worker_threads';
import { CoreError, type Logger } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import { threadPort } from '../../kernel/isolation/ports.ts';
import { Peer } from '../../kernel/isolation/remote/index.ts';
import { eventually } from '../fixtures/eventually.ts';

after(leakCheck());

const quiet = () => undefined;
const log: Logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };
const over = new CoreError('CANCELLED', { what: 'the test', reason: 'it is over' });
const CALLS = 60;
/** One answer a turn, which the encoder looks at twice and the port once. */
const READS = 4;

/** A guest and the Core, where time is what `meter.ms` says, and `method` answers when the gate opens. */
function border(answer: (meter: { ms: number }, n: number) => unknown) {
  const meter = { ms: 0 };
  const gate = Promise.withResolvers<void>();
  const asked: number[] = [];
  const method = async (n: number) => {
    asked.push(n);
    await gate.promise;
    return answer(meter, n);
  };
  const { port1, port2 } = new MessageChannel();
  const guest = new Peer(threadPort(port1, assert.ifError), {
    name: 'the Core',
    root: {},
    log,
    onBreach: assert.ifError,
  });
  const core = new Peer(threadPort(port2, assert.ifError), {
    name: 'plugin guest',
    root: { method },
    log,
    onBreach: assert.ifError,
    turns: { ms: 1, onSpent: quiet, now: () => meter.ms },
  });
  return { guest, core, gate, asked };
}

describe('answers that come together', () => {
  it('have turns of their own, and keep their order', async () => {
    let made = 0;
    let most = 0;
    const { guest, core, gate, asked } = border((meter, n) => ({
      n,
      // An answer is read while it is encoded.
      get cost() {
        meter.ms += 2;
        most = Math.max(most, ++made);
        return n;
      },
    }));
    const calls = Array.from({ length: CALLS }, (_, n) => guest.call<{ n: number }>('method', n));
    await eventually(() => asked.length === CALLS, 'all calls');
    let next = setImmediate(function turn() {
      made = 0;
      next = setImmediate(turn);
    });
    gate.resolve();
    const order: number[] = [];
    await Promise.all(calls.map((call) => call.then(({ n }) => void order.push(n))));
    clearImmediate(next);
    guest.close(over);
    core.close(over);
    assert.deepEqual(order, asked);
    assert.ok(most <= READS, `${most} reads of answers of 2 ms in one turn of 1 ms`);
  });

  it('are given up when the border falls, and objects that they would have lent are disposed of', async () => {
    let disposed = 0;
    const { guest, core, gate, asked } = border((meter) => {
      meter.ms += 5;
      return { [Symbol.dispose]: () => void disposed++ };
    });
    const calls = Promise.allSettled(Array.from({ length: CALLS }, () => guest.call('method')));
    await eventually(() => asked.length === CALLS, 'all calls');
    gate.resolve();
    await null;
    core.close(over);
    guest.close(over);
    await calls;
    await eventually(() => disposed === CALLS, 'the end of all that was lent');
  });
});
