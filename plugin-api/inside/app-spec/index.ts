/** One run of a guest as plain data, and what the system's kernel is told of it. */

export type { AppSpec, GrantedNode, GuestLimits, NamedHost } from '../../contract/app-spec.ts';
export { TASKS_ABOVE } from '../sandbox/tasks.ts';
export { accountOf } from './account.ts';
export { apparmorOf, profilePath } from './apparmor.ts';
export { appSpecProblem, SERVICE } from './check.ts';
export { egressUnitOf, WAY_OUT } from './egress-unit.ts';
export { type Claim, hostOf, hostProblem, hostsOf, portsProblem } from './hosts.ts';
export { DEFAULT_LIMITS, LIMIT_BOUNDS, LIMIT_NAMES, limitsOf } from './limits.ts';
export { nodeOf, nodesOf, type SkuNode } from './nodes.ts';
export { type Complaint, skuComplaints } from './sku-check.ts';
export { type GuestManifest, type GuestPlace, PROXY, runtimeOf, type SkuOfApps, specOf } from './spec-of.ts';
export {
  credentialsOf,
  egressUnitNameOf,
  isHidden,
  profileOf,
  type UnitOptions,
  unitNameOf,
  unitOf,
  userOf,
} from './unit.ts';
export { word } from './unit-text.ts';
export { isReserved, steersLoader } from './variables.ts';
