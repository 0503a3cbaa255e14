/** The result of a start. A separate process runs this at each start and end, so it loads no code that reads a slot. */
import { join } from 'node:path';
import { RecordFile } from '../../plugin-api/inside/record-file.ts';
import { ended, ready } from './choose.ts';
import type { Here } from './here.ts';

export const recordOf = ({ system, run }: Here) => new RecordFile(join(system, 'boot/record'), join(run, 'record'));

/** The Core has said that it is ready. */
export const readyNow = (here: Here): string | undefined => recordOf(here).note(ready);

/** The Core has ended; `env` has systemd's SERVICE_RESULT, EXIT_CODE and EXIT_STATUS. */
export function endedNow(here: Here, env: NodeJS.ProcessEnv): string | undefined {
  const { SERVICE_RESULT: result = 'nothing', EXIT_CODE: code = '', EXIT_STATUS: status = '' } = env;
  const text = `${result} ${code} ${status}`.trim();
  return recordOf(here).note((record) => ended(record, result === 'success', text));
}
