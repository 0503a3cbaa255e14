/** What an app claims, held against what it used. Pure. */
import { implies } from '@device-core/plugin-api';
import type { Claim } from './app-folder.ts';

/** Opened inside the sandbox: the Core is not asked when they are used. */
const UNSEEN = /^(network($|[.:])|storage-scoped$|[a-z]+\.node($|:))/;

export interface Verdict {
  readonly claim: Claim;
  /** `unseen`: nobody but its author can say. */
  readonly verdict: 'used' | 'wide' | 'idle' | 'unseen';
  /** What it was used for, in the narrowest form. */
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

/** The claims that would have done: narrow where a wide one was not needed, without those that nobody needed, with those that were refused. */
export function minimal(verdicts: readonly Verdict[], { refused }: Uses): readonly Claim[] {
  const claims = new Map<string, Claim>();
  const add = (claim: Claim) => void (claims.has(claim.id) || claims.set(claim.id, claim));
  for (const { claim, verdict, used } of verdicts) {
    if (verdict === 'used' || verdict === 'unseen') add(claim);
    if (verdict === 'wide') for (const id of used) add({ ...claim, id });
  }
  for (const { capability } of refused)
    if (!/[<>]/.test(capability)) add({ id: capability, reason: 'say here why it is needed' });
  return [...claims.values()];
}

/** As it would stand in app.yaml. */
export function manifestLines(claims: readonly Claim[]): string {
  if (claims.length === 0) return 'capabilities: []';
  const line = ({ id, reason, optional }: Claim) =>
    `  - { id: ${JSON.stringify(id)}, reason: ${JSON.stringify(reason ?? '')}${optional ? ', optional: true' : ''} }`;
  return ['capabilities:', ...claims.map(line)].join('\n');
}
