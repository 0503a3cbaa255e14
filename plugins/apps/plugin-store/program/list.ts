import type { PluginStatus } from '@device-core/plugin-api/inside/services/plugin-manager';
import { defineProgram } from '@device-core/plugin-api/program';
import { installedPlugins, storeRemarks } from './listing.ts';

/** `devicectl plugin list`: those that run, with what the store knows of them. */
export const program = defineProgram({
  async run({ client, out }) {
    const answer = await client.get('/plugins');
    if (out.json) return out.line(answer.text);
    const running = answer.body.plugins as readonly PluginStatus[];
    const store = await installedPlugins(client);
    const remarks = storeRemarks(store);
    const rows = running.map((one) => [
      one.id,
      one.version,
      one.state,
      one.isolation,
      one.startMs === undefined ? '' : `${Math.round(one.startMs)} ms`,
      one.generation as string | number,
      [remarks.get(one.id), remarkOf(one)].filter(Boolean).join('; '),
    ]);
    for (const { id, version } of [...store.plugins, ...store.rolledBack]) {
      const known = rows.some(([other]) => other === id);
      if (!known) rows.push([id, version, 'not running', '', '', '', remarks.get(id) ?? '']);
    }
    await out.table(['PLUGIN', 'VERSION', 'STATE', 'RUNS', 'START', 'STARTS', 'REMARK'], rows);
  },
});

/** Why it does not run, or when it will; else what it is for. */
function remarkOf({ state, reason, summary, nextStartAt, restarts = 0 }: PluginStatus): string {
  if (nextStartAt !== undefined)
    return `${reason}; starts again in ${Math.max(0, Math.ceil((nextStartAt - Date.now()) / 1000))} s`;
  if (state === 'quarantined') return `${reason}; "devicectl plugin release" starts it again`;
  return reason ?? (restarts > 0 ? `${summary} (started again ${restarts} times after a failure)` : summary);
}
