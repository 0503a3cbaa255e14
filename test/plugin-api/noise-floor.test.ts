import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { NoiseFloor } from '@device-core/plugin-api/audio';
import { FRAME_MS } from '@device-core/plugin-api/services/audio';
import fc from 'fast-check';
import { runs } from '../fixtures/runs.ts';

fc.configureGlobal({ numRuns: runs(100) });

const frames = (ms: number) => ms / FRAME_MS;

function after(floor: NoiseFloor, ms: number, level: (frame: number) => number): number {
  let now = Number.NaN;
  for (let frame = 0; frame < frames(ms); frame++) now = floor.follow(level(frame));
  return now;
}

describe('the noise floor', () => {
  it('is at the noise after three seconds, wherever it was before', () => {
    const level = fc.integer({ min: -90, max: -10 });
    fc.assert(
      fc.property(level, level, (before, noise) => {
        const floor = new NoiseFloor();
        assert.equal(floor.level, undefined);
        after(floor, 3_000, () => before);
        const now = after(floor, 3_000, (frame) => noise + (frame % 3) - 1);
        assert.ok(Math.abs(now - noise) <= 4, `${now} for ${noise} after ${before}`);
        assert.equal(floor.level, now);
      }),
    );
  });

  it('stays far below speech, which has gaps between words', () => {
    const floor = new NoiseFloor();
    after(floor, 3_000, () => -70);
    // A second of a word, a tenth of a gap that is not quite quiet.
    const now = after(floor, 20_000, (frame) => (frame % frames(1_100) < frames(1_000) ? -25 : -60));
    assert.ok(now <= -57, `${now}`);
  });

  it('falls within a moment', () => {
    const floor = new NoiseFloor();
    after(floor, 5_000, () => -30);
    assert.ok(after(floor, 400, () => -70) < -68);
  });

  it('rises as slowly as it is told while it may be speech', () => {
    const floor = new NoiseFloor(6);
    after(floor, 3_000, () => -70);
    const now = after(floor, 1_000, () => -20);
    assert.ok(now > -65 && now < -63, `${now}`);
  });
});
