/** What a package claims, as the operator sees it, and the question whether it may have that. */
import { createInterface } from 'node:readline/promises';
import { EXIT, Failure, type ProgramAnswer, type ProgramOutput } from '@device-core/plugin-api/program';

export interface Unaccepted {
  readonly plugin: string;
  readonly version: string;
  readonly digest: string;
  readonly added: readonly string[];
}

/** Details of the refusal, where the answer is one. */
export function unaccepted({ body }: ProgramAnswer): Unaccepted | undefined {
  return body.code === 'CLAIMS_UNACCEPTED' ? (body.details as unknown as Unaccepted) : undefined;
}

/** Standard input and output are a person. */
export const isAnswerable = (out: ProgramOutput): boolean => out.terminal && !out.json && process.stdin.isTTY === true;

/** Shows what would be granted and asks at the terminal. Rejects with a Failure unless the answer is yes. */
export async function ask(out: ProgramOutput, claims: Unaccepted, signal: AbortSignal): Promise<void> {
  const { plugin, version, added } = claims;
  await out.line(`${plugin} ${version} would be granted what it does not have yet:`);
  for (const claim of added) await out.line(`  it ${claim}`);
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await terminal.question('Install it? [y/N] ', { signal });
    if (!/^y(es)?$/i.test(answer.trim())) throw new Failure(EXIT.answered, 'CANCELLED', 'nothing was installed');
  } finally {
    terminal.close();
  }
}
