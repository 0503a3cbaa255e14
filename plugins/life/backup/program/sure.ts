import { createInterface } from 'node:readline/promises';
import { EXIT, Failure, type ProgramOutput, usage } from '@device-core/plugin-api/program';

export const YES = { type: 'boolean', description: 'do not ask first' } as const;

/** Asks at a terminal whether `what` is meant; elsewhere only `--yes` says so. Rejects with a Failure unless the answer is yes. */
export async function sure(
  what: string,
  yes: boolean | undefined,
  out: Pick<ProgramOutput, 'terminal' | 'json'>,
  signal: AbortSignal,
): Promise<void> {
  if (yes) return;
  if (!out.terminal || out.json || !process.stdin.isTTY) throw usage(`this ${what}`, 'if it is meant, say --yes');
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  try {
    const answer = await terminal.question(`This ${what}. Go on? [y/N] `, { signal });
    if (!/^y(es)?$/i.test(answer.trim())) throw new Failure(EXIT.answered, 'CANCELLED', 'nothing was done');
  } finally {
    terminal.close();
  }
}
