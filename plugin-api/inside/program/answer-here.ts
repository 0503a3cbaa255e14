/** Answers a question where a program waits for its answer: the person at the terminal need not open another one. */

import type { ProgramClient } from '../../kits/program/client.ts';
import { Failure } from '../../kits/program/failure.ts';
import { cell } from '../../kits/program/text.ts';
import type { Prompt } from '../../services/prompts.ts';
import { optionalIn, yesTo } from '../consent-choice.ts';
import { saysYes } from './person.ts';

export interface AnsweringHere {
  readonly client: ProgramClient;
  /** Aborted when somebody else has answered it, and when the program ends. */
  readonly signal: AbortSignal;
  /** Said on the command line: what is required is allowed and what is optional is not, without a question. */
  readonly yes?: boolean;
  /** The person at the terminal if absent. */
  readonly ask?: (question: string, signal: AbortSignal) => Promise<boolean>;
}

/** Asks for what is optional, one by one, and then for the yes. Whoever answers first counts, also on the panel or on the page. */
export async function answerHere(
  prompt: Prompt,
  { client, signal, yes: said, ask = saysYes }: AnsweringHere,
): Promise<void> {
  const { id, what } = prompt;
  try {
    const on: string[] = [];
    for (const capability of said ? [] : optionalIn(prompt)) {
      const { summary = capability } = what.find((item) => item.capability === capability) ?? {};
      if (await ask(`Optional: ${cell(summary)}. Switch it on?`, signal)) on.push(capability);
    }
    const all = yesTo(prompt, on);
    const yes = all.length > 0 && (said || (await ask(`Allow ${all.join(', ')}?`, signal)));
    await client.post(`/prompts/${encodeURIComponent(id)}`, { allow: yes ? all : [] });
  } catch (thrown) {
    const elsewhere = thrown instanceof Failure && thrown.code === 'CONSENT_NOT_FOUND';
    if (!elsewhere && !signal.aborted) throw thrown;
  }
}
