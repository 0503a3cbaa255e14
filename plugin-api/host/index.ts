/** The machinery of a host of plugins: the kernel and createTestHost() share it, so that a test sees what a device does. Not for plugins. */
export * from './deadline.ts';
export * from './event-bus.ts';
export * from './event-queue.ts';
export * from './freeze.ts';
export * from './grants.ts';
export * from './hooks.ts';
export * from './payload-size.ts';
export * from './scope.ts';
export * from './topic-index.ts';
export * from './usage.ts';
