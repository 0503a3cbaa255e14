/** Rules of the SKU for capabilities without an answer. Pure. */
import {
  CAPABILITIES,
  type CapabilityClass,
  classOf,
  describeCapability,
  implies,
  unknownCapability,
} from '../contract/capabilities.ts';

const RULINGS = ['auto', 'ask', 'deny'] as const;
/** `auto` grants, `ask` asks the person who owns the device, `deny` refuses, even against a person's answer. */
export type Ruling = (typeof RULINGS)[number];

export interface ConsentPolicy {
  readonly normal: Ruling;
  readonly sensitive: Ruling;
  /** Comes from the grants of the SKU alone. */
  readonly oem: 'deny';
  /** By capability, or by all scopes of one: `network.outbound:*`. The nearest to a capability counts. */
  readonly overrides?: Readonly<Record<string, Ruling>>;
}

export const DEFAULT_POLICY: ConsentPolicy = { normal: 'auto', sensitive: 'ask', oem: 'deny' };

export interface Ruled {
  readonly ruling: Ruling;
  /** The line of the policy that says so. */
  readonly line: string;
}

const EVERY_SCOPE = ':*';
/** Everything that may be a part of something: each capability, and its scopes, whose class may be another one. */
const PARTS = CAPABILITIES.flatMap(({ id, scope }) => (scope ? [id, `${id}${EVERY_SCOPE}`] : [id]));

/**
 * Ruling of the policy for a capability. The nearest of the matching overrides counts: itself, then every scope, then
 * the nearest parent. A capability that contains others never gets more than the strictest ruling of them.
 */
export function rulingOf(policy: ConsentPolicy, capability: string): Ruled {
  // Capabilities that only the SKU can grant are not granted by an override of their parent.
  if ((classOf(capability) ?? 'oem') === 'oem') return byClass(policy, 'oem');
  const parts = [...PARTS, ...Object.keys(policy.overrides ?? {})].filter((part) => implies(capability, bare(part)));
  return [capability, ...parts]
    .map((part) => nearestRuling(policy, part))
    .reduce((strictest, ruled) => (rank(ruled) > rank(strictest) ? ruled : strictest));
}

/** Why the overrides cannot be used; undefined where they can. A capability that only the SKU grants can only be denied here. */
export function policyProblem({ overrides = {} }: ConsentPolicy): string | undefined {
  for (const [key, ruling] of Object.entries(overrides)) {
    const capability = anyScope(key);
    if (!describeCapability(capability)) return `overrides: ${unknownCapability(key).message}`;
    if (classOf(capability) === 'oem' && ruling !== 'deny')
      return `overrides: ${key} is of class oem, which only the grants of the SKU can give`;
  }
  return undefined;
}

function nearestRuling(policy: ConsentPolicy, part: string): Ruled {
  const { overrides = {} } = policy;
  const [nearest] = Object.keys(overrides)
    .filter((key) => speaksOf(key, part))
    .toSorted((a, b) => (b === part ? 1 : 0) - (a === part ? 1 : 0) || b.length - a.length);
  const ruling = nearest === undefined ? undefined : overrides[nearest];
  if (ruling === undefined) return byClass(policy, classOf(anyScope(part)) ?? 'oem');
  return { ruling, line: `consent: { overrides: { "${nearest}": ${ruling} } }` };
}

function byClass(policy: ConsentPolicy, kind: CapabilityClass): Ruled {
  return { ruling: policy[kind], line: `consent: { ${kind}: ${policy[kind]} }` };
}

function bare(key: string): string {
  return key.endsWith(EVERY_SCOPE) ? key.slice(0, -EVERY_SCOPE.length) : key;
}

function anyScope(key: string): string {
  return key.endsWith(EVERY_SCOPE) ? `${bare(key)}:any` : key;
}

function speaksOf(key: string, capability: string): boolean {
  if (key === capability) return true;
  return key.endsWith(EVERY_SCOPE) ? capability.startsWith(`${bare(key)}:`) : implies(key, capability);
}

function rank({ ruling }: Ruled): number {
  return RULINGS.indexOf(ruling);
}
