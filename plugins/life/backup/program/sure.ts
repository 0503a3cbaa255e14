import { isAnswerable, saysYes } from '@device-core/plugin-api/inside/program';
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
  if (!isAnswerable(out)) throw usage(`this ${what}`, 'if it is meant, say --yes');
  if (!(await saysYes(`This ${what}. Go on?`, signal)))
    throw new Failure(EXIT.answered, 'CANCELLED', 'nothing was done');
}
