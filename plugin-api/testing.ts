/** The door to the test kit. The kit is the kernel over one plugin, so it stands in the kernel's house; the packed package carries both. */
export * from '../kernel/testing/index.ts';
