/** A question as it stands in the terminal: what is asked, in our words, and why, in those of the app. */
import type { Prompt } from '../services/prompts.ts';
import { claimLines } from './claim-text.ts';
import type { ProgramClient } from './client.ts';
import { usage } from './failure.ts';
import { cell, duration, quoted } from './text.ts';

export async function openPrompts(client: ProgramClient): Promise<readonly Prompt[]> {
  return (await client.get('/prompts')).body.prompts as readonly Prompt[];
}

/** The question with this id, or about this app. Throws a usage error that names what there is. */
export async function promptNamed(client: ProgramClient, named: string): Promise<Prompt> {
  const all = await openPrompts(client);
  const found = all.find(({ id }) => id === named) ?? all.filter(({ subject }) => subject === named);
  if (!Array.isArray(found)) return found as Prompt;
  const [only, ...others] = found;
  if (only && others.length === 0) return only;
  const open = all.map(({ id, subject }) => `${id} (${cell(subject)})`).join(', ');
  const what = only ? 'several questions are about' : 'no question is open about';
  throw usage(`${what} ${cell(named)}; open: ${open || 'none'}`);
}

/** `now`: milliseconds since the Unix epoch. */
export function promptLines(prompt: Prompt, now: number): readonly string[] {
  const { id, kind, subject, title, version, signer, act, what, until } = prompt;
  const left = duration(Math.max(0, until - now));
  const of = [
    version === undefined ? '' : ` ${cell(version)}`,
    signer === undefined ? '' : `, signed by ${quoted(signer)}`,
  ];
  return [
    `${id}: ${VERB[kind]} ${cell(subject)}${of.join('')}, ${left} left`,
    `  it calls itself ${quoted(title)}`,
    ...(act === undefined ? [] : [`  it wants to ${cell(act)}`]),
    ...what.flatMap(claimLines).map((line) => `  ${line}`),
    `  answer with: devicectl allow ${id}${what.length > 1 ? ' [CAPABILITY...]' : ''}, or devicectl deny ${id}`,
  ];
}

const VERB: Readonly<Record<Prompt['kind'], string>> = {
  consent: 'grant this to',
  confirm: 'confirm this about',
  update: 'update',
};
