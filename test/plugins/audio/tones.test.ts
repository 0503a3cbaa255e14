import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ToneSpec } from '@device-core/plugin-api/services/audio';
import fc from 'fast-check';
import { duckedBy, Mixer } from '../../../plugins/voice/audio/mixer.ts';
import { checkTones, FEEDBACK, samplesOf } from '../../../plugins/voice/audio/tones.ts';
import { runs } from '../../fixtures/runs.ts';

fc.configureGlobal({ numRuns: runs(100) });

const RATE = 48_000;

describe('tones', () => {
  it('have the length, the pitch and the loudness that was asked for', () => {
    for (const wave of ['sine', 'square', 'triangle'] as const) {
      const samples = samplesOf({ frequency: 500, ms: 200, wave }, RATE);
      assert.equal(samples.length, 9_600);
      let rising = 0;
      for (let index = 1; index < samples.length; index++)
        if (samples[index - 1]! < 0 && samples[index]! >= 0) rising++;
      assert.ok(Math.abs(rising - 100) <= 1, `${wave}: ${rising} periods`);
      const peak = samples.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      assert.ok(peak > 12_000 && peak < 20_000, `${wave}: ${peak}`);
    }
  });

  it('begin and end without a click, with any envelope', () => {
    const spec = fc.record({
      frequency: fc.integer({ min: 20, max: 20_000 }),
      ms: fc.integer({ min: 4, max: 300 }),
      attackMs: fc.integer({ min: 2, max: 400 }),
      releaseMs: fc.integer({ min: 2, max: 400 }),
      gain: fc.double({ min: 0, max: 1, noNaN: true }),
      wave: fc.constantFrom('sine', 'square', 'triangle'),
    }) as fc.Arbitrary<ToneSpec>;
    fc.assert(
      fc.property(spec, (tone) => {
        const samples = samplesOf(tone, RATE);
        assert.equal(samples.length, Math.round((tone.ms * RATE) / 1_000));
        assert.ok(Math.abs(samples[0]!) < 2_500 && Math.abs(samples.at(-1)!) < 2_500);
      }),
      { numRuns: runs(60) },
    );
  });

  it('of feedback are ones that may be played', () => {
    for (const tones of Object.values(FEEDBACK)) checkTones(tones);
  });

  it('that are out of range are refused', () => {
    for (const wrong of [{ frequency: -1 }, { frequency: Number.NaN }, { ms: 0 }, { gain: 2 }, { attackMs: -1 }])
      assert.throws(() => checkTones([{ frequency: 440, ms: 100, ...wrong }]), { code: 'PARAMS_INVALID' });
  });
});

describe('the mixer', () => {
  const priority = fc.constantFrom('media', 'notification', 'speech', 'alarm');

  it('never goes beyond full scale, and is silent without a sound', () => {
    const voice = fc.record({
      priority,
      gain: fc.double({ min: 0, max: 1, noNaN: true }),
      samples: fc.int16Array({ minLength: 0, maxLength: 40 }),
    });
    fc.assert(
      fc.property(fc.array(voice, { maxLength: 8 }), fc.double({ min: 0, max: 1, noNaN: true }), (list, volume) => {
        const mixer = new Mixer(18, volume);
        const voices = list.map((one) => ({
          ...one,
          level: undefined,
          take: (count: number) => one.samples.subarray(0, count),
        }));
        const block = mixer.mix(voices as never, 32);
        assert.equal(block.length, 32);
        if (list.length === 0) assert.ok(block.every((value) => value === 0));
        // Nothing turns over: what all say with one sign has that sign.
        for (let index = 0; index < 32; index++) {
          const values = list.map(({ samples }) => samples[index] ?? 0);
          if (values.every((value) => value >= 0)) assert.ok(block[index]! >= 0);
          if (values.every((value) => value <= 0)) assert.ok(block[index]! <= 0);
        }
      }),
    );
  });

  it('softens lower sounds alone', () => {
    assert.equal(duckedBy('speech', 'speech', 18), 1);
    assert.equal(duckedBy('alarm', 'speech', 18), 1);
    assert.ok(Math.abs(duckedBy('media', 'speech', 18) - 0.1259) < 0.001);
    assert.ok(duckedBy('media', 'notification', 18) > duckedBy('media', 'speech', 18));
    assert.ok(Math.abs(duckedBy('speech', 'alarm', 18) - 0.1259) < 0.001);
  });
});
