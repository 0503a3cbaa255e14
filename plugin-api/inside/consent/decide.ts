/** Grants of an app's declared capabilities, each with its rule (decisions D2). Pure. */
import { describeCapability, unknownCapability } from '../../contract/capabilities.ts';
import { type ConsentPolicy, rulingOf } from '../consent-policy.ts';
import type { Consent } from '../services/consents.ts';
import {
  type Asking,
  type Claim,
  claimOf,
  contains,
  covers,
  declaredBy,
  type Grant,
  portsOf,
  type Want,
} from './claim.ts';

export interface Rule {
  readonly from: 'sku' | 'consent' | 'policy' | 'catalogue';
  /** The line of the SKU, or the answer, that says so. */
  readonly line: string;
}

/** Decision about one capability; a host has one for each ruling of its ports. */
export interface Decision extends Claim {
  readonly verdict: 'granted' | 'denied' | 'ask';
  readonly by: Rule;
  /** Step that would grant it; absent where it is granted. */
  readonly hint?: string;
}

/** Grants of the SKU by app id, `*` for all. */
export type SkuGrants = Readonly<Record<string, readonly string[]>>;

export interface Rules {
  readonly policy: ConsentPolicy;
  readonly skuGrants: SkuGrants;
  /** Kept answers about the app, in the order in which they were given. */
  readonly consents: readonly Consent[];
  /** Grants of its former version, so that a claim can say what it widens. */
  readonly held?: readonly Grant[];
  /** All that the manifest declares, where the decisions are about a part of it. */
  readonly whole?: Asking['capabilities'];
}

interface Verdict {
  readonly verdict: Decision['verdict'];
  readonly by: Rule;
}

/**
 * The rules in their order. Of the answers that have to do with it the newest holds: a no over everything, a yes unless
 * the policy denies. What the SKU names is granted. The policy says the rest; class oem comes from the SKU alone.
 */
export function decide(manifest: Pick<Asking, 'id' | 'capabilities'>, rules: Rules): readonly Decision[] {
  return declaredBy(manifest, rules.whole).flatMap((declared) => {
    const byVerdict = new Map<string, Verdict & { readonly wants: Want[] }>();
    for (const want of declared.wants) {
      const verdict = verdictOf(want, manifest.id, rules);
      const key = `${verdict.verdict} ${verdict.by.line}`;
      const same = byVerdict.get(key);
      if (same) same.wants.push(want);
      else byVerdict.set(key, { ...verdict, wants: [want] });
    }
    return [...byVerdict.values()].map(({ wants, verdict, by }): Decision => {
      const claim = claimOf(declared, wants, rules.held);
      return { ...claim, verdict, by, ...(verdict === 'granted' ? {} : hintOf(manifest.id, claim, { verdict, by })) };
    });
  });
}

/** Grants of the decisions, as the difference of the next version takes them. */
export function grantsOf(decisions: readonly Decision[]): readonly Grant[] {
  return decisions
    .filter(({ verdict }) => verdict === 'granted')
    .map(({ capability, params }) => {
      const ports = portsOf(params);
      return ports ? { capability, ports } : { capability };
    });
}

function verdictOf(want: Want, app: string, { policy, skuGrants, consents }: Rules): Verdict {
  const { capability } = want;
  const { ruling, line } = rulingOf(policy, capability);
  const unknown = unknownTo(capability);
  if (unknown !== undefined) return { verdict: 'denied', by: { from: 'catalogue', line: unknown } };
  const sku = skuLine(want, app, skuGrants);
  const answer = consents.findLast((consent) => hasToDo(consent, want));
  if (answer && !answer.allowed) return { verdict: 'denied', by: { from: 'consent', line: answerLine(answer) } };
  if (sku !== undefined) return { verdict: 'granted', by: { from: 'sku', line: sku } };
  if (ruling === 'deny') return { verdict: 'denied', by: { from: 'policy', line } };
  if (answer) return { verdict: 'granted', by: { from: 'consent', line: answerLine(answer) } };
  return { verdict: ruling === 'auto' ? 'granted' : 'ask', by: { from: 'policy', line } };
}

/** A yes to what gives it; a no to itself or to a part of it. A no to something larger was said about something else. */
function hasToDo({ capability, params, allowed }: Consent, want: Want): boolean {
  const ports = portsOf(params);
  const grant: Grant = ports ? { capability, ports } : { capability };
  return allowed ? covers(grant, want) : contains(want, grant);
}

function skuLine(want: Want, app: string, skuGrants: SkuGrants): string | undefined {
  for (const whose of [app, '*'])
    for (const capability of (Object.hasOwn(skuGrants, whose) && skuGrants[whose]) || [])
      if (covers({ capability }, want)) return skuGrantLine(whose, capability);
  return undefined;
}

/** The line of the SKU that grants a capability to an app. */
export function skuGrantLine(app: string, capability: string): string {
  return `grants: { ${app === '*' ? '"*"' : app}: ["${capability}"] }`;
}

function unknownTo(capability: string): string | undefined {
  return describeCapability(capability) ? undefined : unknownCapability(capability).message;
}

function answerLine({ capability, params, allowed, by, at, version }: Consent): string {
  const ports = portsOf(params);
  const what = `${capability}${ports ? ` on port ${ports.join(', ')}` : ''}`;
  return `${by} ${allowed ? 'allowed' : 'denied'} ${what} to version ${version} on ${new Date(at).toISOString()}`;
}

function hintOf(app: string, { capability }: Claim, { verdict, by }: Verdict): { readonly hint?: string } {
  if (by.from === 'catalogue') return {};
  const askable = verdict === 'ask' || by.from === 'consent';
  return { hint: askable ? `devicectl app grant ${app} ${capability}` : skuGrantLine(app, capability) };
}
