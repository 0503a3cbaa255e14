import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { Cleaner } from '../../../plugins/voice/soundswallower/cleaner.ts';
import { Spectrum } from '../../../plugins/voice/soundswallower/spectrum.ts';
import { runs } from '../../fixtures/runs.ts';
import { type Colour, join, noise, say, silence } from '../../fixtures/speech.ts';

fc.configureGlobal({ numRuns: runs(100) });

const FRAME = 320;
/** Samples by which what comes out is late. */
const LATE = 160;

function cleaned(samples: Int16Array): Float32Array {
  const cleaner = new Cleaner();
  const out = new Float32Array(samples.length);
  for (let from = 0; from + FRAME <= samples.length; from += FRAME)
    out.set(cleaner.clean(samples.subarray(from, from + FRAME)), from);
  return out;
}

function level(samples: ArrayLike<number>, from: number, to: number): number {
  let sum = 0;
  for (let index = from; index < to; index++) sum += samples[index]! ** 2;
  return 10 * Math.log10(sum / (to - from) + 1e-12);
}

/** Decibels of what is wrong in it. */
function errorOf(out: ArrayLike<number>, late: number, said: Int16Array): number {
  const wrong = Float32Array.from(
    { length: said.length - late },
    (_, index) => out[index + late]! - said[index]! / 32_768,
  );
  return level(wrong, FRAME, wrong.length - FRAME);
}

describe('the cleaner', () => {
  for (const colour of ['white', 'pink', 'brown', 'hum'] as const satisfies readonly Colour[])
    it(`leaves little of ${colour} noise, and more of the speech in it than of the noise`, async () => {
      const said = join(silence(400), await say('what is on my agenda today'), silence(400));
      const around = noise(colour, Math.ceil(said.length / 16), 600);
      const heard = said.map((sample, index) => sample + around[index]!);
      const out = cleaned(heard);
      const before =
        level(
          heard.map((sample) => sample),
          FRAME,
          5_000,
        ) -
        20 * Math.log10(32_768);
      assert.ok(level(out, 3 * FRAME, 5_000) < before - 10, 'the noise before it is 10 dB softer');
      const noisy = Float32Array.from(heard, (sample) => sample / 32_768);
      assert.ok(errorOf(out, LATE, said) < errorOf(noisy, 0, said) - 2, 'and speech is nearer to what was said');
    });

  it('leaves speech in a quiet room as it is', async () => {
    const said = join(silence(400), await say('what is on my agenda today'), silence(400));
    assert.ok(errorOf(cleaned(said), LATE, said) < level(said, 0, said.length) - 20 * Math.log10(32_768) - 40);
  });

  it('makes no sound of silence', () => {
    assert.ok(cleaned(silence(200)).every((sample) => Math.abs(sample) < 1e-6));
  });
});

describe('the spectrum', () => {
  it('of anything is that of a slow transform, and leads back to it', () => {
    const size = 32;
    const sample = fc.float({ min: -1, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.array(sample, { minLength: size, maxLength: size }), (samples) => {
        const [re, im] = [Float32Array.from(samples), new Float32Array(size)];
        const spectrum = new Spectrum(size);
        spectrum.forward(re, im);
        for (let bin = 0; bin < size; bin++) {
          let [sumRe, sumIm] = [0, 0];
          for (const [index, value] of samples.entries()) {
            sumRe += value * Math.cos((2 * Math.PI * bin * index) / size);
            sumIm -= value * Math.sin((2 * Math.PI * bin * index) / size);
          }
          assert.ok(Math.abs(re[bin]! - sumRe) < 1e-4 && Math.abs(im[bin]! - sumIm) < 1e-4);
        }
        spectrum.inverse(re, im);
        for (const [index, value] of samples.entries())
          assert.ok(Math.abs(re[index]! - value) < 1e-5 && Math.abs(im[index]!) < 1e-5);
      }),
    );
  });
});
