/** What became of a start. It is asked for with each start and each end, in a process of its own: it loads nothing that looks at a slot. */
import { join } from 'node:path';
import { RecordFile } from '../../plugin-api/inside/record-file.ts';
import { ended, ready } from './choose.ts';
import type { Here } from './here.ts';

export const recordOf = ({ system, run }: Here) => new RecordFile(join(system, 'boot/record'), join(run, 'record'));

/** The Core has said that it is ready. */
export const readyNow = (here: Here): string | undefined => recordOf(here).note(ready);

/** It has ended, as `env` says: SERVICE_RESULT, EXIT_CODE, EXIT_STATUS of systemd. */
export function endedNow(here: Here, env: NodeJS.ProcessEnv): string | undefined {
  const { SERVICE_RESULT: result = 'nothing', EXIT_CODE: code = '', EXIT_STATUS: status = '' } = env;
  const text = `${result} ${code} ${status}`.trim();
  return recordOf(here).note((record) => ended(record, result === 'success', text));
}
