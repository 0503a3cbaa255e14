/** Test kit of plugins: one plugin in a separate host, the check of its manifest, the leak check of a suite. */

export { type GivenService, given } from './given.ts';
export type { TestGrants } from './grants.ts';
export { createTestHost, type TestHost, type TestHostOptions } from './host.ts';
export { ISOLATED_VARIABLE, ISOLATION_VARIABLE, LEVELS, refusal } from './isolation.ts';
export { leakCheck } from './leak-check.ts';
export type { LogLine } from './log.ts';
export { checkManifest, readManifest } from './manifest.ts';
export { OPERATOR, TestOperations } from './operations.ts';
export { VirtualClock, type VirtualClockOptions, virtualClock } from './virtual-clock.ts';
