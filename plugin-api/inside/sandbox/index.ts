/**
 * The walls of a guest as data: what it may see, and what the system is told to enforce of it. Pure; the kernel's
 * launcher runs with it.
 */

export { GROUP_NAME, isPlain, type SandboxFiles, type SandboxSpec, specProblem } from '../../contract/run-spec.ts';
export {
  asUser,
  type BwrapFile,
  type BwrapOptions,
  bwrapCommandOf,
  bwrapOf,
  FORWARDER,
  type Forwarder,
  isForwarded,
  MERGED_USR,
  type SystemFiles,
} from './bwrap.ts';
export { seccompOf } from './seccomp.ts';
export { ARCHITECTURES, type Architecture, DENIED_CALLS } from './syscalls.ts';
