import type { PluginStatus, SkuChange } from '@device-core/plugin-api';
import type { Command } from 'commander';
import { action } from '../cli.ts';
import { cell } from '../output.ts';

export function addPlugins(program: Command): void {
  const plugins = program.command('plugins').description('the plugins of the Core');
  plugins
    .command('list', { isDefault: true })
    .description('every plugin and its state')
    .action(
      action(async ({ client, out }) => {
        const answer = await client.get('/plugins');
        if (out.json) return out.line(answer.text);
        const rows = (answer.body.plugins as readonly PluginStatus[]).map((one) => [
          one.id,
          one.version,
          one.state,
          one.isolation,
          one.startMs === undefined ? '' : `${Math.round(one.startMs)} ms`,
          String(one.generation),
          cell(remarkOf(one)),
        ]);
        await out.table(['PLUGIN', 'VERSION', 'STATE', 'RUNS', 'START', 'STARTS', 'REMARK'], rows, { state: 2 });
      }),
    );
  for (const [verb, text] of [
    ['restart', 'stop a plugin and its dependents, and start them again'],
    ['release', 'start a plugin that failed or is in quarantine'],
    ['enable', 'start a plugin that was disabled'],
    ['disable', 'stop a plugin until the Core starts again'],
  ] as const)
    plugins
      .command(`${verb} <plugin>`)
      .description(text)
      .action(
        action<[string]>(async ({ client, out }, [id]) => {
          const answer = await client.post(`/plugins/${encodeURIComponent(id)}/${verb}`);
          if (out.json) return out.line(answer.text);
          const { id: name, state, reason } = answer.body.plugin as PluginStatus;
          // The plugins that carry this answer restart after it.
          if (answer.body.deferred) return out.line(`${name} restarts now`);
          await out.line(`${name} is ${out.state(state)}${reason ? `: ${cell(reason)}` : ''}`);
        }),
      );
  plugins
    .command('apply')
    .description('read the SKU again and apply what changed, whole or not at all')
    .option('--check', 'only tell what would change')
    .action(
      action<[], { readonly check?: boolean }>(async ({ client, out }, _none, { check = false }) => {
        const answer = await client.post('/plugins/apply', { check });
        if (out.json) return out.line(answer.text);
        const change = answer.body.change as SkuChange;
        const told = answer.body.deferred ? 'is applied now' : check ? 'would be applied' : 'was applied';
        for (const line of linesOf(change)) await out.line(line);
        await out.line(change.affected.length > 0 || change.device ? `the change ${told}` : 'nothing has changed');
      }),
    );
}

/** Why it does not run, or when it will; else what it is for. */
function remarkOf({ state, reason, summary, nextStartAt, restarts = 0 }: PluginStatus): string {
  if (nextStartAt !== undefined)
    return `${reason}; starts again in ${Math.max(0, Math.ceil((nextStartAt - Date.now()) / 1000))} s`;
  if (state === 'quarantined') return `${reason}; "devicectl plugins release" starts it again`;
  return reason ?? (restarts > 0 ? `${summary} (started again ${restarts} times after a failure)` : summary);
}

function linesOf({ added, removed, changed, affected, stale }: SkuChange): readonly string[] {
  const with_ = affected.filter((id) => ![added, removed, changed].some((list) => list.includes(id)));
  const rows = [
    ['added', added],
    ['removed', removed],
    ['changed', changed],
    ['restarted with them', with_],
    ['new version at the next start of the Core', stale],
  ] as const;
  return rows.filter(([, ids]) => ids.length > 0).map(([what, ids]) => `${what}: ${ids.join(', ')}`);
}
