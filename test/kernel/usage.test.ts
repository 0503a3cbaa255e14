import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { definePlugin, FOR_USER } from '@device-core/plugin-api';
import { createTestHost } from '@device-core/plugin-api/testing';
import { UsageBoard, viewFor } from '../../kernel/usage/usage.ts';
import { pace } from '../fixtures/eventually.ts';

const spin = (ms: number) => {
  for (const end = performance.now() + ms; performance.now() < end; );
};

describe('the usage board', () => {
  it('counts nested callbacks for their own plugins, however deep, and never more than the time that passed', () => {
    const board = new UsageBoard();
    const [a, b] = [board.of('a'), board.of('b')];
    const inner = a.measured('event', () => spin(4));
    const middle = b.measured('hook', () => {
      spin(4);
      inner();
      inner();
      spin(4);
    });
    const began = performance.now();
    a.measured('operation', () => {
      spin(4);
      middle();
    })();
    const passed = performance.now() - began;
    const { callbacks } = a.usage();
    assert.deepEqual([callbacks.operation.calls, callbacks.event.calls, b.usage().callbacks.hook.calls], [1, 2, 1]);
    assert.ok(callbacks.event.busyMs >= 8 && b.busyMs >= 8 && callbacks.operation.busyMs >= 4);
    const sum = a.busyMs + b.busyMs;
    assert.ok(Math.abs(sum - board.busyMs) < 0.01 && sum <= passed + 0.01, `${passed} ${sum}`);
  });

  it('counts a callback that throws, and one in a row from the end of the one before', () => {
    const board = new UsageBoard();
    const meter = board.of('a');
    assert.throws(
      meter.measured('timer', () => {
        throw new Error('boom');
      }),
    );
    board.row(performance.now());
    spin(3);
    for (let i = 0; i < 3; i++) {
      const mark = meter.enterNext();
      spin(1);
      meter.leave('event', mark);
    }
    board.row(0);
    const mark = meter.enterNext();
    meter.leave('event', mark);
    const { timer, event } = meter.usage().callbacks;
    assert.deepEqual([timer.calls, event.calls], [1, 4]);
    assert.ok(event.busyMs >= 6);
  });

  it('tells what takes long, by the lesser of ten milliseconds and the budget', () => {
    const board = new UsageBoard();
    const told: [string, string][] = [];
    board.onLong = ({ plugin }, kind) => told.push([plugin, kind]);
    board.of('strict').limit({ stallMs: 3 });
    board.of('strict').measured('timer', () => spin(4))();
    board.of('usual').measured('hook', () => spin(11))();
    board.of('usual').measured('hook', () => undefined)();
    assert.deepEqual(told, [
      ['strict', 'timer'],
      ['usual', 'hook'],
    ]);
    assert.deepEqual(board.of('strict').usage().budget, { stallMs: 3, busyPercent: 25 });
  });

  it('gives a service as it is to a user that it does not ask for', () => {
    const meter = new UsageBoard().of('a');
    const plain = {};
    assert.equal(viewFor(plain, meter), plain);
    assert.deepEqual(viewFor({ [FOR_USER]: (user: { plugin: string }) => ({ of: user.plugin }) }, meter), { of: 'a' });
  });
});

it('the test host counts what the host of a device counts', async () => {
  const plugin = definePlugin({
    setup(host) {
      host.bus.subscribe('test.topic', () => spin(2));
      host.scope.timeout('t', 1, () => spin(2));
      host.tap('kernel.ready', () => spin(2));
    },
  });
  const manifest = {
    id: 'probe',
    version: '1.0.0',
    summary: 'probe',
    api: '^1.0.0',
    main: '.',
    taps: ['kernel.ready'],
  };
  await using host = await createTestHost(plugin, { manifest });
  host.publish('test.topic', {});
  await host.hook('kernel.ready').promise();
  await pace(20);
  const { callbacks } = host.usage();
  assert.deepEqual(
    (['event', 'timer', 'hook', 'lifecycle'] as const).map((kind) => callbacks[kind].calls),
    [1, 1, 1, 1],
  );
});
