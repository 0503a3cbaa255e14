/** From the question to what is granted: what a change that brings a version calls in its step `consent`. */

import { CoreError } from '../../contract/errors.ts';
import { maybe } from '../../kits/maybe.ts';
import type { PromptItem, PromptOutcome, PromptQuestion, Prompts } from '../../services/prompts.ts';
import { DEFAULT_POLICY } from '../consent-policy.ts';
import type { Consent, Consents } from '../services/consents.ts';
import { answersAbout, mergeAnswers } from './answers.ts';
import { type Asking, portsOf } from './claim.ts';
import { type Decision, decide, grantsOf, type SkuGrants } from './decide.ts';
import { difference } from './difference.ts';

export interface Seeking {
  /** The version that asks. */
  readonly app: Asking & { readonly title: string };
  /** The one that runs now; its grants are what a claim widens. */
  readonly former?: Asking;
  readonly signer?: string;
  readonly skuGrants: SkuGrants;
  /** Milliseconds for an answer; ten minutes if absent. */
  readonly ms?: number;
}

/** The two services of plugin `prompts`, as far as they are there. */
export interface SeekingServices {
  readonly prompts?: Prompts | undefined;
  readonly consents?: Consents | undefined;
}

/**
 * Resolves with the grants of the app, which may take as long as a person does; rules that decide ask no person. Optional capabilities that
 * were not allowed are left out. The board has kept the answers by then; silence is not kept. Throws CONSENT_REQUIRED, which names each
 * capability that it cannot do without and what would grant it, and the codes of prompts.ask() and consents.keep().
 */
export async function seekConsent(seeking: Seeking, services: SeekingServices): Promise<readonly Decision[]> {
  const { app } = seeking;
  const first = await decisionsOf(seeking, services);
  // A refused version that is installed again is asked about again.
  const again = ({ verdict, by, optional }: Decision) => verdict === 'denied' && by.from === 'consent' && !optional;
  refuse(app, first, (decision) => decision.verdict === 'denied' && !again(decision));
  const open = first.filter((decision) => decision.verdict === 'ask' || again(decision));
  if (open.length === 0) return first;
  if (!services.prompts || !services.consents) {
    refuse(app, open, () => true, 'there are no prompts: plugin prompts is not there');
    return first;
  }
  const outcome = await services.prompts.ask(questionOf(seeking, open));
  const settled = await decisionsOf(seeking, services);
  refuse(app, settled, ({ verdict }) => verdict !== 'granted', whyNot(outcome));
  return settled;
}

/** One answer for each capability that was asked about. */
export function answersOf(
  { version = '', what }: Pick<PromptQuestion, 'version' | 'what'>,
  { allow, by = 'operator', at }: PromptOutcome,
): readonly Consent[] {
  return what.map(({ capability, params }) => ({
    capability,
    ...maybe({ params }),
    allowed: allow.includes(capability),
    by,
    at,
    version,
  }));
}

/** The question about what the decisions leave open. */
export function questionOf({ app, signer, ms }: Omit<Seeking, 'skuGrants'>, open: readonly Decision[]) {
  return {
    kind: 'consent' as const,
    subject: app.id,
    title: app.title,
    version: app.version,
    ...maybe({ signer, ms }),
    what: open.map(itemOf),
  };
}

/** The part of a decision that a question shows. */
export function itemOf({ capability, params, summary, reason, optional, widens, sole }: Decision): PromptItem {
  return {
    capability,
    summary,
    reason,
    optional,
    ...maybe({ params }),
    ...(widens ? { widens } : {}),
    ...(sole ? { sole } : {}),
  };
}

/**
 * The answers with which the rest is left out: each optional capability that nothing decides yet is denied, as a switch
 * that stays off denies it.
 */
export async function denyOptional(
  seeking: Seeking,
  said: Pick<Consent, 'by' | 'at'>,
  services: SeekingServices,
): Promise<readonly Consent[]> {
  const decisions = await decisionsOf(seeking, services);
  const open = decisions.filter(({ verdict, optional }) => verdict === 'ask' && optional);
  return answersAbout(
    seeking.app,
    open.map(({ capability }) => capability),
    { ...said, allowed: false },
  );
}

/**
 * Rights that an installation or an update would give, by rules and by the answers that come with it, beyond those of
 * the former version.
 */
export async function givenBy(
  seeking: Seeking,
  answers: readonly Consent[],
  { consents }: SeekingServices,
): Promise<readonly PromptItem[]> {
  const { app, former, skuGrants } = seeking;
  const rules = await rulesOf(app.id, skuGrants, consents);
  const held = former ? grantsOf(decide(former, rules)) : [];
  const { asked, told } = difference(former, app, held);
  const news = new Set([...asked, ...told].map(({ capability }) => capability));
  return decide(app, { ...rules, consents: mergeAnswers(rules.consents, answers), held })
    .filter(({ capability, verdict }) => verdict === 'granted' && news.has(capability))
    .map(itemOf);
}

async function rulesOf(app: string, skuGrants: SkuGrants, consents: Consents | undefined) {
  return {
    policy: (await consents?.policy()) ?? DEFAULT_POLICY,
    consents: (await consents?.of(app)) ?? [],
    skuGrants,
  };
}

async function decisionsOf({ app, former, skuGrants }: Seeking, { consents }: SeekingServices) {
  const rules = await rulesOf(app.id, skuGrants, consents);
  return decide(app, { ...rules, held: former ? grantsOf(decide(former, rules)) : [] });
}

function refuse(
  { id, version }: Asking,
  decisions: readonly Decision[],
  lacks: (decision: Decision) => boolean,
  why?: string,
): void {
  const missing = decisions.filter((decision) => !decision.optional && lacks(decision));
  if (missing.length === 0) return;
  const lines = missing.map(
    ({ capability, by, hint }) => `${capability} (${by.line}${hint ? `; to grant it: ${hint}` : ''})`,
  );
  throw new CoreError('CONSENT_REQUIRED', {
    app: id,
    version,
    capabilities: missing.map(({ capability, params }) => named(capability, portsOf(params))).join(', '),
    reason: [why, lines.join('; ')].filter((part) => part !== undefined).join(': '),
  });
}

function named(capability: string, ports: readonly number[] | undefined): string {
  return ports ? `${capability} (port ${ports.join(', ')})` : capability;
}

function whyNot({ state, by }: PromptOutcome): string {
  if (state === 'answered') return `${by ?? 'a person'} did not allow it`;
  return state === 'expired' ? 'no answer came in time' : 'the question was withdrawn';
}
