/** A question as it stands in the terminal: what is asked, in our words, and why, in those of the app. */

import type { ProgramClient } from '../../kits/program/client.ts';
import { usage } from '../../kits/program/failure.ts';
import { cell, duration, quoted } from '../../kits/program/text.ts';
import type { Prompt } from '../../services/prompts.ts';
import { optionalIn, yesTo } from '../consent-choice.ts';
import { claimLines } from './claim-text.ts';

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

/** `now`: milliseconds since the Unix epoch. Nothing of a question is cut. */
export function promptLines(prompt: Prompt, now: number): readonly string[] {
  const { id, kind, subject, title, version, signer, act, until } = prompt;
  const left = duration(Math.max(0, until - now));
  const by = kind === 'consent' ? signedBy(signer ?? null) : signedBy(signer);
  const [first] = optionalIn(prompt);
  const more = first === undefined ? '' : ' [--with CAPABILITY]...';
  return [
    `${id}: ${VERB[kind]} ${cell(subject)}${version === undefined ? '' : ` ${cell(version)}`}${by}, ${left} left`,
    `  it calls itself ${quoted(title)}`,
    ...(act === undefined ? [] : [`  it wants to ${cell(act)}`]),
    ...rightLines(prompt).map((line) => `  ${line}`),
    `  answer with: devicectl allow ${id}${more}, or devicectl deny ${id}`,
  ];
}

/** Lines about an act and its rights, or about a question; an optional right says whether a yes allows it. */
export function rightLines(prompt: Pick<Prompt, 'kind' | 'about' | 'claims' | 'what'>): readonly string[] {
  const { about, claims = [], what } = prompt;
  const on = new Set(optionalIn(prompt).length > 0 ? yesTo(prompt) : []);
  const mark = (capability: string) => (on.size === 0 ? '' : on.has(capability) ? 'on: ' : 'off: ');
  return [
    ...(about ? aboutLines(about) : []),
    ...claims.map(({ summary }) => cell(summary)),
    ...what.flatMap((item) => {
      const [name, ...rest] = claimLines(item);
      return [`${mark(item.capability)}${name}`, ...rest];
    }),
  ];
}

function aboutLines({ id, title, version, signer }: NonNullable<Prompt['about']>): readonly string[] {
  return [
    `it is ${cell(id)}${version === undefined ? '' : ` ${cell(version)}`}${signedBy(signer)}`,
    ...(title === undefined ? [] : [`it calls itself ${quoted(title)}`]),
  ];
}

function signedBy(signer: string | null | undefined): string {
  return signer === undefined ? '' : signer === null ? ', not signed' : `, signed by ${quoted(signer)}`;
}

const VERB: Readonly<Record<Prompt['kind'], string>> = {
  consent: 'grant this to',
  confirm: 'confirm this about',
  update: 'update',
};
