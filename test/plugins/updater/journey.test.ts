/** Updates from their beginning to their end, and what becomes of them when the Core ends on the way. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { eventually } from '../../fixtures/eventually.ts';
import { codeOf } from '../../fixtures/operation-calls.ts';
import { Device, TWO_GOOD } from './device.ts';

after(leakCheck());

describe('an update from a folder', () => {
  it('is staged, started, judged and found good', async () => {
    await using device = await new Device().start();
    const begun = await device.run('install', { source: device.image() });
    assert.equal(begun.version, '1.1.0');
    await device.restarts();
    assert.equal(device.kept.update.state, 'activating');
    await device.restart();
    await device.becomes('probation');
    const good = await device.reaches('good');
    assert.equal(good.version, '1.1.0');
    assert.equal(device.slots.record.slots.b.state, 'good');
    assert.equal(device.slots.record.floor.version, '1.1.0');
    const { history } = await eventually(async () => {
      const found = await device.run<{ history: { state: string; by?: string }[] }>('history', {});
      return found.history[0]?.state === 'good' && found;
    }, 'the last line of the history');
    assert.deepEqual(
      history.map(({ state }) => state),
      ['good', 'probation', 'activating', 'staged', 'verifying', 'downloading', 'available'],
    );
    assert.equal(history.at(-1)?.by, 'operator');
  });

  it('comes back when the gate says no, and is not taken by itself again', async () => {
    await using device = await new Device({}, { record: TWO_GOOD }).start();
    const source = device.image();
    await device.run('install', { source });
    await device.restarts();
    await device.restart();
    device.world.errors.push('display');
    await device.restarts();
    const back = await device.becomes('rolled-back');
    assert.match(back.reason ?? '', /^component: display is in error/);
    assert.equal(device.slots.record.slots.b.state, 'bad');
    device.world.errors.length = 0;
    await device.restart();
    const seen = await device.status();
    assert.equal(seen.state, 'rolled-back');
    assert.equal((seen.running as { version: string }).version, '1.0.0');
  });

  it('is taken back by hand, and refused where the other slot is empty', async () => {
    await using device = await new Device().start();
    assert.equal(await codeOf(device.run('rollback', {})), 'SLOTS_UNAVAILABLE');
    await device.run('install', { source: device.image() });
    await device.restarts();
    await device.restart();
    await device.reaches('good');
    const going = device.run('rollback', { reason: 'I liked it better' });
    await device.restarts();
    assert.equal((await going).state, 'rolled-back');
    await device.restart();
    const seen = await device.status();
    assert.deepEqual([seen.state, seen.reason], ['rolled-back', 'I liked it better']);
    assert.deepEqual([seen.version, seen.from], ['1.1.0', '1.0.0']);
    assert.equal((seen.running as { version: string }).version, '1.0.0');
    // And once more: now the other one is left.
    const again = device.run('rollback', { reason: 'it was the better one' });
    await device.restarts();
    await again;
    await device.restart();
    const forth = await device.status();
    assert.deepEqual([forth.version, forth.from], ['1.0.0', '1.1.0']);
    assert.equal((forth.running as { version: string }).version, '1.1.0');
    const { history } = await device.run<{ history: { state: string; version: string; from: string }[] }>('history');
    assert.deepEqual(
      history.filter(({ state }) => state === 'rolled-back').map(({ version, from }) => [version, from]),
      [
        ['1.0.0', '1.1.0'],
        ['1.1.0', '1.0.0'],
      ],
    );
  });
});
