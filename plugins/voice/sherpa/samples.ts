import { toSample } from '@device-core/plugin-api/audio';

/** sherpa wants -1..1. */
export function toFloats(samples: Int16Array): Float32Array {
  return Float32Array.from(samples, (sample) => sample / 32_768);
}

export function toInts(samples: Float32Array): Int16Array {
  return Int16Array.from(samples, (sample) => toSample(sample));
}
