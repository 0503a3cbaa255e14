/** Runs a plugin in a worker or a process of its own; the Core and createTestHost() share it. Not for plugins. */
export { type IsolatedOptions, isolatedPlugin } from './isolated.ts';
