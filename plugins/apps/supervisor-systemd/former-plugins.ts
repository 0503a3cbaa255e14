import { readdir } from 'node:fs/promises';
import { type Logger, reasonOf } from '@device-core/plugin-api';
import type { SystemdSupervisor } from './systemd-supervisor.ts';

/** Units of the warden. Without one of a plugin it is not asked, for that starts it. */
const UNITS = '/run/systemd/system';
/** Time for a unit of a former Core to end in peace: its channel has gone with that Core. */
const END_MS = 500;

/**
 * Ends the units of plugins that run and are none of this supervisor's: a Core that was killed left them, or systemd
 * started them again with the Core. Nothing of them is taken back, for their channels ended. Never rejects: a start of
 * the same plugin ends what is left of it, or says why it cannot.
 */
export async function endFormer(supervisor: SystemdSupervisor, log: Logger): Promise<void> {
  try {
    const units = await readdir(UNITS).catch(() => []);
    if (!units.some((name) => name.startsWith('plugin-'))) return;
    for (const { name, run } of await supervisor.former()) {
      await supervisor.stop(run, END_MS);
      log.info({ guest: name }, 'ended the unit of a plugin that a former Core left');
    }
  } catch (thrown) {
    log.warn({ reason: reasonOf(thrown) }, 'cannot end the units of plugins that a former Core left');
  }
}
