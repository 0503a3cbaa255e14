/**
 * For plugins that handle sound: WAV files, other rates, frames of a fixed size, queues with a bound, waiting without
 * drift, clauses, grammars.
 */
export { type Clause, clausesOf } from './clauses.ts';
export { waitUntil } from './clock.ts';
export { checkRules } from './jsgf.ts';
export { Latest } from './latest.ts';
export { NoiseFloor } from './noise-floor.ts';
export {
  bytesOfSamples,
  concatSamples,
  factorOf,
  msOf,
  Reblocker,
  SampleReader,
  samplesOfBytes,
  toSample,
} from './pcm.ts';
export { Resampler, resample } from './resampler.ts';
export { speakablePart } from './speakable.ts';
export { decodeWav, encodeWav, WAV_HEADER_BYTES, wavHeader } from './wav.ts';
