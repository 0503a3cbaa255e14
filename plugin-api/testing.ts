/** The door to the test kit. The kit is the kernel over one plugin, so it stands in the kernel's house; the packed package carries both. */
export {
  checkManifest,
  createTestHost,
  type GivenService,
  given,
  ISOLATION_VARIABLE,
  LEVELS,
  type LogLine,
  leakCheck,
  OPERATOR,
  readManifest,
  refusal,
  TestGrants,
  type TestHost,
  type TestHostOptions,
  TestOperations,
} from '../kernel/testing/index.ts';
