/** For plugins that handle sound: WAV files, other rates, frames of a fixed size, queues with a bound, waiting without drift, clauses. */
export * from './clauses.ts';
export * from './clock.ts';
export * from './latest.ts';
export * from './pcm.ts';
export * from './resampler.ts';
export * from './wav.ts';
