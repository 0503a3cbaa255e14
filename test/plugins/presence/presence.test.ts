import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { PresenceState } from '../../../plugins/hardware/presence/presence.ts';
import { eventually, startBuses } from '../../fixtures/bus-core.ts';
import { runs } from '../../fixtures/runs.ts';

fc.configureGlobal({ numRuns: runs(100) });

after(leakCheck());

const SETTINGS = { confirmMs: 100, holdMs: 1_000 };

describe('presence', () => {
  it('comes after motion that lasts, and goes some time after the last of it', () => {
    const state = new PresenceState(SETTINGS);
    const story = [
      [0, undefined, 'unknown', 0],
      [10, false, 'absent', 1],
      [20, true, 'absent', 0.5],
      [60, false, 'absent', 1],
      [200, true, 'absent', 0.5],
      [300, true, 'present', 1],
      [400, false, 'present', 1],
      [700, false, 'present', 0.75],
      [1_300, false, 'present', 0.25],
      [1_350, true, 'present', 1],
      [1_400, false, 'present', 1],
      [2_400, false, 'absent', 1],
      [2_500, undefined, 'unknown', 0],
    ] as const;
    for (const [now, motion, expected, confidence] of story) {
      state.sense(motion, now);
      assert.deepEqual(state.at(now), { state: expected, confidence }, `at ${now}`);
    }
  });

  it('never says present without motion that lasted, nor absent within the hold, and says when it will change', () => {
    const step = fc.record({ after: fc.nat(400), motion: fc.option(fc.boolean(), { nil: undefined }) });
    fc.assert(
      fc.property(fc.array(step), (steps) => {
        const state = new PresenceState(SETTINGS);
        let now = 0;
        let lastMotion = Number.NEGATIVE_INFINITY;
        let moving = false;
        for (const { after: ms, motion } of steps) {
          const before = state.at(now);
          const next = state.next(now);
          now += ms;
          if (moving) lastMotion = now;
          if (now < next) assert.deepEqual(state.at(now), before, 'nothing changes before it said it would');
          const expected = state.at(now);
          if (expected.state === 'present') assert.ok(now - lastMotion < SETTINGS.holdMs);
          state.sense(motion, now);
          moving = motion === true;
          if (moving) lastMotion = now;
          const { state: known, confidence } = state.at(now);
          assert.equal(known === 'unknown', motion === undefined);
          assert.ok(confidence >= 0 && confidence <= 1);
        }
      }),
    );
  });

  it('is told on the bus from a line of the bridge, and is unknown while the bridge is away', async () => {
    const door = { name: 'pir', endpoint: 'gpio0', line: 20, direction: 'in', edge: 'both', pull: 'down' };
    await using device = await startBuses({
      gpio: { version: '^1.0.0', config: { handles: [door] } },
      sensors: '^1.0.0',
      presence: { version: '^1.0.0', config: { handle: 'pir', confirmMs: 20, holdMs: 300, checkMs: 100 } },
    });
    const present = async () =>
      (await device.call<{ values: { present: number } }>('sensors.read', { name: 'presence' })).values.present;
    const becomes = (value: number) =>
      eventually(`presence ${value}`, async () => ((await present()) === value ? true : undefined));
    await becomes(0);
    await device.sim.ask({ drive: { endpoint: 'gpio0', line: 20, level: 1 } });
    await becomes(1);
    await device.sim.ask({ drive: { endpoint: 'gpio0', line: 20, level: 0 } });
    await becomes(0);
    await device.sim.ask({ mute: { muted: true } });
    await becomes(-1);
    await device.sim.ask({ mute: { muted: false } });
    await becomes(0);
  });
});
