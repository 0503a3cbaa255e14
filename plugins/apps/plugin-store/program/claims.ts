/** Claims of a package as the operator sees them, and the question for a yes. */
import { saysYes } from '@device-core/plugin-api/inside/program';
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

/** Shows what would be granted and asks at the terminal. Rejects with a Failure unless the answer is yes. */
export async function ask(out: ProgramOutput, claims: Unaccepted, signal: AbortSignal): Promise<void> {
  const { plugin, version, added } = claims;
  await out.line(`${plugin} ${version} would be granted what it does not have yet:`);
  for (const claim of added) await out.line(`  it ${claim}`);
  if (!(await saysYes('Install it?', signal))) throw new Failure(EXIT.answered, 'CANCELLED', 'nothing was installed');
}
