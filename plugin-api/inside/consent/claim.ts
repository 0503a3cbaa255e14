/** Claims of an app, and the grants that cover them. Pure. */

import {
  type CapabilityClass,
  type CapabilityId,
  classOf,
  describeCapability,
  implies,
} from '../../contract/capabilities.ts';
import { maybe } from '../../kits/maybe.ts';
import type { PromptItem } from '../../services/prompts.ts';

/** Parts of a manifest that concern consent. */
export interface Asking {
  readonly id: string;
  readonly version: string;
  readonly capabilities: readonly {
    readonly id: CapabilityId;
    readonly reason: string;
    readonly optional?: boolean;
    /** TCP ports of a host; 443 if absent. */
    readonly ports?: readonly number[];
  }[];
  readonly resources?: Readonly<Partial<Record<string, number>>>;
  readonly functions?: readonly {
    readonly name: string;
    readonly version: string;
    readonly utterances?: readonly string[];
  }[];
}

/** A capability with all that it implies; where it names ports, with these alone. */
export interface Grant {
  readonly capability: string;
  readonly ports?: readonly number[];
}

/** A question about a capability, with the class that decides who may answer it. */
export interface Claim extends PromptItem {
  /** Absent for an unknown capability. */
  readonly class?: CapabilityClass;
}

/** The smallest thing that is granted or not: a capability, of a host one of its ports. */
export interface Want {
  readonly capability: CapabilityId;
  readonly port?: number;
}

const HTTPS = 443;
const HOST = /^network\.outbound:/;
const NETWORK = /^network($|\.)/;

/** Declarations of one capability in the whole manifest. */
export interface Declared {
  readonly capability: CapabilityId;
  readonly reason: string;
  readonly optional: boolean;
  readonly wants: readonly Want[];
  /** It is the only part of the network that the manifest declares. */
  readonly sole: boolean;
}

/**
 * Each capability once, in the order of the manifest. Declared twice it has the ports of both, and is optional only
 * where both are. `whole`: what the manifest declares, where these are a part of it.
 */
export function declaredBy(
  { capabilities }: Pick<Asking, 'capabilities'>,
  whole: Asking['capabilities'] = capabilities,
): readonly Declared[] {
  const all = new Map<string, Declared>();
  const network = new Set(whole.map(({ id }) => id).filter((id) => NETWORK.test(id)));
  for (const { id: capability, reason, optional = false, ports } of capabilities) {
    const former = all.get(capability);
    const named = HOST.test(capability) ? (ports ?? [HTTPS]) : undefined;
    const known = new Set(former?.wants.map(({ port }) => port));
    const wants: readonly Want[] = named ? [...new Set(named)].map((port) => ({ capability, port })) : [{ capability }];
    all.set(capability, {
      capability,
      reason: former?.reason ?? reason,
      optional: optional && (former?.optional ?? true),
      wants: [...(former?.wants ?? []), ...wants.filter(({ port }) => !known.has(port))],
      sole: HOST.test(capability) && network.size === 1,
    });
  }
  return [...all.values()];
}

/** Ports of an answer or a question: undefined means all of them. What is no list of ports names none. */
export function portsOf(params: Readonly<Record<string, unknown>> | undefined): readonly number[] | undefined {
  const ports = params?.ports;
  if (ports === undefined) return undefined;
  return Array.isArray(ports) ? ports.filter((port) => Number.isInteger(port)) : [];
}

/** Does the grant give what is wanted, the port included? */
export function covers(grant: Grant, { capability, port }: Want): boolean {
  if (!implies(grant.capability, capability)) return false;
  return grant.ports === undefined || (port !== undefined && grant.ports.includes(port));
}

/** True where a holder of the want holds all of this capability, on one of these ports, too. */
export function contains({ capability, port }: Want, part: Grant): boolean {
  if (!implies(capability, part.capability)) return false;
  return part.ports === undefined || port === undefined || part.ports.includes(port);
}

/** The same capability and the same ports together again, for people. */
export function claimOf(declared: Declared, wants: readonly Want[], grants: readonly Grant[] = []): Claim {
  const { capability, reason, optional, sole } = declared;
  const { ports } = grantOf(capability, wants);
  const kind = classOf(capability);
  const widens = widened(declared, grants);
  return {
    capability,
    ...(ports ? { params: { ports } } : {}),
    summary: summaryOf(capability, ports, sole),
    reason,
    optional,
    ...(sole ? { sole } : {}),
    ...maybe({ class: kind, widens }),
  };
}

/** Right without a stated reason, as that of a plugin. */
export function rightTo(capability: CapabilityId): PromptItem {
  return { capability, summary: summaryOf(capability, undefined, false), reason: '', optional: false };
}

export function grantOf(capability: string, wants: readonly Want[]): Grant {
  const ports = wants.flatMap(({ port }) => (port === undefined ? [] : [port]));
  return ports.length > 0 ? { capability, ports: ports.toSorted((a, b) => a - b) } : { capability };
}

/** The sentence of the catalogue, in lower case as `rightIn` takes it. */
function summaryOf(capability: CapabilityId, ports: readonly number[] | undefined, sole: boolean): string {
  const info = describeCapability(capability);
  if (!info) return 'this capability is unknown';
  // A sensor is named as a member of its family, too.
  const at = capability.search(info.id === 'sensors' ? /[.:]/ : /:/);
  if (at < 0 || !info.scope) return info.summary;
  const on = ports === undefined ? '' : `, port${ports.length === 1 ? '' : 's'} ${ports.join(', ')}`;
  const full = `${info.scope.allows.replace('{scope}', () => capability.slice(at + 1))}${on}`;
  return sole ? `${full}, and to no other host` : full;
}

/** The largest grant that is a part of what is declared now: the same capability with other ports, or something that it implies. */
function widened({ capability, wants }: Declared, grants: readonly Grant[]): CapabilityId | undefined {
  const parts = grants.filter(
    (grant) => implies(capability, grant.capability) && !wants.every((want) => covers(grant, want)),
  );
  const [widest] = parts.toSorted((a, b) => a.capability.length - b.capability.length);
  return widest?.capability as CapabilityId | undefined;
}
