/** WebRTC's detector behind a high-pass. One instance for each stream of frames. */

import { CoreError } from '@device-core/plugin-api';
import { NoiseFloor } from '@device-core/plugin-api/audio';
import { type AudioFrame, CAPTURE_RATE, FRAME_SAMPLES } from '@device-core/plugin-api/services/audio';
import type { VadEngine, VadResult } from '@device-core/plugin-api/services/speech';
import type { Fvad } from '@echogarden/fvad-wasm';
import { HighPass } from './high-pass.ts';

export interface Settings {
  /** 0 lets much pass as speech, 3 little. */
  readonly aggressiveness: number;
  readonly highPassHz: number;
  /** Decibels over the noise below which nothing is speech, whatever it sounds like; 0 leaves it to the detector. */
  readonly marginDb: number;
}

/** The detector says yes or no: how sure it is shows in how it judged the frames before. */
const MEMORY = 0.6;

export function fvadEngine(fvad: Fvad, { aggressiveness, highPassHz, marginDb }: Settings): VadEngine {
  return {
    async *detect(frames: AsyncIterable<AudioFrame>, { signal }): AsyncGenerator<VadResult, void, undefined> {
      const vad = fvad._fvad_new();
      const address = vad === 0 ? 0 : fvad._malloc(2 * FRAME_SAMPLES);
      const filter = new HighPass(highPassHz, CAPTURE_RATE);
      const passed = new Int16Array(FRAME_SAMPLES);
      let probability = 0;
      const floor = new NoiseFloor();
      try {
        if (address === 0) throw failed('it has no memory left');
        if (fvad._fvad_set_mode(vad, aggressiveness) !== 0) throw failed(`it knows no mode ${aggressiveness}`);
        if (fvad._fvad_set_sample_rate(vad, CAPTURE_RATE) !== 0) throw failed(`it knows no rate ${CAPTURE_RATE}`);
        for await (const { seq, samples } of frames) {
          if (signal.aborted) return;
          if (samples.length !== FRAME_SAMPLES) throw failed(`a frame has ${samples.length} samples`);
          filter.run(samples, passed);
          fvad.HEAP16.set(passed, address / 2);
          const judged = fvad._fvad_process(vad, address, FRAME_SAMPLES);
          if (judged < 0) throw failed('it does not take the frame');
          // In loud noise that never changes the detector says yes for ever.
          const level = decibels(passed);
          const over = level - floor.follow(level);
          const speech = judged === 1 && (marginDb === 0 || over > marginDb);
          probability = MEMORY * probability + (speech ? 1 - MEMORY : 0);
          yield { seq, speech, probability };
        }
      } finally {
        if (address !== 0) fvad._free(address);
        if (vad !== 0) fvad._fvad_free(vad);
      }
    },
  };
}

function decibels(samples: Int16Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample ** 2;
  return 10 * Math.log10(sum / samples.length + 1);
}

function failed(reason: string): CoreError {
  return new CoreError('SPEECH_FAILED', { engine: 'fvad', reason });
}
