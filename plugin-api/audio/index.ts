/** For plugins that handle sound: WAV files, other rates, frames of a fixed size, queues with a bound, waiting without drift, clauses, grammars. */
export * from './clauses.ts';
export * from './clock.ts';
export * from './jsgf.ts';
export * from './latest.ts';
export * from './noise-floor.ts';
export * from './pcm.ts';
export * from './resampler.ts';
export * from './until-aborted.ts';
export * from './wav.ts';
