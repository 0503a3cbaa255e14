import type { ProgramOutput } from '@device-core/plugin-api/program';
import { type AppStatus, stateText } from '@device-core/plugin-api/services/apps';

/** Tells what became of an app after a start or a save; `running` is the line of one that runs. */
export async function tellState(
  out: ProgramOutput,
  { state, reason }: Pick<AppStatus, 'state' | 'reason'>,
  running: string,
): Promise<void> {
  const text = `it ${stateText(state)}${reason === undefined || reason === '' ? '' : `: ${reason}`}`;
  if (state === 'running') await out.line(out.paint('green', running));
  // A start that goes on is no fault.
  else await out.line(state === 'starting' ? text : out.paint('red', text));
}
