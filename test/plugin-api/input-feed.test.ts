import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { FEED_LIMITS, InputFeed } from '@device-core/plugin-api/input';
import type { InputEvent, TouchInput } from '@device-core/plugin-api/services/input';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { RecordingInputs, wellFormed } from '../contracts/input.ts';
import { turns } from '../fixtures/eventually.ts';
import { runs } from '../fixtures/runs.ts';

after(leakCheck());

const DESCRIPTION = { id: 'test', touch: true, keys: ['ok', 'knob'], injected: false };
const touch = (id: number, phase: TouchInput['phase'], x = 0, at = 0): TouchInput => ({
  kind: 'touch',
  id,
  phase,
  x,
  y: 0,
  at,
});

async function feeding() {
  const inputs = new RecordingInputs();
  return { inputs, feed: await InputFeed.open(inputs, DESCRIPTION) };
}

describe('a feed of input', () => {
  it('passes on at once what comes alone', async () => {
    const { inputs, feed } = await feeding();
    feed.add(touch(1, 'down'));
    await feed.settled();
    feed.add(touch(1, 'up'));
    await feed.settled();
    assert.equal(inputs.pushes.length, 2);
  });

  it('keeps the last place of a finger while the registry is busy, and the sum of a knob', async () => {
    const { inputs, feed } = await feeding();
    inputs.hold();
    feed.add(touch(1, 'down'));
    for (let x = 1; x <= 5_000; x++) feed.add(touch(1, 'move', x, x));
    for (let turn = 0; turn < 5_000; turn++) feed.add({ kind: 'rotary', name: 'knob', delta: 1, at: 5_000 });
    inputs.release();
    await feed.settled();
    assert.deepEqual(
      inputs.events.map((event) => (event.kind === 'touch' ? event.x : event.kind === 'rotary' && event.delta)),
      [0, 5_000, 5_000],
    );
  });

  it('leaves out what begins when too many wait, with its end, and counts it', async () => {
    const { inputs, feed } = await feeding();
    inputs.hold();
    for (let tap = 0; tap < 10_000; tap++)
      for (const phase of ['down', 'up'] as const) feed.add(touch(1, phase, 0, tap));
    inputs.release();
    await feed.settled();
    wellFormed(inputs);
    const told = inputs.touches.filter(({ phase }) => phase === 'down').length;
    assert.equal(told + feed.report.lost, 10_000);
    assert.ok(inputs.events.length <= FEED_LIMITS.queue + 2 * FEED_LIMITS.held + 2);
  });

  it('lifts a finger that never is, where there are too many of them', async () => {
    const { inputs, feed } = await feeding();
    for (let finger = 0; finger < 1_000; finger++) {
      feed.add(touch(finger, 'down'));
      await feed.settled();
    }
    wellFormed(inputs);
    const count = (wanted: string) => inputs.touches.filter(({ phase }) => phase === wanted).length;
    assert.equal(count('down') - count('cancel'), FEED_LIMITS.held);
  });

  it('forgets what was down when its device goes, and tells why the registry refuses', async () => {
    const { inputs, feed } = await feeding();
    feed.add(touch(1, 'down'));
    await feed.problem('gone');
    feed.add(touch(1, 'up'));
    await feed.settled();
    assert.equal(inputs.touches.length, 1);
    inputs.refuse(1);
    feed.add(touch(2, 'down'));
    await feed.settled();
    assert.deepEqual(feed.report, { lost: 1, problem: 'refused by the test' });
    feed.add(touch(2, 'up'));
    await feed.settled();
    assert.deepEqual(feed.report, { lost: 1 });
  });

  it('any records, with a registry of any load: no end without a beginning, each beginning ended once', async () => {
    const event = fc.oneof(
      fc.record({
        kind: fc.constant('touch'),
        id: fc.nat(40),
        phase: fc.constantFrom('down', 'move', 'up', 'cancel'),
        x: fc.nat(720),
        y: fc.nat(720),
      }),
      fc.record({
        kind: fc.constant('key'),
        name: fc.constantFrom('ok', 'back'),
        phase: fc.constantFrom('down', 'up', 'repeat'),
      }),
      fc.record({ kind: fc.constant('rotary'), name: fc.constant('knob'), delta: fc.constantFrom(-1, 1) }),
    );
    const step = fc.oneof(
      { weight: 20, arbitrary: event },
      { weight: 1, arbitrary: fc.constantFrom('hold', 'release', 'gone') },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 400 }), async (steps) => {
        const { inputs, feed } = await feeding();
        let at = 0;
        const down = new Set<string>();
        for (const one of steps) {
          if (one === 'hold') inputs.hold();
          else if (one === 'release') inputs.release();
          else if (one === 'gone') {
            inputs.release();
            await feed.settled();
            for (const known of down) down.delete(known);
            await feed.problem('gone');
            inputs.pushes.length = 0;
          } else {
            const fresh = { ...(one as object), at: ++at } as InputEvent;
            // A device tells `down` of what is up.
            if (fresh.kind !== 'rotary' && fresh.phase === 'down') {
              const name = fresh.kind === 'touch' ? `${fresh.id}` : fresh.name;
              if (down.has(name)) continue;
              down.add(name);
            } else if (fresh.kind !== 'rotary' && fresh.phase !== 'move' && fresh.phase !== 'repeat')
              down.delete(fresh.kind === 'touch' ? `${fresh.id}` : fresh.name);
            feed.add(fresh);
          }
          if (at % 50 === 0) await turns(1);
        }
        inputs.release();
        await feed.settled();
        wellFormed(inputs);
      }),
      { numRuns: runs(200) },
    );
  });
});
