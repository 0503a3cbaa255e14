/** Claims of an app, compared with its uses. Pure. */
import { implies } from '@device-core/plugin-api';
import type { Claim } from './app-folder.ts';

/** A port of a host, as refusals name it. */
const PORT = /^(?<host>network\.outbound:[^:]+):(?<port>\d+)$/;
const HOST = /^network\.outbound:/;
const HTTPS = 443;
/** Opened inside the sandbox: the Core is not asked when they are used. */
const UNSEEN = /^(network($|[.:])|storage-scoped$|[a-z]+\.node($|:))/;

export interface Verdict {
  readonly claim: Claim;
  /** `unseen`: nobody but its author can say. */
  readonly verdict: 'used' | 'wide' | 'idle' | 'unseen';
  /** Uses of the claim, in the narrowest form. */
  readonly used: readonly string[];
}

export interface Uses {
  readonly used: readonly string[];
  readonly refused: readonly { readonly capability: string; readonly hint: string }[];
  /** Files lie in its data folder. */
  readonly stored: boolean;
}

export function judge(claims: readonly Claim[], { used, stored }: Uses): readonly Verdict[] {
  return claims.map((claim) => {
    if (claim.id === 'storage-scoped' && stored) return { claim, verdict: 'used', used: [claim.id] };
    const own = used.filter((one) => implies(claim.id, one));
    if (own.includes(claim.id)) return { claim, verdict: 'used', used: [claim.id] };
    if (own.length > 0) return { claim, verdict: 'wide', used: own };
    return { claim, verdict: UNSEEN.test(claim.id) ? 'unseen' : 'idle', used: [] };
  });
}

/**
 * The claims that would have done: narrow where a wide one was not needed, without those that nobody needed, with those
 * that were refused.
 */
export function minimal(verdicts: readonly Verdict[], { refused }: Uses): readonly Claim[] {
  const claims = new Map<string, Claim>();
  const add = (claim: Claim) => {
    const former = claims.get(claim.id);
    claims.set(claim.id, former ? together(former, claim) : claim);
  };
  for (const { claim, verdict, used } of verdicts) {
    if (verdict === 'used' || verdict === 'unseen') add(claim);
    if (verdict === 'wide') for (const id of used) add({ ...claim, id });
  }
  for (const { capability } of refused) {
    if (/[<>]/.test(capability)) continue;
    const { host, port } = PORT.exec(capability)?.groups ?? {};
    const asked = host === undefined ? { id: capability } : { id: host, ports: [Number(port)] };
    const reason = claims.get(asked.id)?.reason ?? 'say here why it is needed';
    add({ ...asked, reason });
  }
  return [...claims.values()];
}

/** One line for a capability that is declared twice: the ports of both, and optional only where both are. */
function together(former: Claim, claim: Claim): Claim {
  const { optional: _, ports: __, ...rest } = { ...claim, ...former };
  const ports = [former, claim].flatMap((one): readonly number[] => (Array.isArray(one.ports) ? one.ports : [HTTPS]));
  return {
    ...rest,
    ...(former.optional && claim.optional ? { optional: true } : {}),
    ...(HOST.test(former.id) ? { ports: [...new Set(ports)].toSorted((a, b) => a - b) } : {}),
  };
}

/** As it would stand in app.yaml, with every member that its author wrote. */
export function manifestLines(claims: readonly Claim[]): string {
  if (claims.length === 0) return 'capabilities: []';
  const line = ({ id, reason, optional, ...more }: Claim) => {
    const all = { id, reason: reason ?? '', ...more, optional: optional || undefined };
    const members = Object.entries(all).filter(([, value]) => value !== undefined);
    return `  - { ${members.map(([name, value]) => `${name}: ${JSON.stringify(value)}`).join(', ')} }`;
  };
  return ['capabilities:', ...claims.map(line)].join('\n');
}
