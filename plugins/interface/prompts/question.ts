/** Bounds of a question. A long one has several pages on the panel; nothing of it is cut. Pure. */
import { CoreError } from '@device-core/plugin-api';
import type { PromptQuestion } from '@device-core/plugin-api/services/prompts';

export const DEFAULT_MS = 600_000;
const MOST_MS = 86_400_000;
const MOST_ITEMS = 128;
const MOST_CLAIM = 1_000;
const KINDS: readonly string[] = ['consent', 'confirm', 'update'];
const LENGTHS = { subject: 128, title: 200, signer: 200, version: 100, act: 4_000 } as const;
const OPTIONAL: readonly string[] = ['signer', 'version', 'act'];

/** Throws PARAMS_INVALID. */
export function checkQuestion(question: PromptQuestion): void {
  const refuse = (reason: string): never => {
    throw new CoreError('PARAMS_INVALID', { where: 'the question', reason });
  };
  const { kind, what, claims, ms = DEFAULT_MS } = question;
  if (!KINDS.includes(kind)) refuse(`its kind is none of ${KINDS.join(', ')}`);
  for (const [member, most] of Object.entries(LENGTHS)) {
    const text = question[member as keyof typeof LENGTHS];
    if (text === undefined && OPTIONAL.includes(member)) continue;
    if (typeof text !== 'string' || text.length === 0 || text.length > most)
      refuse(`${member} must be a text of 1 to ${most} characters`);
  }
  if (!Array.isArray(what) || what.length > MOST_ITEMS) refuse(`what must be a list of at most ${MOST_ITEMS}`);
  if (claims !== undefined && !(Array.isArray(claims) && claims.length <= MOST_ITEMS && claims.every(isClaim)))
    refuse(`claims must be a list of at most ${MOST_ITEMS} sentences of at most ${MOST_CLAIM} characters`);
  if (kind === 'consent' && what.length === 0) refuse('it asks for nothing');
  if (!Number.isInteger(ms) || ms <= 0 || ms > MOST_MS) refuse(`ms must be 1 to ${MOST_MS}`);
}

function isClaim(found: unknown): boolean {
  const { kind, name, summary } = Object(found) as Readonly<Record<string, unknown>>;
  return [kind, name, summary].every((text) => typeof text === 'string' && text.length <= MOST_CLAIM);
}
